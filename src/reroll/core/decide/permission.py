"""Gates that put a roll off: what is missing, or who wants it so, or that it is too early."""

from datetime import datetime

from reroll.core.decide import pin_state
from reroll.core.decide.plan import Plan, nothing, written
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


def unread(_: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if not found.unread:
        return None
    names = ", ".join(str(reference.source) for reference in found.unread)
    return Plan(Reason.WAITING, f"{Reason.WAITING.sentence}: {names}")


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


def paused(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    pause = seen.policy.pause
    is_ours = pause is not None and pause.since is not None
    if not seen.workload.still or is_ours:
        return None
    if seen.workload.idle and not pin_state.applies(seen):
        message = "it is suspended and has no pods: those that it starts have what is there then"
        return written(seen, found, now, Reason.RECORDED, message)
    return nothing(Reason.PAUSED)


def resting(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    """What cannot be paused gathers changes between two rolls."""
    pause, record = seen.policy.pause, seen.workload.record
    if pause is None or is_kept_back(seen) or not isinstance(record, Record):
        return None
    until = record.rolled + pause.period if record.rolled else now
    return Plan(Reason.RESTING, Reason.RESTING.sentence, revisit_at=until) if now < until else None


def is_kept_back(seen: Snapshot) -> bool:
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
