"""Without the controller, workloads go on as they are; what it left can be taken away or used."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.on_canary import (
    Decide,
    a_web,
    asking,
    copies_of_pods,
    decide,
    gone,
    partition,
    ready,
)
from tests.scenarios.propagating import change, pinned
from tests.scenarios.revised import held, pin, pins
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import reroll
from tests.support.tools import Tool

from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

__all__ = ["decide"]
Start = Callable[..., Controller]


def reads(stage: Stage, workload: Object) -> Any:
    """What the copy holds that its template names."""
    copy = pins(stage, workload).get(("ConfigMap", "app"))
    return held(stage, "ConfigMap", copy) if copy else None


def test_what_remains_is_inert_and_taking_the_record_away_rolls_nothing(
    stage: Stage, controller: Start, kubectl: Tool
) -> None:
    revised = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=ENABLED)
    sts = build.statefulset("sts", uses="configmap/app", annotations=revised)
    both = (web, sts)
    stage.make(build.configmap("app"), build.secret("db"), *both)
    running = controller()
    numbers = [stage.adopted(one)["n"] for one in both]
    stage.change("ConfigMap", "app", key="new")
    for one, number in zip(both, numbers, strict=True):
        stage.rolled(one, since=number)
    eventually(lambda: reads(stage, sts) == {"key": "new"}, "it is pinned to the new content")
    for one in both:
        stage.settled(one)
    running.stop()

    def pods() -> set[str]:
        return {pod["metadata"]["uid"] for one in both for pod in stage.pods(one)}

    templates, before = [stage.template(one) for one in both], pods()
    everything = ("deployments,statefulsets,daemonsets,cronjobs,jobs", "--all", "reroll.dev/state-")
    kubectl("annotate", "-n", stage.namespace, *everything)
    for one in both:
        stage.quiet(one, 1)
        assert stage.record(one) == {}
    kubectl("scale", "-n", stage.namespace, "statefulset/sts", "--replicas=2")
    eventually(lambda: len(stage.pods(sts)) == 2, "a pod can start with what is there")
    assert before <= pods()

    running.start()
    for one in both:
        stage.adopted(one)
    stage.quiet(web)
    assert [stage.template(one) for one in both] == templates
    assert before <= pods()


@pytest.mark.slow
def test_a_canary_that_nobody_settles_is_found_and_put_back_without_a_controller(
    stage: Stage, controller: Start, decide: Decide, sync: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap())
    manual = {"canary-pause": "manual"}
    web = stage.make(a_web(**manual))
    sts = stage.make(
        build.statefulset("sts", replicas=2, uses="configmap/app", annotations=asking(**manual))
    )
    running = alone(controller)
    pinned(stage, [web, sts])
    old, spec = pin(stage, sts), stage.get(sts)["spec"]
    change(stage, "second")
    ready(stage)
    eventually(lambda: partition(stage, sts) == 1 and copies_of_pods(stage, sts), "it is tried")
    running.stop()

    def left() -> list[str]:
        """What `reroll doctor` says of canaries."""
        where = ("-n", stage.namespace, "--controller-namespace", stage.namespace)
        done = reroll("doctor", *where, "--kubeconfig", cluster.kubeconfig(), "-o", "json")
        found = done.json["findings"]
        return [one["sentence"] for one in found if one["check"] == "canaries"]

    within, beside = left()
    assert "sts (its partition is 1, and was 0)" in within
    assert "/web-canary" in beside

    done = decide("abort", "statefulset/sts")
    assert done.code == 0, done.err
    assert "its canary aborted" in sync("statefulset/sts").out
    assert stage.get(sts)["spec"] == spec
    want = {"sts-0": old, "sts-1": old}
    eventually(lambda: copies_of_pods(stage, sts) == want, "its last pod is as it was")
    stage.api.delete(path_to("Deployment", "web-canary", stage.namespace))
    gone(stage)
    assert left() == []
