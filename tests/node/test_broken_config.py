"""Content that a process refuses: the rollout stops, old pods serve, and it goes back."""

from collections.abc import Callable

import pytest
from tests.node.serving import DRAIN, PATIENCE, Client, ServingStage, serving
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, Controller, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.settled import is_settled

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

MODE = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "mode"}}}
WORDS = (": Error", ": CrashLoopBackOff")
"""What the kubelet says of a container that has just ended, and while it waits to start it."""
PICKY = {"WEB_REQUIRE": "MODE=^good"}


def picky(**annotations: str) -> build.Object:
    """A Deployment whose process ends with code 3 unless its MODE begins with `good`."""
    return build.deployment(
        replicas=2, annotations={**ENABLED, **annotations}, **serving([MODE], **PICKY, **DRAIN)
    )


@pytest.fixture
def web(stage: ServingStage) -> build.Object:
    one = picky()
    stage.make(build.configmap("app", {"mode": "good"}), one)
    stage.settled(one)
    return one


def crashed(stage: ServingStage, web: build.Object) -> list[int]:
    """How the processes of its pods ended, of those that did and are started again and again."""
    return [
        status["lastState"]["terminated"]["exitCode"]
        for pod in stage.pods(web)
        for status in pod["status"].get("containerStatuses", ())
        if status["restartCount"] and "terminated" in status["lastState"]
    ]


def test_old_pods_serve_while_new_ones_crash_and_the_next_change_mends_it(
    stage: ServingStage,
    controller: Callable[..., Controller],
    client: Callable[..., Client],
    cluster: DevCluster,
    web: build.Object,
) -> None:
    controller()
    first = stage.adopted(web)
    visitor = client(web, "/env/MODE")
    old = stage.uids(web)

    stage.change("ConfigMap", "app", mode="bad")
    stage.rolled(web, since=first["n"])

    eventually(lambda: crashed(stage, web) == [3], "a new pod crashes", PATIENCE)
    visitor.goes_on()
    assert old <= stage.uids(web)
    told = reroll(
        *("explain", "deployment/web", "-n", stage.namespace),
        *("--kubeconfig", cluster.kubeconfig(), "--controller-namespace", stage.namespace),
    )
    assert "pods from before that roll still run, with an older ConfigMap" in told.out

    stage.change("ConfigMap", "app", mode="good again")
    stage.variable_is(web, "MODE", "good again")
    stage.settled(web)
    visitor.goes_on()
    visitor.stop()
    assert visitor.failures == []
    assert set(visitor.answers) == {"good", "good again"}


def test_sync_goes_back_and_not_one_request_fails(
    stage: ServingStage, client: Callable[..., Client], sync: Command, web: build.Object
) -> None:
    assert sync().code == Exit.OK
    visitor = client(web, "/env/MODE")
    visitor.goes_on()
    before, old = stage.template(web), stage.uids(web)
    stage.change("ConfigMap", "app", mode="bad")

    done = sync("--wait", "--timeout", "15s", "--rollback-on-failure")

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    assert "1 of 2 pods are new; pod web-" in done.out
    assert any(word in done.out for word in WORDS)
    assert stage.template(web) == before
    assert is_settled(stage.get(web))
    assert stage.uids(web) == old
    visitor.goes_on()
    visitor.stop()
    assert visitor.failures == []
    assert set(visitor.answers) == {"good"}
