"""The permission of a canary: a few pods try what a workload would roll with, and are judged.

What it tries is named by a digest of the contents and of the template, so another change of either
is another canary. A failure is written into the record; all else follows from what is there. Where
these pods are is a column of the table of kinds: beside the workload, or within it.
"""

from collections.abc import Callable

import msgspec

from reroll.core.decide import partitions
from reroll.core.decide.actions import (
    Action,
    MakeCanary,
    MakeCopies,
    NamePins,
    NoteCanary,
    ReadCanaryPods,
    RemoveCanary,
    StayOn,
    Unstick,
)
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.gating import readings, soaks_behind
from reroll.core.decide.pin_state import text_of
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.canary import canary_name
from reroll.core.model.gates import Phase
from reroll.core.model.key import Problem
from reroll.core.model.record import PROMOTED, CanaryVerdict, successor
from reroll.core.observe.health import State
from reroll.core.observe.snapshot import CanaryFacts, Snapshot
from reroll.core.propagation.member import soak_of
from reroll.core.propagation.verdict import NO_PROGRESS, Evidence, Judgement, Verdict, judge
from reroll.core.tables.annotations import CANARY
from reroll.core.tables.kinds import Canary
from reroll.core.tables.reasons import Reason

KEPT = frozenset(
    (Reason.ON_CANARY, Reason.PACED, Reason.AFTER_OTHERS, Reason.CROWDED, Reason.DEBOUNCING,
     Reason.WAITING, Reason.LOOKING_BACK, Reason.GATE_ASKED, Reason.GATE_CLOSED,
     Reason.GATE_UNKNOWN)
)  # fmt: skip
"""What a workload waits for while its canary stays; with any other reason it is settled."""
_LEFT_ALONE = frozenset((Reason.HELD, Reason.ENDED))
"""With these nothing is written to a workload, not even to put its canary back."""


def problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    """Why a workload that asks for a canary gets none."""
    if not snapshot.policy.enabled or not snapshot.policy.canary.is_asked:
        return ()
    why = _why_not(snapshot)
    if not why and not snapshot.policy.revisions:
        why = "it has no revisions, so its pods and those of a canary would read the same"
    if not why:
        return ()
    where = f"annotation {CANARY} for {snapshot.workload.key}"
    return (Problem(f"{where}: {why}; it rolls without a canary"),)


def _why_not(snapshot: Snapshot) -> str:
    """Why there can be no canary of it; nothing if there can."""
    if not snapshot.kind.canary:
        return snapshot.kind.no_canary
    if not snapshot.workload.replaces_pods:
        return "its update strategy OnDelete replaces no pod by itself"
    return ""


def on_canary(case: Case) -> Plan | None:
    """Its canary has not shown yet that what it would roll with is healthy."""
    snapshot, record = case.snapshot, case.record
    if not snapshot.policy.canary.is_asked or _why_not(snapshot) or not case.pins.applies:
        return None
    known, facts = record.canary if record else None, snapshot.canary
    if known is not None and known.v and known.of == case.canary_id:
        return None if known.v == PROMOTED else _stopped(case, known)
    if partitions.is_moved(case):
        return None
    if verdict := partitions.withdrawn(case):
        return _stopped(case, verdict)
    if facts is None or (snapshot.staged and (partitions.is_over(case) or not case.is_tried)):
        return _begun(case)
    if facts.of != case.canary_id:
        gone = () if facts.is_going else (RemoveCanary(),)
        return Plan(Reason.ON_CANARY, f"{_SAYS}: that of an earlier one goes first", gone)
    if facts.is_going:
        return without_action(Reason.ON_CANARY)
    return _judged(case, facts)


def tries_nothing(case: Case) -> Draft | None:
    """A canary runs within it, and its configuration is again what its other pods have."""
    if not case.snapshot.staged or case.comparison.changes:
        return None
    message = f"{_SAYS}: that is over, and it is put back as it was"
    return Draft(Act.BACK, Plan(Reason.ON_CANARY, message, partitions.put_back(case, None)))


def tidied(case: Case, plan: Plan) -> Plan:
    """The plan; a canary within a workload that does not wait for it any more is put back."""
    if plan.actions or plan.reason in KEPT | _LEFT_ALONE or not case.snapshot.staged:
        return plan
    return msgspec.structs.replace(plan, actions=partitions.put_back(case, None))


_SAYS = Reason.ON_CANARY.sentence


def _begun(case: Case) -> Plan | None:
    snapshot = case.snapshot
    pins, _ = case.pins.rolled(snapshot, case.comparison)
    text = text_of(pins)
    begins, where = _BEGIN[snapshot.kind.canary](case, text)
    if not begins:
        return None
    if later := _unfinished(case):
        return later
    if snapshot.turn_at is not None and case.now < snapshot.turn_at:
        return without_action(Reason.PACED, look_at=snapshot.turn_at)
    copies = MakeCopies(tuple(sorted(pins.items())))
    message = f"{_SAYS}: {snapshot.policy.canary.size} {where}"
    return Plan(Reason.ON_CANARY, message, (StayOn(), copies, NamePins(text), *begins))


def _unfinished(case: Case) -> Plan | None:
    """A rollout of its own is under way, which a partition would take back in part.

    A StatefulSet makes every pod below its partition anew from the template before, and there may
    be a reason why that was left. One that does not get on is not waited for.
    """
    snapshot, facts = case.snapshot, case.snapshot.rollout
    if snapshot.kind.canary is not Canary.PARTITION or snapshot.staged or facts is None:
        return None
    if facts.health.state is State.DONE or facts.health.complete_once:
        return None
    until = (facts.progressed_at or case.now) + (snapshot.policy.pace.deadline or NO_PROGRESS)
    if case.now >= until:
        return None
    detail = f": it begins after the rollout that is under way: {facts.health.message}"
    return without_action(Reason.ON_CANARY, detail, look_at=until)


Beginning = tuple[tuple[Action, ...], str]
"""What begins a canary, and where it is."""


def _beside(case: Case, pins: str) -> Beginning:
    made = MakeCanary(case.canary_id, pins, case.snapshot.policy.canary.size)
    return (made,), f"in {canary_name(case.snapshot.workload.key.name)}"


def _within(case: Case, pins: str) -> Beginning:
    """Nothing, where the template stays as it is: no pod of it would be another than before."""
    if pins == (case.snapshot.pins_text or ""):
        return (), ""
    where = f"by partition {partitions.partition_for(case)}"
    return partitions.begun(case, case.canary_id, pins), where


_BEGIN: dict[Canary, Callable[[Case, str], Beginning]] = {
    Canary.BESIDE: _beside,
    Canary.PARTITION: _within,
}


def _judged(case: Case, facts: CanaryFacts) -> Plan | None:
    found = _judgement(case, facts)
    if found.verdict is Verdict.HEALTHY:
        if not case.snapshot.policy.canary.manual:
            return None
        message = f"{_SAYS}: it is healthy, and waits for `reroll promote` or `reroll abort`"
        return Plan(Reason.ON_CANARY, message, calls=True)
    if found.verdict is Verdict.FAILED and case.record is not None:
        verdict = CanaryVerdict(facts.of, found.verdict.value, case.now, found.why)
        plan = _stopped(case, verdict)
        after = successor(case.record, case.number, canary=verdict)
        return plan if plan.actions else msgspec.structs.replace(plan, actions=(NoteCanary(after),))
    doing: tuple[Action, ...] = (ReadCanaryPods(),) if found.needs_pods else ()
    if not doing and facts.diagnosis and _may_stick(case):
        doing = (Unstick(),)
    why, asks = f": {found.why}" if found.why else "", None
    if case.snapshot.policy.pace.gates and _is_done(facts):
        gates, asks = soaks_behind(case), Phase.PROGRESSING
        why += f"; {gates.message}" if gates and gates.reason is not Reason.GATE_ASKED else ""
    return Plan(Reason.ON_CANARY, f"{_SAYS}{why}", doing, look_at=found.look_at, asks=asks)


def _is_done(facts: CanaryFacts) -> bool:
    return facts.rollout is not None and facts.rollout.health.state is State.DONE


def _stopped(case: Case, verdict: CanaryVerdict) -> Plan:
    """It keeps what it has; a canary within it is put back, and pods of it that stick go."""
    snapshot = case.snapshot
    name = canary_name(snapshot.workload.key.name)
    canary = f"its canary {name}" if snapshot.kind.canary is Canary.BESIDE else "its canary"
    why = f": {verdict.why}" if verdict.why else ""
    detail = f": {canary} {verdict.v}{why}; `reroll promote` rolls it anyway"
    actions = partitions.put_back(case, verdict)
    if not actions and _may_stick(case):
        actions = (Unstick(),)
    return msgspec.structs.replace(without_action(Reason.STOPPED, detail), actions=actions)


def _may_stick(case: Case) -> bool:
    """Whether a sick pod of a template that was left may be in the way of the pods of the new one.

    A StatefulSet waits for it, whatever its template says by now.
    """
    facts = case.snapshot.rollout
    return case.snapshot.kind.sticks and facts is not None and facts.health.replacing


def _judgement(case: Case, facts: CanaryFacts) -> Judgement:
    rollout, snapshot = facts.rollout, case.snapshot
    read_at = rollout.read_at if rollout else None
    evidence = Evidence(
        rolled=facts.made,
        health=rollout.health if rollout else None,
        done_since=rollout.done_since if rollout else None,
        failed_since=rollout.failed_since if rollout else None,
        progressed_at=rollout.progressed_at if rollout else None,
        grew_at=rollout.grew_at if rollout else None,
        soak=soak_of(snapshot, {change.entry for change in case.comparison.changes}),
        deadline=snapshot.policy.pace.deadline,
        gives_up=snapshot.kind.gives_up,
        diagnosis=facts.diagnosis,
        read_at=read_at if read_at and read_at >= facts.made else None,
        gates=readings(case, Phase.PROGRESSING),
    )
    return judge(evidence, case.now)
