"""The gates of a workload: open before it rolls, and while it soaks."""

from collections.abc import Iterable

import msgspec

from reroll.core.decide.case import Case
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.gates import Answer, GateReading, Phase
from reroll.core.propagation.member import repairs
from reroll.core.propagation.verdict import Verdict
from reroll.core.tables.reasons import Reason

_REASONS = {
    Answer.CLOSED: Reason.GATE_CLOSED,
    Answer.UNKNOWN: Reason.GATE_UNKNOWN,
    None: Reason.GATE_ASKED,
}
"""In the order in which they are told."""


def gated(case: Case) -> Plan | None:
    """One of its gates is closed, or does not tell."""
    if not case.snapshot.policy.pace.gates or _is_repair(case):
        return None
    if case.snapshot.policy.canary.is_asked and case.is_tried:
        return None  # It was let through, and its canary soaks behind them.
    return _told(readings(case, Phase.WAITING), Phase.WAITING)


def soaks_behind(case: Case) -> Plan | None:
    """What there is to say of its gates while it soaks; `None`: all are open, or it has none."""
    return _told(readings(case, Phase.PROGRESSING), Phase.PROGRESSING, " while it soaks")


def readings(case: Case, phase: Phase) -> tuple[GateReading, ...]:
    """Of all gates that it names, for one of the times when they are asked."""
    known = {one.gate: one for one in case.snapshot.gates if one.phase in {None, phase}}
    names = case.snapshot.policy.pace.gates
    return tuple(known.get(name) or GateReading(name) for name in names)


def _told(found: Iterable[GateReading], phase: Phase, when: str = "") -> Plan | None:
    by_answer = {one.answer: one for one in reversed(tuple(found))}
    for answer, reason in _REASONS.items():
        if one := by_answer.get(answer):
            why = f": {one.why}" if one.why else ""
            plan = without_action(reason, f": {one.gate}{when}{why}")
            return msgspec.structs.replace(plan, asks=phase)
    return None


def _is_repair(case: Case) -> bool:
    """Whether it is not healthy as it is: then a gate may be closed for that very reason."""
    trial = case.trial
    if trial is not None and trial.back and trial.b == Verdict.HEALTHY.value:
        return False
    return repairs(case.snapshot, case.record)
