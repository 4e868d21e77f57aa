"""Going back: the template before a roll, with a record that declines what was rolled."""

from datetime import datetime

import msgspec

from reroll.core.decide.actions import GoBack
from reroll.core.decide.plan import Plan
from reroll.core.model.record import Record, successor
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.reasons import Reason


def go_back(
    snapshot: Snapshot,
    now: datetime,
    why: str,
    *,
    template: msgspec.Raw | None = None,
    rolled: msgspec.Raw | None = None,
) -> Plan:
    """Back to `template`, or to that of the revision before; see `GoBack`."""
    action = GoBack(declined(snapshot, now), template, rolled)
    return Plan(Reason.UNDONE, why, (action,))


def declined(snapshot: Snapshot, now: datetime) -> Record | None:
    """The record of a workload whose last roll is undone: its content is not rolled again."""
    record = snapshot.record
    if record is None:
        return None
    number = max(record.n, int(now.timestamp())) if snapshot.kind.copies_record else record.n
    held_since = None if record.pins is None else now
    return successor(record, number, at=now, why=Reason.UNDONE.word, todo=None, held=held_since)
