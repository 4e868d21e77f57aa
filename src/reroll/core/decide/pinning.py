"""Gates and rolls of workloads with revisions: pinned, held at one, opted out. See `revisions`."""

from datetime import datetime

from reroll.core.decide import pin_state
from reroll.core.decide.permission import debouncing, held, paused, unread
from reroll.core.decide.plan import Plan, number, record_of, written
from reroll.core.model.record import Record, successor
from reroll.core.observe.compare import is_newer_than_pods
from reroll.core.observe.snapshot import Change, Comparison, Snapshot
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


def opting_out(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Revisions are off, or the workload is out, and its template still has pins."""
    record = seen.workload.record
    if pin_state.applies(seen) or not pin_state.are_left(seen) or not isinstance(record, Record):
        return None
    if wait := unread(seen, found, now) or held(seen, found, now) or paused(seen, found, now):
        return wait
    if wait := debouncing(seen, found, now):
        return wait
    reason, digests = Reason.UNPINNED, record.s
    if seen.policy.enabled:
        digests = found.started_with
    after = successor(
        record, number(seen, now), at=now, why=reason.word, s=digests, rolled=now,
        by=None, keys=None, todo=None, pins=None, named=False, held=None,
    )  # fmt: skip
    return Plan(reason, reason.sentence, after, _rewriting(seen), pins="")


def as_chosen(seen: Snapshot, now: datetime, *, is_new: bool = False) -> dict[str, object]:
    """For a record of what is there now: the template may have pins of something else.

    `is_new`: in one that was never seen, pins to what does not exist are from somewhere else.
    """
    if not pin_state.applies(seen):
        return {}
    pins = pin_state.current(seen)
    there = pin_state.in_template(seen)
    if is_new:
        _, lost = pin_state.restorable(seen)
        pins |= {source: pin for source, pin in lost.items() if source in pins}
    is_held = any(there.get(source, pin) != pin for source, pin in pins.items())
    return {"pins": text_of(pins), "held": now if is_held else None}


def other_pins(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """The template has other pins than the record knows, or no longer: that goes on record."""
    record = seen.workload.record
    if found.changes or not isinstance(record, Record) or not pin_state.applies(seen):
        return None
    if pin_state.task(seen):
        return None
    is_chosen = bool(pin_state.chosen_by_somebody(seen))
    if record.pins is None:
        reason, more = Reason.RECORDED, as_chosen(seen, now)
    elif is_chosen and record.held is None:
        reason, more = Reason.UNDONE, {"held": now}
    elif record.held is not None and not is_chosen:
        reason, more = Reason.RECORDED, {"held": None}
    else:
        return None
    return written(seen, found, now, reason, reason.sentence, **more)


def copy_missing(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """A copy that new pods need is gone: made again, if its source still holds the same."""
    if found.changes or not seen.copies_missing or not pin_state.applies(seen):
        return None
    if pin_state.task(seen):
        return None
    again, lost = pin_state.restorable(seen)
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
    if found.changes or not isinstance(record, Record) or not pin_state.applies(seen):
        return None
    if pin_state.task(seen) or not (chosen := pin_state.chosen_by_somebody(seen)):
        return None
    there = pin_state.in_template(seen)
    names = _told({source: there[source] for source in chosen})
    since = f" since {record.held:%Y-%m-%d %H:%M:%S %Z}" if record.held else ""
    return Plan(Reason.HELD_AT, f"{Reason.HELD_AT.sentence}: {names}{since}")


def contested(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Somebody takes pins out as fast as they are written: that would replace pods for ever."""
    if found.changes or pin_state.task(seen) is not Reason.PINNED:
        return None
    until = pin_state.contested_until(seen)
    if until is None or now >= until:
        return None
    return Plan(Reason.PINS_REMOVED, Reason.PINS_REMOVED.sentence, revisit_at=until)


def _told(pins: pin_state.Chosen) -> str:
    return text_of(pins).replace(",", ", ")


def pods_have(seen: Snapshot, change: Change) -> bool:
    """Whether new pods have a content, or what somebody chose instead after it came."""
    source, is_older = change.reference.source, is_newer_than_pods(seen, change.changed)
    pin = pin_state.current(seen).get(source) if pin_state.applies(seen) else None
    if pin is None or seen.pin(source) is None:
        return not is_older
    return pin == seen.pin(source) or (
        source in pin_state.chosen_by_somebody(seen) and not is_older
    )


def pinned(seen: Snapshot, found: Comparison, now: datetime) -> Plan:
    """The template gets the pins that it lacks; what it has besides stays."""
    reason = Reason.PINNED
    pins, recorded = pin_state.completed(seen)
    more = {"rolled": now, "by": None, "keys": None, "todo": None, "pins": text_of(recorded)}
    record = record_of(seen, found, now, reason, **more)
    names = ", ".join(f"{source.kind.lower()}/{source.name}" for source in sorted(pins))
    return Plan(
        reason,
        f"{reason.sentence}: {names}",
        record,
        _rewriting(seen),
        copies=tuple(sorted(pins.items())),
        pins=text_of(pins),
    )


def _rewriting(seen: Snapshot) -> Strategy:
    """How it counts that only its pins are written."""
    return Strategy.STAMP if seen.kind.replaces_pods else Strategy.NEXT_RUN


def text_of(pins: pin_state.Chosen) -> str:
    return write_pins({(source.kind, source.name): copy for source, copy in pins.items()})
