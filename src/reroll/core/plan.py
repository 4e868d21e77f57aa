"""Turn what is seen into what should be done.

Pure: no I/O, no clock. Same arguments, same plan. A gate returns a plan to stop, `None` to pass on;
the first answer wins. The order of GATES is behaviour that users see: docs/concepts/decisions.md.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from reroll.core.compare import (
    Change,
    Comparison,
    Snapshot,
    compare,
    is_newer_than_pods,
    oldest_pods,
)
from reroll.core.dialects.rows import Roll
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.digest import stamp
from reroll.core.kinds import Strategy
from reroll.core.marks import Mark
from reroll.core.objects import Moment, Problem
from reroll.core.policy import STATE, Repair
from reroll.core.reasons import Reason
from reroll.core.records import Record, Todo, Unreadable, successor


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


def plan(seen: Snapshot, now: datetime, dialects: Dialects = ALL) -> Plan:
    """What should happen to one workload now."""
    comparison = compare(seen)
    found = next((p for gate in GATES if (p := gate(seen, comparison, now))), None)
    problems = seen.policy.problems + seen.workload.problems + seen.problems + _spoilt(seen)
    problems += dialects.rivals(seen, comparison.changes)
    if found is None:
        found = _roll(seen, comparison, now, dialects)
    pause = seen.policy.pause
    if pause and pause.since and found.pause is None:
        found = msgspec.structs.replace(found, look_at=pause.until)
    return msgspec.structs.replace(found, problems=problems) if problems else found


def _spoilt(seen: Snapshot) -> tuple[Problem, ...]:
    record = seen.workload.record
    if not isinstance(record, Unreadable):
        return ()
    where = f"annotation {STATE} on {seen.workload.key}"
    return (Problem(f"{where} cannot be used: {record.why}; it is written anew"),)


# Gates, each named for the situation that it finds


def ended(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    return _nothing(Reason.ENDED) if seen.workload.ended else None


def stranded(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Another tool keeps its pods from starting: undone, but not before they can start."""
    repair = seen.policy.repair
    if repair is None:
        return None
    if repair.waits and (held := unread(seen, found, now) or source_missing(seen, found, now)):
        return held
    return Plan(Reason.REPAIRED, Reason.REPAIRED.sentence, repair=repair)


def pause_over(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    """What was gathered rolls: its time has come, or somebody ended the pause, or opted out."""
    pause, record = seen.policy.pause, seen.workload.record
    if pause is None or pause.until is None:
        return None
    if seen.workload.still and seen.policy.enabled and now < pause.until:
        return None
    after = (
        successor(record, record.n, at=now, why=Reason.RESUMED.word)
        if isinstance(record, Record)
        else None
    )
    return Plan(Reason.RESUMED, Reason.RESUMED.sentence, record=after, pause=False)


def not_enabled(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    if seen.policy.enabled:
        return None
    return _nothing(Reason.NOT_ENABLED if seen.policy.enabled is None else Reason.OPTED_OUT)


def unread(_: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if not found.unread:
        return None
    names = ", ".join(str(reference.source) for reference in found.unread)
    return Plan(Reason.WAITING, f"{Reason.WAITING.sentence}: {names}")


def new_here(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Seen for the first time, or its record cannot be read: adopting never rolls."""
    record = seen.workload.record
    if isinstance(record, Record) or found.changes:
        return None
    message = Reason.ADOPTED.sentence
    if isinstance(record, Unreadable):
        message = f"its record could not be used ({record.why}); {message}"
    return _write(seen, found, now, Reason.ADOPTED, message)


def unfinished(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """An earlier roll is still being carried out, and nothing has changed since."""
    record = seen.workload.record
    if not isinstance(record, Record) or record.todo is None or found.changes:
        return None
    going_on = Plan(Reason.CONTINUED, Reason.CONTINUED.sentence, resume=record.todo)
    return source_missing(seen, found, now) or held(seen, found, now) or going_on


def went_back(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """An undo put an older record back: the current content is declined until it changes again."""
    record = seen.workload.record
    if not isinstance(record, Record) or not seen.kind.copies_record:
        return None
    if record.n >= _highest(seen) or _moved_on(seen, found):
        return None
    return _write(seen, found, now, Reason.UNDONE, Reason.UNDONE.sentence)


def _moved_on(seen: Snapshot, found: Comparison) -> bool:
    """Whether a source changed after the record that somebody went back from was written."""
    left = seen.history.latest if seen.history else None
    if left is None or left.k != seen.keys.current:
        return False
    entries = [change.entry for change in found.changes if change.entry in left.s]
    return any(left.s[entry] != found.wanted[entry] for entry in entries)


def unchanged(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    record = seen.workload.record
    if found.changes or not isinstance(record, Record):
        return None
    if found.lost:
        return _write(seen, found, now, Reason.KEY_LOST, Reason.KEY_LOST.sentence)
    if record.k != seen.keys.current and record.s != found.wanted:
        return _write(seen, found, now, Reason.KEY_ROTATED, Reason.KEY_ROTATED.sentence)
    if record.s != found.wanted:
        return _write(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence)
    return _nothing(Reason.UP_TO_DATE)


def looking_back(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """A change that nobody watched: the workload's revisions tell what happened meanwhile."""
    if seen.history is not None or not seen.kind.revisions:
        return None
    if all(_order_is_known(seen, change.changed) for change in found.changes):
        return None
    return Plan(Reason.LOOKING_BACK, Reason.LOOKING_BACK.sentence, look_back=True)


def rolled_elsewhere(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Somebody changed the template after the content changed: the new pods have it already."""
    if any(is_newer_than_pods(seen, change.changed) for change in found.changes):
        return None
    found = msgspec.structs.replace(found, wanted=found.started_with)
    return _write(seen, found, now, Reason.ROLLED_ELSEWHERE, Reason.ROLLED_ELSEWHERE.sentence)


def source_missing(_: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if not found.missing:
        return None
    names = ", ".join(str(reference.source) for reference in found.missing)
    return Plan(Reason.SOURCE_MISSING, f"{Reason.SOURCE_MISSING.sentence}: {names}; create it")


def held(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    """Somebody said so; it rolls when that is over, and all at once."""
    hold = seen.policy.hold
    if hold is None or (hold.until and now >= hold.until):
        return None
    until = f"until {hold.until:%Y-%m-%d %H:%M:%S %Z}" if hold.until else ""
    told = ": ".join(filter(None, (until, hold.why)))
    message = f"{Reason.HELD.sentence} ({told})" if told else Reason.HELD.sentence
    return Plan(Reason.HELD, message, revisit_at=hold.until)


def paused(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    pause = seen.policy.pause
    is_ours = pause is not None and pause.since is not None
    return _nothing(Reason.PAUSED) if seen.workload.still and not is_ours else None


def resting(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    """What cannot be paused gathers changes between two rolls."""
    pause, record = seen.policy.pause, seen.workload.record
    if pause is None or _is_kept_back(seen) or not isinstance(record, Record):
        return None
    until = record.rolled + pause.period if record.rolled else now
    return Plan(Reason.RESTING, Reason.RESTING.sentence, revisit_at=until) if now < until else None


def _is_kept_back(seen: Snapshot) -> bool:
    """Whether a pause keeps its roll back."""
    strategy = seen.policy.strategy_for(seen.kind)
    return seen.kind.keeps_back and strategy in _ON_TEMPLATE


_ON_TEMPLATE = frozenset((Strategy.STAMP, Strategy.ENV, Strategy.RESTART))


def debouncing(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    since = seen.waiting_since or now
    quiet = (seen.quiet_since or since) + seen.policy.debounce
    # A workload that asks for more quiet than the limit gets it once.
    limit = max(seen.policy.debounce, seen.policy.debounce_limit)
    until = min(quiet, since + limit)
    if now >= until:
        return None
    return Plan(Reason.DEBOUNCING, Reason.DEBOUNCING.sentence, revisit_at=until)


GATES: tuple[Gate, ...] = (
    ended,
    stranded,
    pause_over,
    not_enabled,
    unread,
    new_here,
    went_back,
    unfinished,
    unchanged,
    looking_back,
    rolled_elsewhere,
    source_missing,
    held,
    paused,
    resting,
    debouncing,
)


def _roll(seen: Snapshot, found: Comparison, now: datetime, dialects: Dialects) -> Plan:
    found = msgspec.structs.replace(found, wanted=found.started_with)
    strategy = seen.policy.strategy_for(seen.kind)
    names = [change.entry for change in found.changes]
    keys = sorted({key for change in found.changes for key in change.keys})
    lasting = strategy in {Strategy.EVICT, Strategy.RELOAD}
    record = _record(
        seen,
        found,
        now,
        Reason.CONFIG_CHANGED,
        rolled=now,
        by=names,
        keys=keys or None,
        todo=Todo(strategy.value, now) if lasting else None,
    )
    value = stamp(found.wanted)
    if value in seen.workload.marks.values():
        # The content came back to that of the template's stamp, but the pods have another one.
        value = f"{value}-{record.n}"
    message = f"{', '.join(names)} changed" + (f" ({', '.join(keys)})" if keys else "")
    roll = Roll(seen, strategy, found.changes, value, found.wanted, record)
    marks = dialects.marks(roll)
    decided = Plan(
        Reason.CONFIG_CHANGED,
        message,
        record,
        strategy,
        stamp=value,
        marks=marks,
        changes=found.changes,
    )
    pause = seen.policy.pause
    if pause and pause.since is None and _is_kept_back(seen):
        return msgspec.structs.replace(decided, pause=True, look_at=now + pause.period)
    return decided


def restart(seen: Snapshot, now: datetime, why: str) -> Plan:
    """Roll it though nothing changed; what changed meanwhile comes with it.

    A workload that is not in gets no record.
    """
    found = compare(seen)
    found = msgspec.structs.replace(found, wanted=found.started_with)
    message = why or Reason.RESTARTED.sentence
    if found.unread or not seen.policy.enabled:
        return Plan(Reason.RESTARTED, message, roll=Strategy.RESTART, at=now)
    record = _record(seen, found, now, Reason.RESTARTED, rolled=now, by=None, keys=None, todo=None)
    return Plan(Reason.RESTARTED, message, record, Strategy.RESTART, at=now)


def declined(seen: Snapshot, now: datetime) -> Record | None:
    """The record of a workload whose last roll is undone: its content is not rolled again."""
    record = seen.workload.record
    if not isinstance(record, Record):
        return None
    number = max(_highest(seen), int(now.timestamp())) if seen.kind.copies_record else record.n
    return successor(record, number, at=now, why=Reason.UNDONE.word, todo=None)


def _record(
    seen: Snapshot, found: Comparison, now: datetime, reason: Reason, **more: object
) -> Record:
    record = seen.workload.record
    number = _highest(seen)
    if seen.kind.copies_record:
        # An undo is told by numbers, and nobody has seen them all: so they grow with time.
        number = max(number, int(now.timestamp()))
    return successor(
        record if isinstance(record, Record) else None,
        number,
        at=now,
        why=reason.word,
        s=found.wanted,
        k=seen.keys.current,
        **more,
    )


def _write(seen: Snapshot, found: Comparison, now: datetime, reason: Reason, message: str) -> Plan:
    return Plan(reason, message, record=_record(seen, found, now, reason))


def _nothing(reason: Reason) -> Plan:
    return Plan(reason, reason.sentence)


def _highest(seen: Snapshot) -> int:
    latest = seen.history.latest if seen.history else None
    return max(seen.workload.highest, latest.n if latest else 0)


def _order_is_known(seen: Snapshot, changed: Moment) -> bool:
    """Whether versions alone tell which came first, content or template."""
    template = msgspec.structs.replace(oldest_pods(seen), at=None)
    return template.is_later_than(changed) is not None
