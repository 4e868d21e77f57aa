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
    is_pinned = record.pins is not None
    return successor(
        record, number, at=now, why=Reason.UNDONE.word, todo=None,
        held=now if is_pinned else None, declined=None if is_pinned else record.by, failed=True,
        trial=record.trial.taken_back(now) if record.trial else None,
    )  # fmt: skip


def taken_back(there: Record, left: Record) -> list[str] | None:
    """The entries that the record which was gone back to has otherwise.

    Digests of Secrets that were made with different keys cannot be compared.
    """
    entries = (entry for entry, digest in left.s.items() if there.s.get(entry) != digest)
    is_comparable = there.k == left.k
    return sorted(e for e in entries if is_comparable or e.startswith("configmap/")) or None
