"""What a roll writes: the record, the pins and marks that replace the pods, and what comes first.

The actions of a strategy are a row of a table.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.decide.actions import (
    Action,
    AddValueMarks,
    Edit,
    MakeCopies,
    NamePins,
    Patch,
    Pause,
    Pin,
    RecreateJob,
    Restart,
    SetMarks,
    StartJob,
    WriteRecord,
)
from reroll.core.decide.case import Case
from reroll.core.decide.pin_state import Pins, text_of
from reroll.core.decide.plan import Plan
from reroll.core.dialects.rows import Roll
from reroll.core.dialects.table import Dialects
from reroll.core.model.digest import stamp
from reroll.core.model.marks import Mark, own_mark
from reroll.core.model.names import several
from reroll.core.model.record import Record, RecordFields, Todo
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

LASTING = frozenset((Strategy.EVICT, Strategy.RELOAD))
"""Strategies that are carried out pod by pod after the record is written."""


class _Write(NamedTuple):
    """What a strategy writes with."""

    case: Case
    record: Record
    stamp: str
    marks: tuple[Mark, ...]
    pins: Pins | None
    """The pins of the roll; `None`: the template has none."""

    @property
    def pins_text(self) -> str | None:
        return None if self.pins is None else text_of(self.pins)

    def patch(self, *edits: Edit) -> Patch:
        """The record, and with it these."""
        pins = self.pins_text
        pinning = () if pins is None else (Pin(pins),)
        return Patch((WriteRecord(self.record, unless_held=True), *pinning, *edits, *self._pause()))

    def _pause(self) -> tuple[Pause, ...]:
        case, pause = self.case, self.case.pause
        if pause is None or pause.since is not None or not case.pause_keeps_back:
            return ()
        return (Pause(pause.mark, self.record.at),)


def _marked(write: _Write) -> tuple[Action, ...]:
    return (write.patch(SetMarks(write.marks)),)


def _stamped(write: _Write) -> tuple[Action, ...]:
    snapshot = write.case.snapshot
    by = write.case.dialects.of_values(snapshot.policy.by, Strategy.STAMP)
    more = (AddValueMarks(write.stamp),) if by and not snapshot.kind.stamp else ()
    return (*more, *_marked(write))


def _restarted(write: _Write) -> tuple[Action, ...]:
    return (write.patch(Restart(write.record.at)),)


def _recorded(write: _Write) -> tuple[Action, ...]:
    return (write.patch(),)


def _triggered(write: _Write) -> tuple[Action, ...]:
    job = StartJob(write.record, write.stamp, write.marks, write.pins_text)
    return (job, write.patch())


def _recreated(write: _Write) -> tuple[Action, ...]:
    return (RecreateJob(write.record, write.marks, write.pins_text),)


ACTIONS: dict[Strategy, Callable[[_Write], tuple[Action, ...]]] = {
    Strategy.STAMP: _stamped,
    Strategy.ENV: _marked,
    Strategy.RESTART: _restarted,
    Strategy.EVICT: _recorded,
    Strategy.RELOAD: _recorded,
    Strategy.TRIGGER: _triggered,
    Strategy.RECREATE: _recreated,
    Strategy.NOTIFY: _recorded,
    Strategy.NEXT_RUN: _recorded,
}


def roll(case: Case) -> Plan:
    """Its sources changed, or it is released from a revision."""
    changes, wanted = case.comparison.changes, case.comparison.started_with
    reason = Reason.CONFIG_CHANGED if changes else Reason.RELEASED
    pins = case.pins.rolled(case.snapshot, case.comparison) if case.pins.applies else None
    strategy = case.snapshot.policy.strategy_for(case.snapshot.kind)
    names = [change.entry for change in changes]
    fields: RecordFields = {
        "s": wanted,
        "rolled": case.now,
        "by": names or None,
        "keys": sorted({key for change in changes for key in change.keys}) or None,
        "how": strategy.value,
        "declined": None,
        "todo": Todo(strategy.value, case.now) if strategy in LASTING else None,
    }
    record = case.next_record(reason, **(fields | _pin_fields(pins)))
    value = stamp(wanted)
    same_pins = pins is None or text_of(pins) == case.snapshot.workload.pins_text
    if value in case.snapshot.workload.marks.values() and same_pins:
        # The content came back to that of the template's stamp, but the pods have another one.
        value = f"{value}-{record.n}"
    marks = _marks(Roll(case.snapshot, strategy, changes, value, wanted, record), case.dialects)
    write = _Write(case, record, value, marks, pins)
    plan = Plan(
        reason,
        _described(changes) if changes else reason.sentence,
        (*_before(pins), *ACTIONS[strategy](write)),
        strategy=strategy,
        stamp=value,
        changes=changes,
    )
    if case.pause and case.pause.since is None and case.pause_keeps_back:
        return msgspec.structs.replace(plan, look_at=case.now + case.pause.period)
    return plan


def _described(changes: tuple[Change, ...]) -> str:
    """The sources, and the keys that changed, unless a source's name says just those."""
    keys: set[str] = set()
    for change in changes:
        if not change.entry.endswith("#" + ",".join(sorted(change.keys))):
            keys |= change.keys
    names = several([change.entry for change in changes])
    return f"{names} changed" + (f" ({several(sorted(keys))})" if keys else "")


_DESCRIBED = re.compile(r"(?P<names>[a-z]+/\S+(?:, [a-z]+/\S+)*) changed(?: \((?P<keys>[^()]+)\))?")


def read_described(message: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The entries and keys in a sentence of `_described`; nothing in any other, or a short one."""
    found = _DESCRIBED.fullmatch(message)
    if found is None:
        return (), ()
    keys = found["keys"] or ""
    whole = tuple(keys.split(", ")) if keys and " more" not in keys else ()
    return tuple(found["names"].split(", ")), whole


def _pin_fields(pins: Pins | None) -> RecordFields:
    return {} if pins is None else {"pins": text_of(pins), "held": None}


def _before(pins: Pins | None) -> tuple[Action, ...]:
    if pins is None:
        return ()
    return MakeCopies(tuple(sorted(pins.items()))), NamePins(text_of(pins))


def _marks(roll: Roll, dialects: Dialects) -> tuple[Mark, ...]:
    """Where its kind wants a mark, or what its dialects write into a template."""
    place = roll.seen.kind.stamp
    if place and roll.strategy is Strategy.STAMP:
        return (own_mark(place, roll.stamp, roll.record.at),)
    return dialects.marks(roll)


def pin(case: Case) -> Plan:
    """The template gets the pins that it lacks; what it has besides stays."""
    reason = Reason.PINNED
    pins, recorded = case.pins.completed()
    record = case.next_record(
        reason, s=case.comparison.started_with, rolled=case.now, by=None, keys=None, todo=None,
        pins=text_of(recorded), how=rewriting(case.snapshot).value, declined=None,
    )  # fmt: skip
    names = several([f"{source.kind.lower()}/{source.name}" for source in sorted(pins)])
    patch = Patch((WriteRecord(record, unless_held=True), Pin(text_of(pins))))
    return Plan(
        reason,
        f"{reason.sentence}: {names}",
        (*_before(pins), patch),
        strategy=rewriting(case.snapshot),
    )


def rewriting(snapshot: Snapshot) -> Strategy:
    """What it counts as that only its pins are written."""
    return Strategy.STAMP if snapshot.kind.replaces_pods else Strategy.NEXT_RUN


def restart(snapshot: Snapshot, now: datetime, why: str, dialects: Dialects) -> Plan:
    """Roll it though nothing changed; a change that it did not roll with yet comes with it.

    A workload that is not opted in gets no record.
    """
    case = Case(snapshot, now, dialects)
    edits: tuple[Edit, ...] = (Restart(now),)
    if not (case.comparison.unread or not snapshot.policy.enabled or case.pins.applies):
        # Nor does one with pins: its new pods have what those say, whatever changed.
        record = case.next_record(
            Reason.RESTARTED, s=case.comparison.started_with, rolled=now, by=None, keys=None,
            todo=None, how=Strategy.RESTART.value, declined=None,
        )  # fmt: skip
        edits = (WriteRecord(record, unless_held=True), *edits)
    message = f"{Reason.RESTARTED.sentence}: {why}" if why else Reason.RESTARTED.sentence
    return Plan(Reason.RESTARTED, message, (Patch(edits),), strategy=Strategy.RESTART)
