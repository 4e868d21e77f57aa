"""What the executor amends before it writes: names of copies, and marks made of values."""

import msgspec
import pytest
from tests.core.build import NOW, configmap, content, reference, snapshot

from reroll.core.decide.actions import (
    Action,
    Evict,
    GoBack,
    MakeCopies,
    NamePins,
    Patch,
    Pin,
    ReadHistory,
    RecreateJob,
    SetMarks,
    StartJob,
    WriteRecord,
    records,
    with_marks,
    with_names,
)
from reroll.core.decide.plan import Plan
from reroll.core.decide.rollback import declined, go_back
from reroll.core.model.marks import Mark
from reroll.core.model.record import Record
from reroll.core.revisions.pins import Rewrite
from reroll.core.tables.reasons import Reason

RECORD = Record(n=7, at=NOW, why="ConfigChanged", s={"configmap/app": "d1"})
NAMED = msgspec.structs.replace(RECORD, named=True)
RENAMES = (Rewrite(("volumes", 0, "configMap", "name"), "app", "app-1"),)
MARKS = (Mark("hash", "s1"),)
PINS = "configmap/app=app-1"


@pytest.mark.parametrize("named", [True, False])
def test_all_that_a_plan_writes_says_whether_the_template_names_its_copies(named: bool) -> None:
    before: tuple[Action, ...] = (
        MakeCopies(((configmap("app"), "app-1"),)),
        StartJob(NAMED, "s1", MARKS, PINS),
        RecreateJob(RECORD, MARKS, PINS),
        Patch((WriteRecord(RECORD, unless_held=True), Pin(PINS), SetMarks(MARKS))),
    )

    copies, started, recreated, patch = with_names(before, RENAMES, named=named)

    record = msgspec.structs.replace(RECORD, named=named)
    assert copies == before[0]
    assert started == StartJob(record, "s1", MARKS, PINS)
    assert recreated == RecreateJob(record, MARKS, PINS)
    edits = (WriteRecord(record, unless_held=True), Pin(PINS, RENAMES), SetMarks(MARKS))
    assert patch == Patch(edits)


def test_marks_take_the_place_of_those_that_were_planned() -> None:
    more = (*MARKS, Mark("other", "s2", 0))
    before = (NamePins(PINS), Patch((WriteRecord(RECORD), SetMarks(MARKS))))

    after = with_marks(before, more)

    assert after == (NamePins(PINS), Patch((WriteRecord(RECORD), SetMarks(more))))


def test_a_patch_without_marks_gets_none() -> None:
    before = (Patch((WriteRecord(RECORD), Pin(PINS))),)

    assert with_marks(before, MARKS) == before


RECORDS: list[tuple[Action, Record | None]] = [
    (Patch((Pin(PINS), WriteRecord(RECORD))), RECORD),
    (Patch((Pin(PINS),)), None),
    (RecreateJob(RECORD), RECORD),
    (GoBack(RECORD), RECORD),
    (GoBack(None), None),
    # It is the patch after it that writes the record.
    (StartJob(RECORD, "s1"), None),
    (Evict(NOW), None),
    (ReadHistory(), None),
]


@pytest.mark.parametrize(("action", "record"), RECORDS, ids=[str(i) for i in range(len(RECORDS))])
def test_the_record_of_a_plan_is_that_of_the_action_that_writes_it(
    action: Action, record: Record | None
) -> None:
    assert records(action) == record
    assert Plan(Reason.CONFIG_CHANGED, "", (ReadHistory(), action)).record == record


def test_going_back_declines_what_was_rolled() -> None:
    template, rolled = msgspec.Raw(b'{"a":1}'), msgspec.Raw(b'{"a":2}')
    seen = snapshot({reference(configmap("app")): content({"a": "1"})}, RECORD)

    plan = go_back(seen, NOW, "it failed", template=template, rolled=rolled)

    assert (plan.reason, plan.message) == (Reason.UNDONE, "it failed")
    assert plan.actions == (GoBack(declined(seen, NOW), template, rolled),)
    assert plan.record is not None
    assert plan.record.why == "Undone"
