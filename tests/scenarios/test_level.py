"""What counts is what is there, not what was heard: first looks, restarts, bursts."""

from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a, again, alone, eventually, for_kinds
from tests.support import build

from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]
Object = build.Object
USES = ["configmap/app", "secret/db"]
SOURCES = [build.configmap("app"), build.secret("db"), build.configmap("maybe")]
for_rolling_kinds = for_kinds(Strategy.STAMP)


# Adopting never rolls


@for_rolling_kinds
def test_neither_the_first_look_nor_a_restart_nor_opting_in_later_rolls(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web, late = (
        a(kind, "web", uses=[*USES, "configmap/maybe?"], annotations=ENABLED),
        a(kind, "late", uses=[*USES, "configmap/maybe?"]),
    )
    stage.make(*SOURCES, web, late)
    one = alone(controller)
    stage.adopted(web)
    stage.settled(web)
    stage.settled(late)

    stage.annotate(late, enabled="true")
    stage.adopted(late)
    again(one)
    assert one.stop() == 0
    one.start(wait="watching")

    stage.quiet(web)
    for workload in (web, late):
        assert stage.record(workload)["why"] == "Adopted"
        assert len(stage.revisions(workload)) == 1
    # One that was killed may not have come to tell.
    assert len(one.said("Adopted")) <= 2


def test_many_workloads_at_once_are_adopted_and_none_rolls(stage: Stage, controller: Start) -> None:
    webs = [
        build.deployment(f"web-{n}", replicas=0, uses=[*USES, "configmap/maybe?"])
        for n in range(80)
    ]
    stage.make(*SOURCES, *webs)
    one = alone(controller)
    everything = path_to("Deployment", "", stage.namespace)
    sets = path_to("ReplicaSet", "", stage.namespace)
    eventually(lambda: len(stage.api.list(sets)) == 80, "each has its first revision")

    stage.api.patch(path_to("Namespace", stage.namespace), {"metadata": {"annotations": ENABLED}})

    eventually(lambda: all(map(_record_of, stage.api.list(everything))), "all are adopted")
    again(one)
    stage.quiet(webs[0])
    assert len(stage.api.list(sets)) == 80
    assert not one.said("ConfigChanged")


def _record_of(workload: Object) -> str | None:
    return workload["metadata"].get("annotations", {}).get("reroll.dev/state")


# Changes that nobody heard, and changes that everybody heard ten times


@pytest.mark.thorough
@for_rolling_kinds
def test_changes_while_it_was_down_roll_once_when_it_is_back(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses=USES, annotations=ENABLED)
    idle = a(kind, "idle", uses="configmap/idle", annotations=ENABLED)
    stage.make(build.configmap("app"), build.configmap("idle"), build.secret("db"), web, idle)
    one = alone(controller)
    first = stage.adopted(web)
    stage.adopted(idle)
    for workload in (web, idle):
        stage.settled(workload)  # It has its first revision.
    one.kill()

    for value in ("one", "two"):
        stage.change("ConfigMap", "app", key=value)
        stage.change("Secret", "db", password=value)
    one.start(wait="watching")

    record = stage.rolled(web, since=first["n"])
    again(one)
    stage.quiet(web)
    stage.settled(web)
    assert record["by"] == ["configmap/app", "secret/db"]
    assert len(stage.revisions(web)) == 2
    assert len(stage.revisions(idle)) == 1


def test_ten_changes_in_a_second_are_one_roll(stage: Stage, controller: Start) -> None:
    web = build.deployment("web", uses=USES, annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    alone(controller, "--debounce", "2s")
    first = stage.adopted(web)
    stage.settled(web)

    for number in range(5):
        stage.change("ConfigMap", "app", key=f"value {number}")
        stage.change("Secret", "db", password=f"value {number}")

    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app", "secret/db"]
    stage.quiet(web, 3)
    stage.settled(web)
    assert len(stage.revisions(web)) == 2


def test_a_source_that_never_rests_rolls_all_the_same(stage: Stage, controller: Start) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    alone(controller, "--debounce", "1s", "--debounce-limit", "2s")
    first = stage.adopted(web)
    changes = iter(range(1000))

    def rolled_while_it_changes() -> bool:
        stage.change("ConfigMap", "app", key=f"value {next(changes)}")
        return stage.record(web)["n"] > first["n"]

    eventually(rolled_while_it_changes)


def test_a_change_that_is_taken_back_before_the_quiet_time_is_over_rolls_nothing(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "old"}), web)
    alone(controller, "--debounce", "2s")
    stage.adopted(web)
    stage.settled(web)

    stage.change("ConfigMap", "app", key="new")
    stage.change("ConfigMap", "app", key="old")

    stage.quiet(web, 3)
    assert len(stage.revisions(web)) == 1


@for_rolling_kinds
def test_a_content_that_comes_back_returns_to_its_old_revision(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "first"}), web)
    alone(controller, "--debounce", "0")
    number = stage.adopted(web)["n"]
    stage.settled(web)  # It has its first revision.
    stamps = []

    for value in ("a", "b", "a", "b"):
        stage.change("ConfigMap", "app", key=value)
        number = stage.rolled(web, since=number)["n"]
        stage.settled(web)
        stamps.append(stage.stamp(web))

    assert stamps == [*stamps[:2], *stamps[:2]]
    assert len(set(stamps)) == 2
    assert len(stage.revisions(web)) == 3
