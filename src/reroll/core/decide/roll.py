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
from reroll.core.decide.going_back import LASTING
from reroll.core.decide.partitions import departitioned
from reroll.core.decide.pin_state import Pins, text_of
from reroll.core.decide.plan import Plan
from reroll.core.decide.trial_record import trial_fields
from reroll.core.dialects.rows import Roll
from reroll.core.dialects.table import Dialects
from reroll.core.model.digest import stamp
from reroll.core.model.marks import Mark, own_mark
from reroll.core.model.names import counted, several
from reroll.core.model.record import Burst, Record, RecordFields, Todo, Trial
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


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
        more = *self._pause(), *departitioned(self.case)
        return Patch((WriteRecord(self.record, unless_held=True), *pinning, *edits, *more))

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
    pins, pin_fields = _pins(case)
    strategy = case.snapshot.policy.strategy_for(case.snapshot.kind)
    names = [change.entry for change in changes]
    fields: RecordFields = {
        "s": wanted,
        "rolled": case.now,
        "by": names or None,
        "keys": sorted({key for change in changes for key in change.keys}) or None,
        "how": strategy.value,
        "declined": None,
        "canary": None,
        "todo": Todo(strategy.value, case.now) if strategy in LASTING else None,
    }
    fields |= pin_fields | trial_fields(case)
    if burst := case.burst:
        burst = Burst(burst.n + 1, burst.since)
    fields["burst"] = burst
    record = case.next_record(reason, **fields)
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
        (*_before(pins), *_actions(strategy, write)),
        strategy=strategy,
        stamp=value,
        changes=changes,
    )
    if case.pause and case.pause.since is None and case.pause_keeps_back:
        return msgspec.structs.replace(plan, look_at=case.now + case.pause.period)
    return plan


def _actions(strategy: Strategy, write: _Write) -> tuple[Action, ...]:
    """Those of a row, unless its canary wrote the template already: its pods stay as they are."""
    staged, there = write.case.snapshot.staged, write.case.snapshot.workload.pins_text
    if staged and there == write.pins_text:
        return _recorded(write)
    return ACTIONS[strategy](write)


def _described(changes: tuple[Change, ...]) -> str:
    """The sources, and the keys that changed, unless a source's name says just those."""
    keys: set[str] = set()
    for change in changes:
        if not change.entry.endswith("#" + ",".join(sorted(change.keys))):
            keys |= change.keys
    names = several([change.entry for change in changes])
    return f"{names} changed" + (f" ({several(sorted(keys))})" if keys else "")


_DONE = {
    Strategy.STAMP: "rolled",
    Strategy.ENV: "rolled",
    Strategy.RESTART: "rolled",
    Strategy.EVICT: "evicting {pods}",
    Strategy.RELOAD: "asking {pods} to reload",
    Strategy.TRIGGER: "started a Job",
    Strategy.RECREATE: "recreated",
    Strategy.NOTIFY: "nothing is replaced",
    Strategy.NEXT_RUN: "its next run uses it",
}


def done(plan: Plan, job: str = "", pods: int | None = None) -> str:
    """What was done for a change, before the message of its Event: "rolled: ".

    `job` is the name of the Job that it starts, if it does; `pods` is how many it has, if known.
    """
    if not plan.strategy or not plan.changes:
        return ""
    if job and plan.strategy is Strategy.TRIGGER:
        return f"started Job {job}: "
    which = "its pods" if pods is None else counted(pods, "pod")
    return f"{_DONE[plan.strategy].format(pods=which)}: "


_DESCRIBED = re.compile(
    r"(?:[a-zA-Z0-9. -]+: )?(?P<names>[a-z]+/\S+(?:, [a-z]+/\S+)*) changed"
    r"(?: \((?P<keys>[^()]+)\))?"
)


def read_described(message: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The entries and keys in a sentence of `_described`; nothing in any other, or a short one."""
    found = _DESCRIBED.fullmatch(message)
    if found is None:
        return (), ()
    keys = found["keys"] or ""
    whole = tuple(keys.split(", ")) if keys and " more" not in keys else ()
    return tuple(found["names"].split(", ")), whole


def _pins(case: Case) -> tuple[Pins | None, RecordFields]:
    """The pins of a roll, and what its record says of them."""
    if not case.pins.applies:
        return None, {}
    pins, recorded = case.pins.rolled(case.snapshot, case.comparison)
    held = case.record.held if case.record and pins != recorded else None
    return pins, {"pins": text_of(recorded), "held": held}


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
        trial=_back_again(case),
    )  # fmt: skip
    names = several([f"{source.kind.lower()}/{source.name}" for source in sorted(pins)])
    patch = Patch((WriteRecord(record, unless_held=True), Pin(text_of(pins))))
    return Plan(
        reason,
        f"{reason.sentence}: {names}",
        (*_before(pins), patch),
        strategy=rewriting(case.snapshot),
    )


def _back_again(case: Case) -> Trial | None:
    """Its pods are made again with what it was taken back to, and judged again."""
    trial = case.record.trial if case.record else None
    if trial is None or trial.back is None or not case.pins.withdrawn:
        return trial
    return msgspec.structs.replace(trial, back=case.now, b="")


def _again(record: Record | None) -> Trial | None:
    """A trial of the same content begins again with pods that are made again."""
    trial = record.trial if record else None
    return Trial(trial.of, sick=trial.sick, ok=trial.ok) if trial else None


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
            todo=None, how=Strategy.RESTART.value, declined=None, trial=_again(case.record),
        )  # fmt: skip
        edits = (WriteRecord(record, unless_held=True), *edits)
    message = f"{Reason.RESTARTED.sentence}: {why}" if why else Reason.RESTARTED.sentence
    return Plan(Reason.RESTARTED, message, (Patch(edits),), strategy=Strategy.RESTART)
