"""Turn what is seen into what should be done.

Pure: no I/O, no clock. Same arguments, same plan. A gate returns a plan to stop, `None` to pass on;
the first answer wins. The order of GATES is behaviour that users see: docs/concepts/decisions.md.
"""

from datetime import datetime

import msgspec

from reroll.core.decide import pin_state
from reroll.core.decide.permission import (
    debouncing,
    held,
    is_kept_back,
    paused,
    resting,
    source_missing,
    unread,
)
from reroll.core.decide.pinning import (
    as_chosen,
    contested,
    copy_missing,
    held_at,
    opting_out,
    other_pins,
    pinned,
    pods_have,
    text_of,
)
from reroll.core.decide.plan import Gate, Plan, highest, nothing, record_of, written
from reroll.core.dialects.rows import Roll
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.model.digest import stamp
from reroll.core.model.key import Problem
from reroll.core.model.marks import Mark, own_mark
from reroll.core.model.moment import Moment
from reroll.core.model.record import LARGEST_RECORD, Record, Todo, Unreadable, successor, write
from reroll.core.observe.compare import compare, oldest_pods
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

FEW = 500
"""So few sources fit, however long their names are."""


def plan(seen: Snapshot, now: datetime, dialects: Dialects = ALL) -> Plan:
    """What should happen to one workload now."""
    comparison = compare(seen)
    found = next((p for gate in GATES if (p := gate(seen, comparison, now))), None)
    problems = seen.policy.problems + seen.workload.problems + seen.problems + _spoilt(seen)
    problems += dialects.rivals(seen, comparison.changes) + pin_state.problems(seen)
    if found is None:
        found = _roll(seen, comparison, now, dialects)
    found = _too_large(found) or found
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


def _too_large(decided: Plan) -> Plan | None:
    """A record that no object has room for is not sent: its sources are too many."""
    record = decided.record
    if record is None or len(record.s) < FEW or len(write(record)) <= LARGEST_RECORD:
        return None
    reason = Reason.TOO_MANY_SOURCES
    return Plan(reason, f"{reason.sentence}: {len(record.s)}; narrow its globs")


# Gates, each named for the situation that it finds


def ended(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    return nothing(Reason.ENDED) if seen.workload.ended else None


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
    return nothing(Reason.NOT_ENABLED if seen.policy.enabled is None else Reason.OPTED_OUT)


def new_here(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Seen for the first time, or its record cannot be read: adopting never rolls."""
    record = seen.workload.record
    if isinstance(record, Record) or found.changes:
        return None
    message = Reason.ADOPTED.sentence
    if isinstance(record, Unreadable):
        message = f"its record could not be used ({record.why}); {message}"
    return written(seen, found, now, Reason.ADOPTED, message, **as_chosen(seen, now, is_new=True))


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
    if record.n >= highest(seen) or _moved_on(seen, found):
        return None
    more = as_chosen(seen, now)
    return written(seen, found, now, Reason.UNDONE, Reason.UNDONE.sentence, **more)


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
        return written(seen, found, now, Reason.KEY_LOST, Reason.KEY_LOST.sentence)
    if record.k != seen.keys.current and record.s != found.wanted:
        return written(seen, found, now, Reason.KEY_ROTATED, Reason.KEY_ROTATED.sentence)
    if record.s != found.wanted:
        return written(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence)
    return None


def unchanged(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if found.changes or not isinstance(seen.workload.record, Record) or pin_state.task(seen):
        return None
    return nothing(Reason.UP_TO_DATE)


def looking_back(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """A change that nobody watched: the workload's revisions tell what happened meanwhile."""
    if seen.history is not None or not seen.kind.revisions:
        return None
    if all(_order_is_known(seen, change.changed) for change in found.changes):
        return None
    return Plan(Reason.LOOKING_BACK, Reason.LOOKING_BACK.sentence, look_back=True)


def rolled_elsewhere(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Somebody changed the template after the content changed: the new pods have it already."""
    if not found.changes or pin_state.task(seen):
        return None
    if not all(pods_have(seen, change) for change in found.changes):
        return None
    found = msgspec.structs.replace(found, wanted=found.started_with)
    reason, more = Reason.ROLLED_ELSEWHERE, as_chosen(seen, now)
    return written(seen, found, now, reason, reason.sentence, **more)


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
    other_pins,
    copy_missing,
    held_at,
    contested,
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
    if not found.changes and pin_state.task(seen) is Reason.PINNED:
        return pinned(seen, found, now)
    reason = Reason.CONFIG_CHANGED if found.changes else Reason.RELEASED
    pins = pin_state.rolled(seen, found) if pin_state.applies(seen) else None
    strategy = seen.policy.strategy_for(seen.kind)
    names = [change.entry for change in found.changes]
    keys = sorted({key for change in found.changes for key in change.keys})
    lasting = strategy in {Strategy.EVICT, Strategy.RELOAD}
    record = record_of(
        seen,
        found,
        now,
        reason,
        rolled=now,
        by=names or None,
        keys=keys or None,
        todo=Todo(strategy.value, now) if lasting else None,
        **({} if pins is None else {"pins": text_of(pins), "held": None}),
    )
    value = stamp(found.wanted)
    same_pins = pins is None or text_of(pins) == seen.workload.pins_text
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
        pins=None if pins is None else text_of(pins),
    )
    pause = seen.policy.pause
    if pause and pause.since is None and is_kept_back(seen):
        return msgspec.structs.replace(decided, pause=True, look_at=now + pause.period)
    return decided


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
    if found.unread or not seen.policy.enabled or pin_state.applies(seen):
        # Nor does one with pins: its new pods have what those say, not what changed meanwhile.
        return Plan(Reason.RESTARTED, message, roll=Strategy.RESTART, at=now)
    record = record_of(
        seen, found, now, Reason.RESTARTED, rolled=now, by=None, keys=None, todo=None
    )
    return Plan(Reason.RESTARTED, message, record, Strategy.RESTART, at=now)


def declined(seen: Snapshot, now: datetime) -> Record | None:
    """The record of a workload whose last roll is undone: its content is not rolled again."""
    record = seen.workload.record
    if not isinstance(record, Record):
        return None
    number = max(highest(seen), int(now.timestamp())) if seen.kind.copies_record else record.n
    held_since = None if record.pins is None else now
    return successor(record, number, at=now, why=Reason.UNDONE.word, todo=None, held=held_since)


def _order_is_known(seen: Snapshot, changed: Moment) -> bool:
    """Whether versions alone tell which came first, content or template."""
    template = msgspec.structs.replace(oldest_pods(seen), at=None)
    return template.is_later_than(changed) is not None
