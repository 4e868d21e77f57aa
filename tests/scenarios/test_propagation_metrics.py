"""What metrics tell of a change that fails, stops and is mended, across a restart."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.scenarios.propagating import impatient
from tests.scenarios.rolling import that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, Web, a, again, alone, eventually
from tests.scenarios.withdrawn import DEPLOYMENT, Play, app, fragile, kubelet
from tests.support import build

from reroll.core.tables.kinds import KINDS
from reroll_dev.api import ApiError, path_to

Start = Callable[..., Controller]


def shown(web: Web, **values: float) -> bool:
    """Whether the metrics have these values; a name is that of its metric and of its one label."""
    metrics = web.metrics()
    found = {name: metrics.get(SAMPLES[name]) for name in values}
    return found == values


SAMPLES = {
    "going_on": 'reroll_propagations{state="going on"}',
    "stopped": 'reroll_propagations{state="stopped"}',
    "behind": 'reroll_propagation_workloads{stage="behind"}',
    "failed": 'reroll_propagation_workloads{stage="failed"}',
    "held": 'reroll_held_workloads{reason="Stopped"}',
    "failing": 'reroll_unhealthy_workloads{reason="Failing"}',
    "failures": 'reroll_rollouts_total{result="failed"}',
    "rolled_back": 'reroll_unhealthy_workloads{reason="RolledBack"}',
    "rollbacks": 'reroll_rollbacks_total{result="done"}',
    "failed_rollbacks": 'reroll_rollbacks_total{result="failed"}',
    "successes": 'reroll_rollouts_total{result="healthy"}',
}


@pytest.mark.slow
def test_a_change_that_is_stopped_and_mended(stage: Stage, controller: Start, web: Web) -> None:
    careful = ENABLED | {"reroll.dev/max-parallel": "one"}
    sick, *others = (
        build.deployment(
            name, uses=["configmap/app"], annotations=careful | {"reroll.dev/wave": wave},
        )
        for name, wave in (("sick", "-1"), ("one", "0"), ("two", "0"))
    )  # fmt: skip
    stage.make(build.configmap())
    that_fails(stage, impatient(sick))
    stage.make(*others)
    one = alone(controller, *web.flags)
    for each in (sick, *others):
        stage.adopted(each)
        stage.settled(each)
    assert shown(web, going_on=0, stopped=0, failures=0, failing=0)

    stage.change("ConfigMap", "app", key="broken")
    stands = {"going_on": 0, "stopped": 1, "behind": 2, "failed": 1, "held": 2, "failing": 1}
    eventually(lambda: shown(web, **stands, failures=1), "it fails, and the others are stopped")
    eventually(lambda: stage.events(sick, "Failing"), "it is told")
    stage.quiet(sick)
    assert len(one.said("Failing", "sick")) == 1, "each look tells it again"
    again(one)
    eventually(lambda: shown(web, **stands), "the next process tells the same")
    assert shown(web, failures=0), "the failure is counted again"

    # Seen at once: between the two it might be found healthy with what was broken.
    one.kill()
    template = {"metadata": {"annotations": {build.FAIL: None}}}
    fixed = {"spec": {"progressDeadlineSeconds": 600, "template": template}}
    stage.api.patch(stage.path(sick), fixed)
    stage.change("ConfigMap", "app", key="mended")
    one.start(wait="watching")
    eventually(lambda: shown(web, going_on=0, stopped=0, failing=0, successes=3), "all are healthy")
    assert web.metrics().get(SAMPLES["held"]) is None


@pytest.mark.slow
def test_a_workload_that_is_taken_back(stage: Stage, controller: Start, web: Web) -> None:
    """Each rollback counts once, though two writes and many looks tell of it."""
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(DEPLOYMENT), *web.flags)
        for number in (1, 2):
            play.change("bad " * number)
            play.until("rolls with it", back="", v="")
            play.until("fails", v="failed")
            play.is_back()
            counts = {"failures": number, "rollbacks": number, "failed_rollbacks": 0}
            eventually(lambda counts=counts: shown(web, **counts, rolled_back=1), "it is told")
        again(play.one)
        eventually(lambda: shown(web, rolled_back=1), "the next process tells the same")
        assert shown(web, failures=0, rollbacks=0), "they are counted again"

        play.change("good")
        play.until("is healthy with another one", v="healthy", back="")
        eventually(lambda: shown(web, rolled_back=0, stopped=0, successes=1), "it is well")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_roll_that_fails_is_told_though_nobody_asked_for_care(
    stage: Stage, controller: Start, web: Web, name: str
) -> None:
    """A Deployment has a deadline of its own; without one ten minutes count, or what is set."""
    [kind] = [row for row in KINDS if row.name == name]
    own = {"progressDeadlineSeconds": 2}
    with_deadline = ENABLED | {"reroll.dev/deadline": "10s"}
    settings = {"spec": own} if name == "Deployment" else {"annotations": with_deadline}
    sick = a(kind, uses=["configmap/app"], **{"annotations": ENABLED} | settings)
    stage.make(build.configmap())
    that_fails(stage, sick)
    one = alone(controller, *web.flags)
    number = stage.adopted(sick)["n"]
    stage.settled(sick)

    stage.change("ConfigMap", "app", key="broken")
    stage.rolled(sick, since=number)

    [event] = eventually(lambda: stage.events(sick, "Failing"), "it is told")
    assert event["type"] == "Warning"
    assert "not ready by its deadline" in event["message"] or "Deadline" in event["message"]
    eventually(lambda: shown(web, failing=1, failures=1), "it is counted")
    stage.quiet(sick)
    assert len(one.said("Failing")) == 1

    def healed() -> bool:
        """Pods are replaced one after the other, and each of them has to be."""
        for pod in stage.pods(sick):
            path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
            with suppress(ApiError):
                stage.api.patch(path, {"metadata": {"annotations": {build.FAIL: None}}})
        return shown(web, failing=0)

    eventually(healed, "it is well in the end")
