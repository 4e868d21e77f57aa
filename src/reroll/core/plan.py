"""Turn what is seen into what should be done.

Pure: no I/O, no clock. Same arguments, same plan. A gate returns a plan to stop, `None` to pass on;
the first answer wins. The order of GATES is behaviour that users see: docs/concepts/decisions.md.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from reroll.core import revisions
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
from reroll.core.marks import Mark, own_mark
from reroll.core.objects import Key, Moment, Problem
from reroll.core.policy import STATE, Repair
from reroll.core.reasons import Reason
from reroll.core.records import Record, Todo, Unreadable, successor
from reroll.core.rewrite import Rewrite, write_pins


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


def plan(seen: Snapshot, now: datetime, dialects: Dialects = ALL) -> Plan:
    """What should happen to one workload now."""
    comparison = compare(seen)
    found = next((p for gate in GATES if (p := gate(seen, comparison, now))), None)
    problems = seen.policy.problems + seen.workload.problems + seen.problems + _spoilt(seen)
    problems += dialects.rivals(seen, comparison.changes) + revisions.problems(seen)
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


def opting_out(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Revisions are off, or the workload is out, and its template still has pins."""
    record = seen.workload.record
    if revisions.applies(seen) or not revisions.are_left(seen) or not isinstance(record, Record):
        return None
    if wait := unread(seen, found, now) or held(seen, found, now) or paused(seen, found, now):
        return wait
    if wait := debouncing(seen, found, now):
        return wait
    reason, digests = Reason.UNPINNED, record.s
    if seen.policy.enabled:
        digests = found.started_with
    after = successor(
        record, _number(seen, now), at=now, why=reason.word, s=digests, rolled=now,
        by=None, keys=None, todo=None, pins=None, named=False, held=None,
    )  # fmt: skip
    return Plan(reason, reason.sentence, after, _rewriting(seen), pins="")


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
    return _write(seen, found, now, Reason.ADOPTED, message, **_as_chosen(seen, now))


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
    more = _as_chosen(seen, now)
    return _write(seen, found, now, Reason.UNDONE, Reason.UNDONE.sentence, **more)


def _as_chosen(seen: Snapshot, now: datetime) -> dict[str, object]:
    """For a record of what is there now: the template may have pins of something else."""
    if not revisions.applies(seen):
        return {}
    pins = revisions.current(seen)
    there = revisions.in_template(seen)
    is_held = any(there.get(source, pin) != pin for source, pin in pins.items())
    return {"pins": _text(pins), "held": now if is_held else None}


def _moved_on(seen: Snapshot, found: Comparison) -> bool:
    """Whether a source changed after the record that somebody went back from was written."""
    left = seen.history.latest if seen.history else None
    if left is None or left.k != seen.keys.current:
        return False
    entries = [change.entry for change in found.changes if change.entry in left.s]
    return any(left.s[entry] != found.wanted[entry] for entry in entries)


def unrecorded(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Nothing has changed for its pods, but the record has to."""
    record = seen.workload.record
    if found.changes or not isinstance(record, Record):
        return None
    if found.lost:
        return _write(seen, found, now, Reason.KEY_LOST, Reason.KEY_LOST.sentence)
    if record.k != seen.keys.current and record.s != found.wanted:
        return _write(seen, found, now, Reason.KEY_ROTATED, Reason.KEY_ROTATED.sentence)
    if record.s != found.wanted:
        return _write(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence)
    if not revisions.applies(seen) or revisions.task(seen):
        return None
    chosen = bool(revisions.chosen_by_somebody(seen))
    if record.pins is None:
        more = _as_chosen(seen, now)
        return _write(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence, **more)
    if chosen and record.held is None:
        return _write(seen, found, now, Reason.UNDONE, Reason.UNDONE.sentence, held=now)
    if record.held is not None and not chosen:
        return _write(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence, held=None)
    return None


def copy_missing(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """A copy that new pods need is gone: made again, if its source still holds the same."""
    if found.changes or not seen.copies_missing or not revisions.applies(seen):
        return None
    if revisions.task(seen):
        return None
    again, lost = revisions.restorable(seen)
    if again:
        names = ", ".join(f"{source.kind} {name}" for source, name in sorted(again.items()))
        message = f"{Reason.COPY_RESTORED.sentence}: {names}"
        return Plan(Reason.COPY_RESTORED, message, copies=tuple(sorted(again.items())))
    if not lost:
        return None
    reason = Reason.REVISION_MISSING
    return Plan(reason, f"{reason.sentence}: {_told(lost)}")


def held_at(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """Somebody chose another revision than the current one, and nothing has changed since."""
    record = seen.workload.record
    if found.changes or not isinstance(record, Record) or not revisions.applies(seen):
        return None
    if revisions.task(seen) or not (chosen := revisions.chosen_by_somebody(seen)):
        return None
    there = revisions.in_template(seen)
    names = _told({source: there[source] for source in chosen})
    since = f" since {record.held:%Y-%m-%d %H:%M:%S %Z}" if record.held else ""
    return Plan(Reason.HELD_AT, f"{Reason.HELD_AT.sentence}: {names}{since}")


def _told(pins: revisions.Chosen) -> str:
    return _text(pins).replace(",", ", ")


def unchanged(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if found.changes or not isinstance(seen.workload.record, Record) or revisions.task(seen):
        return None
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
    if not found.changes or revisions.task(seen):
        return None
    if not all(_pods_have(seen, change) for change in found.changes):
        return None
    found = msgspec.structs.replace(found, wanted=found.started_with)
    reason, more = Reason.ROLLED_ELSEWHERE, _as_chosen(seen, now)
    return _write(seen, found, now, reason, reason.sentence, **more)


def _pods_have(seen: Snapshot, change: Change) -> bool:
    """Whether new pods have a content, or what somebody chose instead after it came."""
    source, is_older = change.reference.source, is_newer_than_pods(seen, change.changed)
    pin = revisions.current(seen).get(source) if revisions.applies(seen) else None
    if pin is None or seen.pin(source) is None:
        return not is_older
    return pin == seen.pin(source) or (
        source in revisions.chosen_by_somebody(seen) and not is_older
    )


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
    opting_out,
    not_enabled,
    unread,
    new_here,
    went_back,
    unfinished,
    unrecorded,
    copy_missing,
    held_at,
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
    if not found.changes and revisions.task(seen) is Reason.PINNED:
        return _pin(seen, found, now)
    reason = Reason.CONFIG_CHANGED if found.changes else Reason.RELEASED
    pins = revisions.rolled(seen, found) if revisions.applies(seen) else None
    strategy = seen.policy.strategy_for(seen.kind)
    names = [change.entry for change in found.changes]
    keys = sorted({key for change in found.changes for key in change.keys})
    lasting = strategy in {Strategy.EVICT, Strategy.RELOAD}
    record = _record(
        seen,
        found,
        now,
        reason,
        rolled=now,
        by=names or None,
        keys=keys or None,
        todo=Todo(strategy.value, now) if lasting else None,
        **({} if pins is None else {"pins": _text(pins), "held": None}),
    )
    value = stamp(found.wanted)
    same_pins = pins is None or _text(pins) == seen.workload.pins_text
    if value in seen.workload.marks.values() and same_pins:
        # The content came back to that of the template's stamp, but the pods have another one.
        value = f"{value}-{record.n}"
    message = f"{', '.join(names)} changed" + (f" ({', '.join(keys)})" if keys else "")
    if not found.changes:
        message = reason.sentence
    roll = Roll(seen, strategy, found.changes, value, found.wanted, record)
    marks = _marks(roll, now, dialects)
    decided = Plan(
        reason,
        message,
        record,
        strategy,
        stamp=value,
        marks=marks,
        changes=found.changes,
        copies=tuple(sorted((pins or {}).items())),
        pins=None if pins is None else _text(pins),
    )
    pause = seen.policy.pause
    if pause and pause.since is None and _is_kept_back(seen):
        return msgspec.structs.replace(decided, pause=True, look_at=now + pause.period)
    return decided


def _pin(seen: Snapshot, found: Comparison, now: datetime) -> Plan:
    """The template gets the pins that it lacks; what it has besides stays."""
    reason = Reason.PINNED
    pins, recorded = revisions.completed(seen)
    more = {"rolled": now, "by": None, "keys": None, "todo": None, "pins": _text(recorded)}
    record = _record(seen, found, now, reason, **more)
    names = ", ".join(f"{source.kind.lower()}/{source.name}" for source in sorted(pins))
    return Plan(
        reason,
        f"{reason.sentence}: {names}",
        record,
        _rewriting(seen),
        copies=tuple(sorted(pins.items())),
        pins=_text(pins),
    )


def _rewriting(seen: Snapshot) -> Strategy:
    """How it counts that only its pins are written."""
    return Strategy.STAMP if seen.kind.replaces_pods else Strategy.NEXT_RUN


def _text(pins: revisions.Chosen) -> str:
    return write_pins({(source.kind, source.name): copy for source, copy in pins.items()})


def _marks(roll: Roll, now: datetime, dialects: Dialects) -> tuple[Mark, ...]:
    """What a roll writes: where its kind wants it, or what its dialects write into a template."""
    place = roll.seen.kind.stamp
    if place and roll.strategy is Strategy.STAMP:
        return (own_mark(place, roll.stamp, now),)
    return dialects.marks(roll)


def restart(seen: Snapshot, now: datetime, why: str) -> Plan:
    """Roll it though nothing changed; what changed meanwhile comes with it.

    A workload that is not in gets no record.
    """
    found = compare(seen)
    found = msgspec.structs.replace(found, wanted=found.started_with)
    message = why or Reason.RESTARTED.sentence
    if found.unread or not seen.policy.enabled or revisions.applies(seen):
        # Nor does one with pins: its new pods have what those say, not what changed meanwhile.
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
    return successor(
        record if isinstance(record, Record) else None,
        _number(seen, now),
        at=now,
        why=reason.word,
        s=found.wanted,
        k=seen.keys.current,
        **more,
    )


def _number(seen: Snapshot, now: datetime) -> int:
    """The number that the next record comes after."""
    number = _highest(seen)
    # An undo is told by numbers, and nobody has seen them all: so they grow with time.
    return max(number, int(now.timestamp())) if seen.kind.copies_record else number


def _write(
    seen: Snapshot,
    found: Comparison,
    now: datetime,
    reason: Reason,
    message: str,
    **more: object,
) -> Plan:
    return Plan(reason, message, record=_record(seen, found, now, reason, **more))


def _nothing(reason: Reason) -> Plan:
    return Plan(reason, reason.sentence)


def _highest(seen: Snapshot) -> int:
    latest = seen.history.latest if seen.history else None
    return max(seen.workload.highest, latest.n if latest else 0)


def _order_is_known(seen: Snapshot, changed: Moment) -> bool:
    """Whether versions alone tell which came first, content or template."""
    template = msgspec.structs.replace(oldest_pods(seen), at=None)
    return template.is_later_than(changed) is not None
