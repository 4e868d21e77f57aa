"""Without the controller, workloads go on as they are; what it left can be taken away or used."""

from collections.abc import Callable
from typing import Any

from tests.scenarios.revised import held, pins
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.tools import Tool

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
