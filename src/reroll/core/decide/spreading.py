"""Permissions of a change that propagates: after whom, beside how many, and after what failure."""

from reroll.core.decide.actions import ReadWriters
from reroll.core.decide.case import Case
from reroll.core.decide.plan import Plan, without_action
from reroll.core.decide.timing import is_urgent
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.observe.spread import Spread, named
from reroll.core.tables.reasons import Reason


def stopped(case: Case) -> Plan | None:
    """A workload failed with what it would roll for."""
    for spread in _changed(case):
        if spread.stopped_by is not None:
            return without_action(Reason.STOPPED, f": {spread.blame(_home(case))}")
    return None


def flapping(case: Case) -> Plan | None:
    """Its sources keep changing: the breaker is open until they are quiet, or its time is over."""
    rolls, burst = case.snapshot.policy.pace.max_rolls, case.burst
    if not rolls.number or burst is None or burst.n < rolls.number:
        return None
    quiet = case.snapshot.quiet_since or case.snapshot.waiting_since or case.now
    until = min(quiet + rolls.quiet, burst.since + rolls.period)
    if case.now >= until:
        return None
    sources = tuple(dict.fromkeys(one.reference.source for one in case.comparison.changes))
    writers = case.snapshot.writers
    names = several([_by_whom(source, (writers or {}).get(source, ())) for source in sources])
    message = f"{Reason.FLAPPING.sentence}: {burst.n} rolls since {burst.since:%H:%M:%S %Z}"
    reading = (ReadWriters(sources),) if writers is None and sources else ()
    return Plan(Reason.FLAPPING, f"{message}; {names}", reading, look_at=until)


def _by_whom(source: Key, writers: tuple[str, ...]) -> str:
    return f"{source}, written by {several(list(writers))}" if writers else str(source)


def cooling_down(case: Case) -> Plan | None:
    """The least time between two of its rolls is not over."""
    cooldown, record = case.snapshot.policy.pace.cooldown, case.record
    if not cooldown or record is None or record.rolled is None:
        return None
    trial = record.trial
    if trial is not None and trial.v in {"failed", "stuck"} and trial.back is None:
        return None  # It may be the repair.
    until = record.rolled + cooldown
    changed = (change.reference.source for change in case.comparison.changes)
    if case.now >= until or is_urgent(case.snapshot, changed):
        return None
    detail = f": until {until:%Y-%m-%d %H:%M:%S %Z}"
    return without_action(Reason.COOLING_DOWN, detail, look_at=until)


def after_others(case: Case) -> Plan | None:
    """Workloads of a lower wave are not healthy with it yet."""
    for spread in _changed(case):
        if spread.before is not None and not spread.is_free:
            before = named(spread.before, _home(case))
            detail = f": {before} of wave {spread.before_wave}, for {spread.source}"
            return without_action(Reason.AFTER_OTHERS, detail)
    return None


def no_room(case: Case) -> Plan | None:
    """As many are under way with it as may be at once."""
    for spread in _changed(case):
        if spread.room <= 0 and not spread.is_free:
            detail = f": {_beside(case, spread.beside, spread.moving)}, for {spread.source}"
            return without_action(Reason.CROWDED, detail)
    return _busy(case)


def _busy(case: Case) -> Plan | None:
    """The cluster, its namespace or its exclusive group has as many under way as may be."""
    traffic = case.snapshot.traffic
    if traffic is None or any(spread.is_free for spread in case.snapshot.spreads):
        return None
    limits = traffic.limits
    if traffic.beside is not None:
        name = case.snapshot.policy.pace.exclusive
        detail = f": {traffic.beside} of its exclusive group {name} is under way"
        return without_action(Reason.CROWDED, detail)
    for number, most, where in (
        (traffic.namespace, limits.namespace, "in its namespace"),
        (traffic.cluster, limits.cluster, "in the cluster"),
    ):
        if most and number >= most:
            return without_action(Reason.CROWDED, f": {number} {where}, which is the limit")
    return None


def _beside(case: Case, one: Key | None, number: int) -> str:
    if one is None:
        return f"{number} others"
    name = named(one, _home(case))
    return name if number == 1 else f"{name} and {number - 1} more"


def _home(case: Case) -> str:
    return case.snapshot.workload.key.namespace


def _changed(case: Case) -> list[Spread]:
    """Of the sources that it would roll for."""
    if not case.snapshot.spreads:
        return []
    changed = {change.reference.source for change in case.comparison.changes}
    return [spread for spread in case.snapshot.spreads if spread.source in changed]
