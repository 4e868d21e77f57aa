"""What people ask for by hand: a hold, a restart, an undo of what was just rolled."""

from datetime import timedelta

import msgspec
import pytest
from tests.core.build import (
    DEPLOYMENT,
    EAGER,
    KIND,
    NOW,
    configmap,
    content,
    edits,
    reference,
    snapshot,
)

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import restart
from reroll.core.decide.rollback import declined
from reroll.core.dialects.table import ALL
from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.policy.policy import Hold, Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch

APP = reference(configmap("app"))
HELD = content({"a": "new"}, Moment(200, 201))
OLD = Record(n=5, at=NOW, why="Adopted", s={"configmap/app": "old"})
LATER = NOW + timedelta(hours=1)


def holding(hold: Hold | None, record: Record | None = OLD, there: Content = HELD) -> Plan:
    policy = msgspec.structs.replace(EAGER, hold=hold)
    return decide(snapshot({APP: there}, record, policy=policy), NOW)


def test_a_held_roll_waits_and_says_why_and_until_when() -> None:
    found = holding(Hold(LATER, "incident 42"))

    assert (found.reason, found.strategy, found.look_at) == (Reason.HELD, None, LATER)
    assert "until 2026-03-01 13:00:00 UTC: incident 42" in found.message


def test_a_hold_without_an_end_waits_for_a_person() -> None:
    assert (holding(Hold()).reason, holding(Hold()).look_at) == (Reason.HELD, None)


def test_a_hold_that_is_over_holds_nothing() -> None:
    assert holding(Hold(NOW)).reason is Reason.CONFIG_CHANGED


def test_a_held_workload_is_adopted() -> None:
    assert holding(Hold(), None, content({"a": "new"})).reason is Reason.ADOPTED


def test_a_hold_stops_evictions_that_are_under_way() -> None:
    digest = reference_digest(APP, HELD, "") or ""
    record = msgspec.structs.replace(
        OLD, s={"configmap/app": digest}, todo=Todo(Strategy.EVICT.value, NOW)
    )

    assert holding(None, record).reason is Reason.CONTINUED
    assert holding(Hold(), record).reason is Reason.HELD


def test_a_restart_takes_along_what_changed() -> None:
    found = restart(snapshot({APP: HELD}, OLD), NOW, "new certificates", ALL)

    assert found.message == "a restart was requested: new certificates"
    assert found.strategy is Strategy.RESTART
    assert found.record is not None
    assert found.record.s == {"configmap/app": reference_digest(APP, HELD, "")}
    after = decide(snapshot({APP: HELD}, found.record), NOW)
    assert after.reason is Reason.UP_TO_DATE


NO_RECORD = {
    "not opted in": snapshot({APP: HELD}, OLD, policy=Policy()),
    "a source that could not be read": snapshot({APP: Absence.UNREAD}, OLD),
}


@pytest.mark.parametrize("seen", NO_RECORD.values(), ids=NO_RECORD)
def test_a_restart_writes_no_record_of_what_nobody_knows(seen: Snapshot) -> None:
    found = restart(seen, NOW, "", ALL)
    operations = patch(seen.workload, DEPLOYMENT, edits(found))

    assert found.record is None
    assert operations
    assert not any(STATE.replace("/", "~1") in operation["path"] for operation in operations)


@pytest.mark.parametrize("kind", [KIND["Deployment"], KIND["StatefulSet"]], ids=lambda k: k.name)
def test_what_was_undone_is_declined_with_a_higher_number(kind: Kind) -> None:
    rolled = msgspec.structs.replace(OLD, n=int(NOW.timestamp()), s={"configmap/app": "new"})
    found = declined(snapshot({APP: HELD}, rolled, kind=kind), NOW)

    assert found is not None
    assert (found.why, found.s) == ("Undone", rolled.s)
    assert found.n > rolled.n
