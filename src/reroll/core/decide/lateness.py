"""Rollouts that nobody judges: when one takes too long, and what is said of one that failed.

A row of the second chain; rolls that are on trial are judged in `core.decide.trials`.
"""

from datetime import datetime, timedelta

from reroll.core.decide.actions import ReadPods
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.plan import Plan
from reroll.core.observe.diagnosis import Fault, late_diagnosis
from reroll.core.observe.health import State
from reroll.core.observe.snapshot import Snapshot
from reroll.core.propagation.verdict import NO_PROGRESS, RARELY
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

GOES_ON = "it rolled with the current configuration, and its rollout goes on"
_BY_TEMPLATE = frozenset((Strategy.STAMP, Strategy.ENV, Strategy.RESTART))


def gave_up(case: Case) -> Draft | None:
    """A rollout that nobody judges failed, or takes too long: people are told."""
    record, facts = case.record, case.snapshot.rollout
    if record is None or facts is None or case.snapshot.governed:
        return None
    if case.comparison.changes or case.pins.task or case.is_released:
        return None
    if record.rolled is None or record.declined:
        return None
    due, found, read_at = late_at(case), case.snapshot.diagnosis, facts.read_at
    is_late = due is not None and due <= case.now
    if not is_late and facts.health.state is not State.FAILED:
        return None
    since = (due if is_late else facts.failed_since) or record.rolled
    if found and is_late:
        found = late_diagnosis(found)
    is_stuck = is_late and found is not None and found.fault is Fault.ELSEWHERE
    is_old = read_at is None or read_at < since or (is_stuck and read_at + RARELY <= case.now)
    if (is_late or found is None) and is_old:
        return Draft(Act.NOTHING, Plan(Reason.UP_TO_DATE, GOES_ON, (ReadPods(),)))
    why = "; ".join(filter(None, (found.why if found else "", facts.health.message)))
    reason = Reason.STUCK if is_stuck else Reason.FAILING
    late = read_at + RARELY if is_stuck and read_at else None  # It may turn into a failure.
    return Draft(Act.NOTHING, Plan(reason, f"{reason.sentence}: {why}", late_at=late))


def late_at(case: Case) -> datetime | None:
    """When a rollout that nobody judges takes too long, if its controller does not say so itself.

    One that was complete once is over, whatever became of its pods since; one that another writer
    began is not ours.
    """
    record, snapshot, facts = case.record, case.snapshot, case.snapshot.rollout
    if record is None or record.rolled is None or record.todo or facts is None:
        return None
    if snapshot.governed or snapshot.staged or facts.is_foreign or facts.health.is_over:
        return None
    if facts.health.complete_once and not facts.health.replacing:
        return None
    if snapshot.workload.still or not snapshot.workload.replaces_pods:
        return None
    begun = facts.grew_at if snapshot.policy.pace.deadline else facts.progressed_at
    allowed = _allowed(snapshot)
    return max(begun or record.rolled, record.rolled) + allowed if allowed else None


def late_after(case: Case, plan: Plan) -> datetime | None:
    """When a roll that begins with this plan takes too long, see `late_at`."""
    if plan.strategy not in _BY_TEMPLATE or case.snapshot.governed:
        return None
    allowed = _allowed(case.snapshot)
    return case.now + allowed if allowed else None


def _allowed(snapshot: Snapshot) -> timedelta | None:
    """How long a rollout may take; `None`: its own controller has a deadline."""
    usual = None if snapshot.kind.gives_up else NO_PROGRESS
    return snapshot.policy.pace.deadline or usual
