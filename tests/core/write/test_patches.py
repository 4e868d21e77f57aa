"""Edits to their JSON Patch: applied to a real manifest it gives exactly the expected document."""

import copy
from datetime import timedelta, timezone
from typing import Any

import pytest
from tests.core.build import (
    HOME,
    KIND,
    NOW,
    Document,
    PatchError,
    at_path,
    document,
    patched,
    template,
    workload,
)

from reroll.core.decide.actions import Edit, Restart, SetMarks, WriteRecord
from reroll.core.model.marks import Mark
from reroll.core.model.record import Record, write
from reroll.core.tables.annotations import STAMP, STAMP_ENV, STATE
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.write.patches import RESTARTED_AT, patch, pointer, writes_template

RECORD = Record(n=7, at=NOW, why="ConfigChanged", s={"configmap/app": "d1"})
TEXT = write(RECORD)
AT = "2026-03-01T12:00:00.000000Z"
CAN = [(kind, strategy) for kind in KINDS for strategy in kind.strategies]
TEMPLATE_WRITERS = [
    pytest.param(kind, strategy, id=f"{kind.name}, {strategy}")
    for kind, strategy in CAN
    if strategy in {Strategy.STAMP, Strategy.ENV, Strategy.RESTART}
]  # fmt: skip


def roll(strategy: Strategy | None, record: Record = RECORD) -> list[Edit]:
    edits: dict[Strategy | None, list[Edit]] = {
        Strategy.STAMP: [SetMarks((Mark(STAMP, "s1"),))],
        Strategy.ENV: [SetMarks((Mark(STAMP_ENV, "s1", container=0),))],
        Strategy.RESTART: [Restart(record.at)],
    }
    return [WriteRecord(record, unless_held=strategy is not None), *edits.get(strategy, [])]


def applied(kind: Kind, before: Document, edits: list[Edit]) -> Document:
    result: Document = patched(before, patch(workload(kind, before), kind, edits))
    return result


def expected(kind: Kind, before: Document, strategy: Strategy) -> Document:
    """The document as a person would write it after the roll."""
    after = copy.deepcopy(before)
    after["metadata"].setdefault("annotations", {})[STATE] = TEXT
    if strategy is Strategy.RESTART and kind.restart_at:
        at_path(after, kind.restart_at[:-1])[kind.restart_at[-1]] = "2026-03-01T12:00:01Z"
        return after
    pods = at_path(after, kind.template)
    if strategy is Strategy.ENV:
        variable = {"name": STAMP_ENV, "value": "s1"}
        env = pods["spec"]["containers"][0].setdefault("env", [])
        env[:] = [variable if v["name"] == STAMP_ENV else v for v in env]
        env += [] if variable in env else [variable]
    if strategy in {Strategy.STAMP, Strategy.RESTART}:
        name, value = {
            Strategy.STAMP: (STAMP, "s1"), Strategy.RESTART: (RESTARTED_AT, AT),
        }[strategy]  # fmt: skip
        pods.setdefault("metadata", {}).setdefault("annotations", {})[name] = value
    return after


@pytest.mark.parametrize(("kind", "strategy"), CAN, ids=lambda value: getattr(value, "name", value))
def test_a_roll_writes_record_and_whatever_rolls_and_nothing_else(
    kind: Kind, strategy: Strategy
) -> None:
    before = document(kind)

    assert applied(kind, before, roll(strategy)) == expected(kind, before, strategy)


BARE_TEMPLATE = {"spec": {"containers": [{"name": "web"}]}}
SHAPES = {
    "no annotations on the workload": {"annotations": None},
    "an old record": {"annotations": {STATE: "old"}},
    "no metadata on the template": {"pods": BARE_TEMPLATE},
    "annotations on the template": {"pods": template({"a": "b"})},
    "an old stamp": {"pods": template({STAMP: "s0", RESTARTED_AT: "x"})},
    "environment variables": {"pods": template(env=[{"name": "A", "value": "b"}])},
    "an old stamp among the variables": {
        "pods": template(env=[{"name": "A"}, {"name": STAMP_ENV, "value": "s0"}, {"name": "B"}])
    },
    "a stamp variable without a value": {"pods": template(env=[{"name": STAMP_ENV}])},
    "an empty list of variables": {"pods": template(env=[])},
    "two containers": {
        "pods": {"spec": {"containers": [{"name": "web"}, {"name": "log"}]}, "metadata": {}}
    },
}


@pytest.mark.parametrize(("kind", "strategy"), TEMPLATE_WRITERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_parents_are_made_only_where_they_are_missing(
    kind: Kind, strategy: Strategy, shape: dict[str, Any]
) -> None:
    before = document(kind, **copy.deepcopy(shape))
    if before["metadata"]["annotations"] is None:
        del before["metadata"]["annotations"]

    assert applied(kind, before, roll(strategy)) == expected(kind, before, strategy)


@pytest.mark.parametrize(("kind", "strategy"), CAN, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("old", [None, "old"], ids=["no record", "an old record"])
def test_the_guard_comes_before_anything_is_written_to_an_object_with_annotations(
    kind: Kind, strategy: Strategy, old: str | None
) -> None:
    annotations = {"a": "b"} if old is None else {STATE: old}
    before = document(kind, annotations=annotations)

    first, second, *_ = patch(workload(kind, before), kind, roll(strategy))

    assert first == {"op": "test", "path": "/metadata/annotations/reroll.dev~1state", "value": old}
    assert second == {"op": "test", "path": "/metadata/uid", "value": "uid-1"}


def test_a_variable_is_never_put_into_a_container_that_is_not_known() -> None:
    kind = KIND["Deployment"]
    unread = document(kind, {"spec": {"containers": "odd"}})

    operations = patch(workload(kind, unread), kind, roll(Strategy.ENV))

    with pytest.raises(PatchError):
        patched(document(kind), operations)


def test_the_guard_of_an_object_without_annotations_is_that_it_has_none() -> None:
    """A test with `null` below a parent that does not exist fails: tried on 1.36."""
    before = document(KIND["StatefulSet"])
    del before["metadata"]["annotations"]

    first, *_ = patch(workload(KIND["StatefulSet"], before), KIND["StatefulSet"], roll(None))

    assert first == {"op": "test", "path": "/metadata/annotations", "value": None}


STALE = {
    "somebody wrote another record": ("metadata", {"annotations": {STATE: "newer"}}),
    "somebody removed the record": ("metadata", {"annotations": {"a": "b"}}),
    "somebody removed all annotations": ("metadata", {"annotations": None}),
    "the workload was made anew": ("metadata", {"uid": "uid-2"}),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("part", "change"), STALE.values(), ids=STALE)
def test_a_decision_on_an_old_view_is_refused(kind: Kind, part: str, change: Document) -> None:
    seen = document(kind, annotations={STATE: "old"})
    now = copy.deepcopy(seen)
    now[part] = {k: v for k, v in (now[part] | change).items() if v is not None}

    with pytest.raises(PatchError):
        patched(now, patch(workload(kind, seen), kind, roll(kind.default_strategy)))


@pytest.mark.parametrize(("kind", "strategy"), TEMPLATE_WRITERS)
def test_annotations_that_appeared_meanwhile_are_never_overwritten(
    kind: Kind, strategy: Strategy
) -> None:
    seen = document(kind)
    del seen["metadata"]["annotations"]
    now = document(kind, annotations={"somebody": "else"})

    with pytest.raises(PatchError):
        patched(now, patch(workload(kind, seen), kind, roll(strategy)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_record_alone_touches_nothing_but_its_annotation(kind: Kind) -> None:
    before = document(kind)
    after = copy.deepcopy(before)
    after["metadata"]["annotations"][STATE] = TEXT

    assert applied(kind, before, roll(None)) == after


def test_no_edits_mean_no_patch() -> None:
    seen = workload(KIND["Deployment"], document(KIND["Deployment"]))

    assert patch(seen, KIND["Deployment"], []) == []


@pytest.mark.parametrize("kind", ["Deployment", "Rollout"])
def test_two_restarts_within_a_second_both_replace_pods(kind: str) -> None:
    def restarted(milliseconds: int) -> Document:
        at = NOW + timedelta(milliseconds=milliseconds)
        record = Record(n=1, at=at, why="", s={})
        return applied(KIND[kind], document(KIND[kind]), roll(Strategy.RESTART, record))["spec"]

    if kind == "Rollout":  # the rollouts controller replaces pods made before this whole second
        assert restarted(700)["restartAt"] == "2026-03-01T12:00:01Z"
    else:
        assert restarted(100) != restarted(700)


def test_restart_times_are_in_utc_whatever_zone_the_clock_has() -> None:
    at = NOW.astimezone(timezone(timedelta(hours=2)))
    record = Record(n=1, at=at, why="", s={})

    after = applied(
        KIND["Deployment"], document(KIND["Deployment"]), roll(Strategy.RESTART, record)
    )

    assert after["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT] == AT


def test_steps_with_slashes_and_tildes_are_escaped() -> None:
    assert pointer("metadata", "annotations", "a/b~c", 0) == "/metadata/annotations/a~1b~0c/0"


def test_the_applier_of_these_tests_is_as_strict_as_the_server() -> None:
    for operation in (
        {"op": "test", "path": "/missing/leaf", "value": None},
        {"op": "add", "path": "/missing/leaf", "value": 1},
        {"op": "replace", "path": "/leaf", "value": 1},
        {"op": "test", "path": "/name", "value": HOME + "x"},
    ):
        with pytest.raises(PatchError):
            patched({"name": HOME}, [operation])


@pytest.mark.parametrize(("kind", "strategy"), CAN, ids=[f"{k.name}, {s}" for k, s in CAN])
def test_whether_a_patch_writes_the_template_is_told_by_what_it_does(
    kind: Kind, strategy: Strategy
) -> None:
    before = document(kind)
    operations = patch(workload(kind, before), kind, roll(strategy))
    after = patched(before, operations)

    changed = at_path(after, kind.template) != at_path(before, kind.template)
    assert writes_template(kind, operations) is changed
