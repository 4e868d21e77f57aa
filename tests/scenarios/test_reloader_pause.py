"""Reloader's `pause-period`: kept on the object, so whoever comes next brings it to its end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.scenarios.reloads import AUTO
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support import build

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
PERIOD = "deployment.reloader.stakater.com/pause-period"
MARK = "deployment.reloader.stakater.com/paused-at"


def pausing(name: str, period: str = "3s", **more: str) -> build.Object:
    return build.deployment(
        name, annotations={**AUTO, PERIOD: period, **more}, uses=f"configmap/{name}"
    )


def last(stage: Stage, web: build.Object, period: str) -> None:
    """Somebody chooses another period, while it pauses or rests."""
    stage.api.patch(stage.path(web), {"metadata": {"annotations": {PERIOD: period}}})


def is_paused(stage: Stage, web: build.Object) -> bool:
    return bool(stage.get(web)["spec"].get("paused"))


def mark(stage: Stage, web: build.Object) -> str | None:
    found: str | None = stage.get(web)["metadata"].get("annotations", {}).get(MARK)
    return found


def test_changes_in_a_pause_are_one_rollout_also_if_the_controller_is_killed_in_it(
    stage: Stage, controller: Start
) -> None:
    web, held = pausing("web", "1h"), pausing("held")
    stage.make(build.configmap("web"), build.configmap("held"), web)
    stage.make({**held, "spec": {**held["spec"], "paused": True}})
    running = alone(controller)
    number = stage.adopted(web)["n"]
    stage.settled(web)
    stage.adopted(held)

    stage.change("ConfigMap", "web", key="2")
    stage.change("ConfigMap", "held", key="2")
    number = stage.rolled(web, since=number)["n"]
    assert is_paused(stage, web)
    since = datetime.fromisoformat(mark(stage, web) or "")
    assert abs(datetime.now(UTC) - since) < timedelta(minutes=1)
    stage.change("ConfigMap", "web", key="3")
    number = stage.rolled(web, since=number)["n"]
    assert datetime.fromisoformat(mark(stage, web) or "") == since
    assert len(stage.revisions(web)) == 1, "it waits for the end of the pause"
    running.kill()
    passed = int((datetime.now(UTC) - since).total_seconds())
    last(stage, web, f"{passed + 4}s")  # However long it took until here.
    running.start(wait="watching")

    eventually(lambda: not is_paused(stage, web), "the pause ends")
    assert mark(stage, web) is None
    stage.settled(web)
    assert len(stage.revisions(web)) == 2
    eventually(lambda: stage.events(web, "Resumed"), "it is told")
    # A pause of somebody else is not ended, and nothing is written into it.
    assert is_paused(stage, held)
    assert (mark(stage, held), "rolled" in stage.record(held)) == (None, False)
    eventually(lambda: stage.events(held, "Paused"), "it is told")


def test_a_pause_that_another_controller_left_behind_is_ended(
    stage: Stage, controller: Start
) -> None:
    left = pausing("left", **{MARK: "2026-01-01T00:00:00Z"})
    out = build.deployment("out", annotations={MARK: "2026-01-01T00:00:00Z"})
    odd = pausing("odd", **{MARK: "yesterday"})
    no = pausing("no", "1h", **{MARK: "2126-01-01T00:00:00Z", "reroll.dev/enabled": "false"})
    for one in (left, out, odd, no):
        name = one["metadata"]["name"]
        stage.make(build.configmap(name), {**one, "spec": {**one["spec"], "paused": True}})
    controller()

    for one in (left, out, no):
        eventually(lambda o=one: not is_paused(stage, o), "the pause ends")
        assert mark(stage, one) is None
    eventually(lambda: stage.events(odd, "InvalidAnnotation"), "the other one is told of")
    assert is_paused(stage, odd)
    assert stage.adopted(left)
    assert (stage.record(out), stage.record(no)) == ({}, {})


def test_what_cannot_be_paused_rolls_at_once_and_then_holds_the_next_roll(
    stage: Stage, controller: Start
) -> None:
    pauses = {**AUTO, PERIOD: "1h"}
    web = build.statefulset("web", annotations=pauses, uses="configmap/app")
    wrong = build.deployment("wrong", annotations={**AUTO, PERIOD: "soon"}, uses="configmap/app")
    stage.make(build.configmap("app"), web, wrong)
    controller()
    number, other = stage.adopted(web)["n"], stage.adopted(wrong)["n"]

    stage.change("ConfigMap", "app", key="2")
    first = stage.rolled(web, since=number)
    # A period that nobody can read is told, and stops nothing.
    stage.rolled(wrong, since=other)
    assert not is_paused(stage, wrong)
    eventually(lambda: stage.events(wrong, "InvalidAnnotation"), "it is told")

    stage.change("ConfigMap", "app", key="3")
    eventually(lambda: stage.events(web, "Resting"), "it is held")
    last(stage, web, "3s")
    second = stage.rolled(web, since=first["n"])
    passed = datetime.fromisoformat(second["rolled"]) - datetime.fromisoformat(first["rolled"])
    assert passed >= timedelta(seconds=3)
