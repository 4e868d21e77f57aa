"""The third chain: may it happen now?

Every roll, unpinning, repair and resumption runs this one chain. A permission is a row: a check,
named for the situation that it finds, and the acts that need it. What a row holds back is looked at
again; it is delayed, never lost.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from reroll.core.decide.approvals import unapproved
from reroll.core.decide.canaries import on_canary
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act
from reroll.core.decide.gating import gated
from reroll.core.decide.plan import Plan, without_action
from reroll.core.decide.spreading import after_others, cooling_down, flapping, no_room, stopped
from reroll.core.decide.standing import Check
from reroll.core.decide.timing import frozen, held_by, source_held, window_closed
from reroll.core.model.names import several
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


class Permission(NamedTuple):
    check: Check
    acts: frozenset[Act]


def contested(case: Case) -> Plan | None:
    """Another tool keeps removing its pins: putting them back would replace pods for ever."""
    until = case.pins.contested_until
    if until is None or case.now >= until:
        return None
    return without_action(Reason.PINS_REMOVED, look_at=until)


def fought_over(case: Case) -> Plan | None:
    """Another writer keeps removing its record: the last one counts, and is put back rarely."""
    until = case.snapshot.restores_at
    if until is None or case.now >= until:
        return None
    return without_action(Reason.RECORD_REMOVED, look_at=until)


def source_missing(case: Case) -> Plan | None:
    """New pods could not start."""
    if not case.comparison.missing:
        return None
    names = several([str(reference.source) for reference in case.comparison.missing])
    return without_action(Reason.SOURCE_MISSING, f": {names}; create it")


def out_of_reach(case: Case) -> Plan | None:
    """A process that is asked to reload could not see the change."""
    snapshot = case.snapshot
    if snapshot.policy.strategy_for(snapshot.kind) is not Strategy.RELOAD:
        return None
    places = [use.how for change in case.comparison.changes for use in _fixed(snapshot, change)]
    if not places:
        return None
    return without_action(Reason.OUT_OF_REACH, f": {several(list(dict.fromkeys(places)))}")


def _fixed(snapshot: Snapshot, change: Change) -> Iterator[Use]:
    """Where a changed source is used so that only a new container gets the change."""
    source, home = change.reference.source, snapshot.workload.key.namespace
    for use in snapshot.workload.uses:
        if use.live or (use.kind, home, use.name) != source:
            continue
        if not change.keys or use.keys is None or change.keys & use.keys:
            yield use


def held(case: Case) -> Plan | None:
    """A person said so; it rolls when the hold is over, with all changes at once."""
    return hold_of(case.snapshot, case.now)


def hold_of(snapshot: Snapshot, now: datetime) -> Plan | None:
    """The hold of a workload, or of everything, if there is one now."""
    for hold, where in (
        (snapshot.cluster_hold, "the whole cluster, `reroll release --all` ends it"),
        (snapshot.policy.hold, ""),
    ):
        if hold is not None and not hold.is_over(now):
            return held_by(hold, where)
    return None


def paused(case: Case) -> Plan | None:
    """The workload is paused or suspended, and not by us."""
    if not case.snapshot.workload.still or case.is_paused_by_us:
        return None
    return without_action(Reason.PAUSED)


def resting(case: Case) -> Plan | None:
    """A workload that cannot be paused gathers changes between two rolls."""
    pause, record = case.pause, case.record
    if pause is None or case.pause_keeps_back or record is None or record.rolled is None:
        return None
    until = record.rolled + pause.period
    return without_action(Reason.RESTING, look_at=until) if case.now < until else None


def debouncing(case: Case) -> Plan | None:
    """Its sources changed a moment ago, and may change again."""
    snapshot, policy = case.snapshot, case.snapshot.policy
    since = snapshot.waiting_since or case.now
    quiet = (snapshot.quiet_since or since) + policy.debounce
    # A workload that asks for more quiet than the limit gets it once.
    until = min(quiet, since + max(policy.debounce, policy.debounce_limit))
    return without_action(Reason.DEBOUNCING, look_at=until) if case.now < until else None


def paced(case: Case) -> Plan | None:
    """As many workloads roll, and are recorded, as the configured rate allows."""
    turn = case.snapshot.turn_at
    if turn is None or case.now >= turn:
        return None
    return without_action(Reason.PACED, look_at=turn)


_ROLLS = frozenset((Act.ROLL,))
_REPLACES = frozenset((Act.ROLL, Act.PIN))
_WRITES = _REPLACES | {Act.UNPIN}
_NEEDS_SOURCES = _REPLACES | {Act.REPAIR, Act.CONTINUE, Act.RECORD_IDLE, Act.RELEASE}
PERMISSION: tuple[Permission, ...] = (
    Permission(contested, frozenset((Act.PIN,))),
    Permission(fought_over, frozenset((Act.RESTORE,))),
    Permission(source_missing, _NEEDS_SOURCES),
    Permission(out_of_reach, _ROLLS),
    Permission(held, _WRITES | {Act.CONTINUE, Act.RECORD_IDLE, Act.BACK, Act.RELEASE}),
    Permission(source_held, _ROLLS | {Act.RECORD_IDLE}),
    Permission(paused, _WRITES | {Act.RELEASE}),
    Permission(stopped, _ROLLS),
    Permission(frozen, _WRITES),
    Permission(window_closed, _WRITES),
    Permission(flapping, _ROLLS),
    Permission(cooling_down, _ROLLS),
    Permission(resting, _REPLACES),
    Permission(debouncing, _WRITES),
    Permission(unapproved, _ROLLS | {Act.RELEASE}),
    Permission(after_others, _ROLLS),
    Permission(no_room, _ROLLS),
    Permission(gated, _ROLLS),
    Permission(on_canary, _ROLLS),
    Permission(paced, _WRITES | {Act.RECORD, Act.RECORD_IDLE, Act.RESTORE, Act.RELEASE}),
)
