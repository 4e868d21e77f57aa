"""Each word of a pace, in each place where it may be said: annotations, settings, sources."""

from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.scenarios.custom import config
from tests.scenarios.propagating import (
    Start,
    all_healthy,
    begun,
    change,
    judged,
    keys,
    planned,
    rolled,
    sick,
    told,
    web,
)
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Stage, eventually
from tests.scenarios.withdrawn import kubelet
from tests.support import build
from tests.support.build import FAIL, Object
from tests.support.templates import Templates

SLOW = {"dev.reroll.dev/ready-after": "1s"}
SHUT = {FAIL: "unready"}
"""Pods with these do not come up before the test lets them."""


def when(stage: Stage, one: Object, field: str = "rolled") -> datetime:
    record = stage.record(one)
    found = record["trial"]["at"] if field == "at" else record["rolled"]
    return datetime.fromisoformat(found)


def most_at_once(stage: Stage, webs: list[Object]) -> int:
    """How many were under way at once, by what their records say."""
    moments = [(when(stage, one), 1) for one in webs]
    moments += [(when(stage, one, "at"), -1) for one in webs]
    most = now = 0
    for _, step in sorted(moments):
        now += step
        most = max(most, now)
    return most


def several(number: int, **more: Any) -> list[Object]:
    return [web(one, template_annotations=SLOW, **more) for one in range(number)]


def test_a_wave_begins_when_all_of_the_one_below_are_healthy(
    stage: Stage, controller: Start, plan: Command
) -> None:
    waves = (1, 0, 2, 0, 1)
    # The others are looked at while the first ones soak.
    soak = ({"soak": "6s"}, {}, {})
    webs = [web(n, wave=str(wave), **soak[wave]) for n, wave in enumerate(waves)]
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)

    change(stage, "second")
    assert "of wave 0" in planned(plan, "AfterOthers", "web-0", "web-2")
    all_healthy(stage, webs)

    order = [waves[int(name[-1])] for name in rolled(stage, webs)]
    assert order == sorted(waves)
    for low, high in ((1, 0), (3, 0), (0, 2), (4, 2)):
        if waves[low] < waves[high]:
            assert when(stage, webs[low], "at") <= when(stage, webs[high])


@pytest.mark.parametrize(("said", "most"), [("one", 1), ("50%", 2)])
def test_no_more_than_so_many_are_under_way_at_once(
    stage: Stage, controller: Start, said: str, most: int
) -> None:
    webs = several(4, max_parallel=said)
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)

    change(stage, "second")
    all_healthy(stage, webs)

    assert most_at_once(stage, webs) == most


@pytest.mark.slow
def test_two_of_an_exclusive_group_are_never_under_way_at_once_whatever_they_use(
    stage: Stage, controller: Start, plan: Command
) -> None:
    names = ("app", "other", "third")
    webs = [web(name, uses=[f"configmap/{name}"], exclusive="db", soak="3s") for name in names]
    stage.make(*map(build.configmap, names), *webs)
    begun(stage, controller, webs)

    for name in names:
        change(stage, "second", name)
    eventually(lambda: rolled(stage, webs), "one of them rolls")
    told = plan("--all", "-o", "json").out
    all_healthy(stage, webs)

    assert most_at_once(stage, webs) == 1
    assert "of its exclusive group db" in told


@pytest.mark.parametrize("scope", ["cluster", "namespace"])
def test_limits_hold_for_all_whatever_they_use(
    stage: Stage, controller: Start, tmp_path: Path, scope: str
) -> None:
    names = ("app", "other", "third", "fourth")
    webs = [web(name, uses=[f"configmap/{name}"], template_annotations=SLOW) for name in names]
    stage.make(*map(build.configmap, names), *webs)
    file = config(tmp_path, {"limits": {scope: 2}})
    begun(stage, controller, webs, "--config", str(file))

    for name in names:
        change(stage, "second", name)
    all_healthy(stage, webs)

    assert most_at_once(stage, webs) <= 2


def test_a_cooldown_keeps_two_rolls_apart_and_loses_none(stage: Stage, controller: Start) -> None:
    one, other = web(0, cooldown="5s"), web(1, wave="1")
    stage.make(build.configmap(), one, other)
    begun(stage, controller, [one, other])
    change(stage, "second")
    first = stage.rolled(one, since=0)
    judged(stage, one, "healthy")

    change(stage, "third")
    began = datetime.fromisoformat(first["rolled"])
    # Its verdict is another record of the first roll.
    eventually(lambda: when(stage, one) != began, "it rolls again")

    assert when(stage, one) - began >= timedelta(seconds=5)
    all_healthy(stage, [one, other])


def test_a_workload_counts_when_it_has_soaked_whoever_says_so(
    stage: Stage, controller: Start
) -> None:
    soak, other = {"soak": "3s"}, ["configmap/other"]
    by_itself = [web(n, wave=str(n), **soak) for n in range(2)]
    by_source = [web(n, wave=str(n), uses=other) for n in range(2, 4)]
    stage.make(build.configmap(), build.configmap("other", annotations=keys(soak)))
    stage.make(*by_itself, *by_source)
    begun(stage, controller, [*by_itself, *by_source])

    change(stage, "second")
    change(stage, "second", "other")

    for first, second in (by_itself, by_source):
        all_healthy(stage, [first, second])
        for each in (first, second):
            assert when(stage, each, "at") - when(stage, each) >= timedelta(seconds=3)
        assert when(stage, second) >= when(stage, first, "at")


def test_a_source_says_it_for_all_that_use_it(stage: Stage, controller: Start) -> None:
    webs = several(4)
    said = keys({"max_parallel": "one", "on_failure": "continue"})
    stage.make(build.configmap(annotations=said))
    sick(stage, webs[0])
    stage.make(*webs[1:])
    begun(stage, controller, webs)

    change(stage, "second")

    judged(stage, webs[0], "failed")
    all_healthy(stage, webs[1:])
    assert most_at_once(stage, webs) == 1


@pytest.mark.slow
def test_rows_of_the_config_file_say_it_for_who_cannot_annotate(
    stage: Stage, controller: Start, tmp_path: Path
) -> None:
    front = [web(n, labels={"tier": "front"}) for n in range(2)]
    back = [web(n, template_annotations=SLOW) for n in range(2, 5)]
    stage.make(build.configmap(), *front, *back)
    rows = [
        {"match": {"workloads": {"tier": "front"}}, "wave": 1},
        {"match": {"sources": ["configmap/app"]}, "max-parallel": "one"},
    ]
    file = config(tmp_path, {"policies": rows})
    begun(stage, controller, [*front, *back], "--config", str(file))

    change(stage, "second")
    all_healthy(stage, [*front, *back])

    assert sorted(rolled(stage, [*front, *back])[:3]) == ["web-2", "web-3", "web-4"]
    assert most_at_once(stage, [*front, *back]) == 1


def test_a_namespace_says_it_for_all_in_it(stage: Stage, controller: Start) -> None:
    webs = several(3)
    stage.make(build.configmap(), *webs)
    stage.api.patch(
        f"/api/v1/namespaces/{stage.namespace}",
        {"metadata": {"annotations": keys({"max_parallel": "one"})}},
    )
    begun(stage, controller, webs)

    change(stage, "second")
    all_healthy(stage, webs)

    assert most_at_once(stage, webs) == 1


def test_nothing_said_all_roll_at_once_and_nothing_is_judged(
    stage: Stage, controller: Start
) -> None:
    webs = several(3)
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)

    change(stage, "second")

    for each in webs:
        stage.rolled(each, since=0)
        stage.settled(each)
    stage.quiet(webs[-1])
    assert not any("trial" in stage.record(each) for each in webs)


# A source that flaps


def test_a_change_that_comes_before_the_verdict_says_so_and_nobody_starves(
    stage: Stage, controller: Start
) -> None:
    webs = [web(n, max_parallel="one", template_annotations=SHUT) for n in range(3)]
    stage.make(build.configmap(), *webs)
    come_up = Event()
    with kubelet(stage, lambda _: come_up.is_set()):
        come_up.set()
        begun(stage, controller, webs)
        come_up.clear()

        change(stage, "second")
        [first] = eventually(lambda: rolled(stage, webs), "the first rolls")
        change(stage, "third")

        one = next(each for each in webs if each["metadata"]["name"] == first)
        told(stage, one, "Superseded", "configmap/app", "rolled at")
        come_up.set()
        all_healthy(stage, webs)
    with Templates(stage.api, stage.namespace, "Deployment") as templates:
        assert all(len(templates.of(each)) == 1 for each in webs)


def test_the_breaker_holds_who_flaps_and_lets_the_others_go(
    stage: Stage, controller: Start
) -> None:
    webs = [
        web(n, max_parallel="one", max_rolls="2/1h", template_annotations=SHUT) for n in range(2)
    ]
    stage.make(build.configmap(), *webs)
    come_up = Event()
    with kubelet(stage, lambda _: come_up.is_set()):
        come_up.set()
        one = begun(stage, controller, webs)
        come_up.clear()

        change(stage, "1")
        [first] = eventually(lambda: rolled(stage, webs), "the first rolls")
        flaps = next(each for each in webs if each["metadata"]["name"] == first)
        other = next(each for each in webs if each is not flaps)
        change(stage, "2")
        eventually(lambda: (stage.record(flaps).get("burst") or {}).get("n") == 2, "it rolls again")
        change(stage, "3")

        told(stage, flaps, "Flapping", "/app")
        come_up.set()
        stage.rolled(other, since=0)
        judged(stage, other, "healthy")
    assert len(one.said("ConfigChanged", first)) == 2
