"""What a decision comes to: the plan, and the record that goes with it.

Nothing here does anything, and nothing here decides.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.model.marks import Mark
from reroll.core.model.record import Record, Todo, successor
from reroll.core.observe.snapshot import Change, Comparison, Snapshot
from reroll.core.policy.policy import Repair
from reroll.core.revisions.pins import Rewrite
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What should happen and why; nothing here does anything."""

    reason: Reason
    message: str
    record: Record | None = None
    """The record to write; with `roll`, in one patch with the stamp."""
    roll: Strategy | None = None
    stamp: str = ""
    at: datetime | None = None
    """When it restarts, where no record tells."""
    marks: tuple[Mark, ...] = ()
    """What the roll writes into the template, or into what is made of it."""
    changes: tuple[Change, ...] = ()
    copies: tuple[tuple[Key, str], ...] = ()
    """Copies that have to be there first: of which source, and by what name."""
    pins: str | None = None
    """The pins that the template gets; empty: it has none any more; `None`: they stay."""
    renames: tuple[Rewrite, ...] = ()
    """Fields of the pod spec that name another copy with it."""
    resume: Todo | None = None
    """Work of an earlier roll to go on with."""
    repair: Repair | None = None
    """What another tool did to it, to be undone."""
    pause: bool | None = None
    """Whether it is paused with this, or no longer."""
    look_at: datetime | None = None
    """Look again then, whatever comes of this."""
    look_back: bool = False
    """The revisions of the workload are needed to decide."""
    revisit_at: datetime | None = None
    problems: tuple[Problem, ...] = ()


Gate = Callable[[Snapshot, Comparison, datetime], Plan | None]


def nothing(reason: Reason) -> Plan:
    return Plan(reason, reason.sentence)


def written(
    seen: Snapshot,
    found: Comparison,
    now: datetime,
    reason: Reason,
    message: str,
    **more: object,
) -> Plan:
    return Plan(reason, message, record=record_of(seen, found, now, reason, **more))


def record_of(
    seen: Snapshot, found: Comparison, now: datetime, reason: Reason, **more: object
) -> Record:
    record = seen.workload.record
    return successor(
        record if isinstance(record, Record) else None,
        number(seen, now),
        at=now,
        why=reason.word,
        s=found.wanted,
        k=seen.keys.current,
        **more,
    )


def number(seen: Snapshot, now: datetime) -> int:
    """The number that the next record comes after."""
    number = highest(seen)
    # An undo is told by numbers, and nobody has seen them all: so they grow with time.
    return max(number, int(now.timestamp())) if seen.kind.copies_record else number


def highest(seen: Snapshot) -> int:
    latest = seen.history.latest if seen.history else None
    return max(seen.workload.highest, latest.n if latest else 0)
