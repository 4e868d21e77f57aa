"""Rolls as trials of what they bring: the verdict, and what is said of it.

Rows of the second chain; `trial_record` has what a roll writes. A verdict is written once, into the
record of the workload; everything else follows from the records of all, see `core.propagation`.
"""

from datetime import datetime, timedelta

import msgspec

from reroll.core.decide.actions import Patch, ReadPods, ReadTemplateWriters, Unstick, WriteRecord
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.gating import readings, soaks_behind
from reroll.core.decide.going_back import UNPINNED, failed_sources, may_go_back, no_way_back
from reroll.core.decide.lateness import GOES_ON
from reroll.core.decide.plan import Plan, without_action
from reroll.core.decide.spreading import after_others, no_room
from reroll.core.decide.trial_record import FINAL
from reroll.core.model.gates import Phase
from reroll.core.model.key import Problem
from reroll.core.model.names import several
from reroll.core.model.record import Record, Trial, successor
from reroll.core.observe.health import State
from reroll.core.propagation.member import KEYED, soak_of, unjudged
from reroll.core.propagation.verdict import (
    LONGEST_WHY,
    UNREADABLE_PODS,
    Evidence,
    Judgement,
    Verdict,
    judge,
)
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

_REASONS = {
    Verdict.HEALTHY: Reason.HEALTHY,
    Verdict.FAILED: Reason.FAILING,
    Verdict.STUCK: Reason.STUCK,
    Verdict.UNJUDGED: Reason.UNJUDGED,
}
_BAD = frozenset((Verdict.FAILED.value, Verdict.STUCK.value))
_LEFT = {
    Strategy.EVICT.value: "its pods were not all evicted",
    Strategy.RELOAD.value: "its pods did not all reload",
}


def on_trial(case: Case) -> Draft | None:
    """It rolled with what its sources hold now, and whether that is healthy is to be found out."""
    record, trial = case.record, case.trial
    if record is None or trial is None or not (may_go_back(case) or _waits(case)):
        return None
    if case.snapshot.staged:
        return None  # Its health is that of its canary.
    known = trial.b if trial.back else trial.v
    if known not in FINAL and trial.of and not trial.sick and _is_unwatched(case):
        return Draft(Act.NOTHING, Plan(Reason.UP_TO_DATE, GOES_ON, (ReadTemplateWriters(),)))
    why_not = unjudged(case.snapshot)
    if _is_foreign(case) and not known and not trial.sick and trial.of:
        # Only who watched it knows that: so it is written down.
        found = Judgement(Verdict.UNJUDGED, why_not)
        return Draft(Act.RECORD, _written(case, record, trial, found))
    if known in FINAL or not trial.of or why_not:
        return _status(case, record, trial)
    found = _judgement(case, record, trial)
    if found.verdict and found.verdict.value != known:
        return Draft(Act.RECORD, _written(case, record, trial, found))
    if found.needs_pods:
        return Draft(Act.NOTHING, Plan(Reason.UP_TO_DATE, GOES_ON, (ReadPods(),)))
    return _status(case, record, trial, found)


def fails(case: Case) -> bool:
    """Whether a roll that is carried out pod by pod has to be judged before it goes on.

    One that failed goes no further than the pods that it reached.
    """
    record, trial = case.record, case.trial
    if record is None or trial is None or not trial.of or unjudged(case.snapshot):
        return False
    facts, known = case.snapshot.rollout, trial.b if trial.back else trial.v
    if known in FINAL or facts is None:
        return False
    found = _judgement(case, record, trial)
    if found.needs_pods or known == Verdict.FAILED:
        return facts.health.state is not State.DONE
    return found.verdict is not None and found.verdict.value != known


def _waits(case: Case) -> bool:
    """Whether it waits for others with a change that comes next.

    It is judged all the same: two that are under way and cannot get on would wait for each other.
    A release waits for nobody, and what it brings is not there yet to be judged.
    """
    return bool(case.comparison.changes and (after_others(case) or no_room(case)))


def next_look(case: Case) -> datetime | None:
    """When time may bring a verdict on what it has, though it waits for something else."""
    record, trial = case.record, case.trial
    if record is None or trial is None or not trial.of or unjudged(case.snapshot):
        return None
    known = trial.b if trial.back else trial.v
    return None if known else _judgement(case, record, trial).look_at


def _status(
    case: Case, record: Record, trial: Trial, found: Judgement | None = None
) -> Draft | None:
    """What there is to say of a trial, and pods that are in its way are removed."""
    if case.comparison.changes:
        return None  # What keeps those back is said instead.
    look_at = found.look_at if found else None
    if trial.left:
        plan = _taken_back(case, record, trial, look_at)
    else:
        plan = _tried(case, trial, found) if found else None
    if plan is None:
        return None
    if found and _may_stick(case, trial):
        plan = msgspec.structs.replace(plan, actions=(Unstick(),))
    return Draft(Act.NOTHING, plan)


def _may_stick(case: Case, trial: Trial) -> bool:
    """Whether pods of the template before may be in the way of the new ones.

    A StatefulSet waits for a pod that is not ready, whatever its template says by now.
    """
    facts, known = case.snapshot.rollout, trial.b if trial.back else trial.v
    if not case.snapshot.kind.sticks or facts is None or facts.health.state is State.DONE:
        return False
    return bool(trial.back and not known) or case.snapshot.diagnosis is not None


def _tried(case: Case, trial: Trial, found: Judgement) -> Plan:
    look_at = found.look_at
    detail = f": {trial.why}" if trial.why else ""
    if trial.v:
        reason, sources = _REASONS[Verdict(trial.v)], failed_sources(case, trial)
        if sources and (why := no_way_back(case, sources)):
            message = f"{reason.sentence}{detail}; there is no way back: {why}"
            return Plan(Reason.ROLLBACK_FAILED, message, look_at=look_at)
        return without_action(reason, detail, look_at=look_at)
    if _is_done(case):
        until = f" until {look_at:%H:%M:%S %Z}" if look_at else ""
        gates = soaks_behind(case)
        if gates and gates.reason is not Reason.GATE_ASKED:
            return msgspec.structs.replace(gates, look_at=look_at)
        return without_action(Reason.SOAKING, until, look_at=look_at)
    why = f": {found.why}" if found.why else ""
    return Plan(Reason.UP_TO_DATE, f"{GOES_ON}{why}", look_at=look_at)


def soaks(case: Case) -> bool:
    """Whether its gates decide on a verdict, though it may wait for something else."""
    record, trial = case.record, case.trial
    if record is None or trial is None or not case.snapshot.policy.pace.gates:
        return False
    if not trial.of or trial.back or record.todo:
        return False
    return trial.v not in FINAL and _is_done(case) and not unjudged(case.snapshot)


def _is_done(case: Case) -> bool:
    facts = case.snapshot.rollout
    return facts is not None and bool(facts.done_since) and facts.health.state is State.DONE


def problems(case: Case) -> tuple[Problem, ...]:
    """That a rollout is late, and its pods may not be read: no verdict comes of that."""
    trial, facts = case.trial, case.snapshot.rollout
    if trial is None or not trial.of or trial.v or facts is None or not facts.is_read:
        return ()
    if case.snapshot.diagnosis is not None or facts.health.state is State.DONE:
        return ()
    return (Problem(f"{case.snapshot.workload.key}: {UNREADABLE_PODS}", Reason.UNJUDGED),)


def _judgement(case: Case, record: Record, trial: Trial) -> Judgement:
    snapshot, facts = case.snapshot, case.snapshot.rollout
    pace, rolled = snapshot.policy.pace, trial.back or record.rolled or record.at
    read_at = facts.read_at if facts else None
    evidence = Evidence(
        health=facts.health if facts else None,
        done_since=facts.done_since if facts else None,
        failed_since=facts.failed_since if facts else None,
        progressed_at=facts.progressed_at if facts else None,
        rolled=rolled,
        soak=timedelta() if trial.back else soak_of(snapshot),
        deadline=pace.deadline,
        diagnosis=snapshot.diagnosis,
        read_at=read_at if read_at and read_at >= rolled else None,
        grew_at=facts.grew_at if facts else None,
        gives_up=snapshot.kind.gives_up,
        gates=() if trial.back else readings(case, Phase.PROGRESSING),
        was_failed=trial.v == Verdict.FAILED.value,
        left=_LEFT.get(record.todo.do, "") if record.todo else "",
        lasts=snapshot.policy.reload.again if record.how == Strategy.RELOAD.value else timedelta(),
    )
    return judge(evidence, case.now)


def _written(case: Case, record: Record, trial: Trial, found: Judgement) -> Plan:
    """The record with the verdict; what it records else stays, and when."""
    verdict = found.verdict or Verdict.STUCK
    if trial.back:
        return _written_back(case, record, trial, verdict, found.why)
    after = msgspec.structs.replace(trial, v=verdict.value, at=case.now, why=found.why)
    reason, detail = _REASONS[verdict], f": {found.why}" if found.why else ""
    if verdict is Verdict.HEALTHY:
        detail = _after(record.rolled, case.now)
    edits = (WriteRecord(successor(record, case.number, trial=after)),)
    return Plan(reason, f"{reason.sentence}{detail}", (Patch(edits),), look_at=_again(case))


def _again(case: Case) -> datetime | None:
    """When it is looked at after its verdict: at once, if it waits for its turn too."""
    return case.now if case.comparison.changes else None


def _written_back(case: Case, record: Record, trial: Trial, verdict: Verdict, why: str) -> Plan:
    """The record with the verdict on what it was taken back to."""
    after = msgspec.structs.replace(trial, b=verdict.value)
    told = why or f"it is healthy again{_after(trial.back, case.now)}"
    reason, detail = Reason.ROLLED_BACK, f": {_joined(_names(case, trial), told)}"
    if verdict.value in _BAD:
        reason, detail = Reason.ROLLBACK_FAILED, f": {why}{_revoked(case, trial)}"
        after = msgspec.structs.replace(after, why=_joined(trial.why, f"taken back: {why}"))
    detail += f"; {UNPINNED}" if record.declined else ""
    edits = (WriteRecord(successor(record, case.number, trial=after)),)
    return Plan(reason, f"{reason.sentence}{detail}", (Patch(edits),), look_at=_again(case))


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))[:LONGEST_WHY]


def _revoked(case: Case, trial: Trial) -> str:
    """What may be wrong with the content that it was taken back to."""
    home = case.snapshot.workload.key.namespace
    names = sorted(
        str(one.source)
        for one in case.snapshot.references
        if one.source.kind in KEYED and one.entry(home) in trial.left
    )
    return f"; what {several(names)} held before may be revoked" if names else ""


def _names(case: Case, trial: Trial) -> str:
    """The sources that it was taken back from."""
    if case.pins.applies:
        return several([f"{one.kind.lower()}/{one.name}" for one in case.pins.chosen])
    return several(sorted(trial.left))


def _after(began: datetime | None, now: datetime) -> str:
    return f", {round((now - began).total_seconds())}s after it rolled" if began else ""


def _taken_back(
    case: Case, record: Record, trial: Trial, look_at: datetime | None = None
) -> Plan | None:
    """It stays where it was taken back to."""
    if case.pins.applies and not case.pins.chosen:
        return None  # A person rolled it forward again.
    is_failed = bool(trial.back) and trial.b in _BAD
    reason = Reason.ROLLBACK_FAILED if is_failed else Reason.ROLLED_BACK
    detail = f": {_joined(_names(case, trial), trial.why)}"
    if is_failed:
        detail += _revoked(case, trial)
    if record.declined:
        detail += f"; {UNPINNED}"
    return without_action(reason, detail, look_at=look_at)


def _is_foreign(case: Case) -> bool:
    facts = case.snapshot.rollout
    return facts is not None and facts.is_foreign


def _is_unwatched(case: Case) -> bool:
    facts = case.snapshot.rollout
    return facts is not None and facts.is_unwatched
