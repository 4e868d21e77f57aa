"""What Wave left behind with its invalid scheduler is put right, once its pods can start."""

from collections.abc import Callable

import pytest
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support import build
from tests.support.policies import refusing
from tests.support.wave import DISABLED, IN, INVALID

from reroll_dev.api import ApiError, path_of

Start = Callable[..., Controller]
WAVE = ("--dialects", "reroll,wave")


def left(kind: str, name: str = "web", **more: object) -> build.Object:
    """A workload as Wave's webhook makes it while its configuration is missing."""
    annotations = {DISABLED: "default-scheduler", **more.pop("annotations", {})}  # type: ignore[dict-item]
    pod = {"schedulerName": INVALID}
    made: build.Object = getattr(build, kind)(name, annotations=annotations, pod=pod, **more)
    return made


def is_whole(stage: Stage, manifest: build.Object) -> bool:
    found = stage.get(manifest)
    spec = found["spec"]["template"]["spec"]
    mended = spec.get("schedulerName", "default-scheduler") == "default-scheduler"
    return mended and DISABLED not in found["metadata"].get("annotations", {})


def schedulers(stage: Stage, manifest: build.Object) -> set[str]:
    return {pod["spec"]["schedulerName"] for pod in stage.pods(manifest)}


@pytest.mark.parametrize("kind", ["deployment", "statefulset", "daemonset"])
def test_it_starts_when_its_configuration_comes(stage: Stage, controller: Start, kind: str) -> None:
    web = left(kind, uses="configmap/late", annotations=IN)
    stage.make(web)
    eventually(lambda: schedulers(stage, web) == {INVALID}, "pods of nobody's scheduler")
    one = controller(*WAVE)
    one.wait_for(lambda line: line.get("reason") == "SourceMissing")
    assert not is_whole(stage, web)

    stage.make(build.configmap("late"))

    eventually(lambda: is_whole(stage, web), "the scheduler is back")
    stage.settled(web)
    stage.adopted(web)
    assert schedulers(stage, web) == {"default-scheduler"}
    [_] = eventually(lambda: stage.events(web, "Repaired"), "an Event tells of it")


def test_one_that_opted_out_of_wave_starts_at_once(stage: Stage, controller: Start) -> None:
    web = left("statefulset", uses="configmap/app")
    stage.make(build.configmap("app"), web)
    eventually(lambda: schedulers(stage, web) == {INVALID}, "pods of nobody's scheduler")

    controller(*WAVE)

    eventually(lambda: is_whole(stage, web), "the scheduler is back")
    stage.settled(web)
    assert stage.record(web) == {}, "it is no workload of ours"


def test_a_controller_that_ends_in_the_middle_goes_on_later(
    stage: Stage, controller: Start
) -> None:
    """The template is mended already, and a pod of the old one is still stuck."""
    web = left("statefulset", uses="configmap/app", annotations=IN)
    stage.make(build.configmap("app"), web)
    eventually(lambda: schedulers(stage, web) == {INVALID}, "pods of nobody's scheduler")
    mended = {"spec": {"template": {"spec": {"schedulerName": "default-scheduler"}}}}
    stage.api.patch(stage.path(web), mended)

    alone(controller, *WAVE)

    eventually(lambda: is_whole(stage, web), "the mark is gone")
    stage.settled(web)
    assert schedulers(stage, web) == {"default-scheduler"}


@pytest.mark.slow
def test_a_repair_that_admission_refuses_is_told(stage: Stage, controller: Start) -> None:
    web = left("deployment", uses="configmap/app", annotations=IN)
    stage.make(build.configmap("app"), web)
    as_it_is = f"object.spec.template.spec.schedulerName == '{INVALID}'"
    with refusing(stage.api, stage.namespace, as_it_is, "schedulers stay") as binding:
        eventually(lambda: _is_refused(stage, web), "the policy is in force")
        controller(*WAVE)
        (event,) = eventually(lambda: stage.events(web, "Rejected"), "an Event tells of it")
        assert "schedulers stay" in event["message"]
        assert not is_whole(stage, web)
        stage.api.delete(path_of(binding))
        eventually(lambda: is_whole(stage, web), "the scheduler is back", timeout=120)


def _is_refused(stage: Stage, web: build.Object) -> bool:
    other = {"spec": {"template": {"spec": {"schedulerName": "other"}}}}
    try:
        stage.api.patch(stage.path(web), other, dryRun="All")
    except ApiError as error:
        return "schedulers stay" in error.message
    return False
