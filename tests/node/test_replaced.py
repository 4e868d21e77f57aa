"""Deploys that replace whole objects, and pods that were stale before: what the processes have."""

import time
from collections.abc import Callable

from tests.node.serving import PATIENCE, ServingStage, serving
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, Controller, eventually
from tests.support import build
from tests.support.tools import Tool, replace

from reroll.cli.errors import Exit

MODE = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "mode"}}}
SECOND = 1.1
"""Kubernetes tells whole seconds."""


def test_every_change_of_a_deploy_that_replaces_objects_reaches_the_processes(
    stage: ServingStage, controller: Callable[..., Controller], kubectl: Tool
) -> None:
    """`kubectl replace` writes both objects without what anybody added, the record among it."""
    web = build.deployment(replicas=2, annotations=ENABLED, **serving([MODE]))
    stage.make(build.configmap("app", {"mode": "one"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)

    for value in ("two", "three"):
        replace(kubectl, stage.namespace, build.configmap("app", {"mode": value}), web)
        stage.variable_is(web, "MODE", value)
    stage.settled(web)


def test_pods_that_were_stale_before_it_opted_in_are_told_and_replaced_on_request(
    stage: ServingStage, controller: Callable[..., Controller], sync: Command
) -> None:
    web = build.deployment(replicas=2, **serving([MODE]))
    stage.make(build.configmap("app", {"mode": "old"}), web)
    stage.settled(web)
    stage.variable_is(web, "MODE", "old")
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", mode="new")
    stage.api.patch(stage.path(web), {"metadata": {"annotations": ENABLED}})
    controller()
    stage.adopted(web)

    told = sync("-o", "json").json["workloads"]
    assert [(one["result"], one["reason"]) for one in told] == [("nothing to do", "PodsOlder")]
    assert set(stage.answers(web, "/env/MODE")) == {"old"}

    done = sync("--stale", "--wait", "--timeout", "5m")
    assert done.code == Exit.OK, done.out + done.err
    eventually(lambda: set(stage.answers(web, "/env/MODE")) == {"new"}, "both are new", PATIENCE)
    assert sync("--wait", "--exit-code").code == Exit.NOTHING


def test_pods_of_a_template_that_comes_right_after_a_content_have_that_content(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    """The kubelet keeps what pods on its node use, and what it has is as new as its watch.

    Reroll takes the deploy for the roll, so nobody would replace pods that got something older.
    """
    web = build.deployment(replicas=2, annotations=ENABLED, **serving([MODE]))
    stage.make(build.configmap("app", {"mode": "0"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)

    for number in range(1, 6):
        stage.change("ConfigMap", "app", mode=str(number))
        annotations = {"example.com/release": str(number)}
        stage.api.patch(
            stage.path(web), {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        )
        stage.settled(web)
        stage.variable_is(web, "MODE", str(number))
    assert stage.stamp(web) is None, "its own deploys were all the rolls there were"
