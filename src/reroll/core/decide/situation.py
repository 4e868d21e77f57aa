"""What is so of one workload: what its pods run, what is recorded, declined and in the way.

The one place where `explain`, `plan`, `sync`, `audit` and `status` get their sentences from, so
that no command contradicts another. A record says what the sources held when it was written. One
that was written without a roll says nothing about pods that were there before it; then the times of
pods and sources are the evidence, and what neither proves is said to be unknown.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.core.decide.permission import hold_of
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.health import Health
from reroll.core.observe.pods import PodFacts, Rollout, rollout
from reroll.core.observe.proof import (
    counted,
    is_settled,
    older_than_content,
    proves_pods,
    sources_of,
)
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.staleness import Finding, Verdict
from reroll.core.policy.durations import ago
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

_OPEN = frozenset((Reason.UP_TO_DATE, Reason.ADOPTED, Reason.RECORD_RESTORED))


class Met(msgspec.Struct, frozen=True, gc=False):
    """What an Event of ours tells: met while a plan was carried out."""

    reason: Reason
    message: str
    at: datetime


class Circumstances(msgspec.Struct, frozen=True, gc=False):
    """What is known of a workload besides its snapshot."""

    pods: tuple[PodFacts, ...] | None = None
    """`None`: pods may not be read."""
    health: Health | None = None
    met: Met | None = None
    """The last of our Events on it, if it tells what stands in the way."""


class PodsHave(StrEnum):
    """What the pods that run have of the current configuration."""

    CURRENT = "current"
    """Proved by the record of a roll that replaced them."""
    YOUNGER = "younger"
    """They started after what they use was last written."""
    RECORDED = "as recorded"
    """Of a recorded roll; a source was written since, and holds what it held then."""
    OLDER = "older"
    REPLACING = "being replaced"
    NONE = "no pods"
    UNKNOWN = "unknown"


class Obstacle(msgspec.Struct, frozen=True, gc=False):
    reason: Reason
    message: str
    at: datetime | None = None


class Situation(msgspec.Struct, frozen=True, gc=False):
    key: Key
    plan: Plan
    """The decision, in the words that the evidence allows."""
    record: Record | None
    have: PodsHave = PodsHave.UNKNOWN
    running: int | None = None
    """Pods that run; `None`: pods may not be read."""
    older: tuple[Finding, ...] = ()
    """Uses of what was written after a pod had started that still runs."""
    settled: tuple[Finding, ...] = ()
    """Uses that are stale by their times, and as recorded by the record, see `is_settled`."""
    declined: tuple[str, ...] = ()
    """Entries of sources that hold what the workload was taken back from."""
    obstacle: Obstacle | None = None
    rollout: Rollout = Rollout()

    @property
    def rolls_on_request(self) -> tuple[Key, ...]:
        """The sources that `reroll sync --stale` rolls it for."""
        return (
            sources_of(self.older) if self.plan.reason is Reason.PODS_OLDER or self._adopts else ()
        )

    @property
    def _adopts(self) -> bool:
        return self.plan.reason in _OPEN and self.have is PodsHave.OLDER

    @property
    def is_notable(self) -> bool:
        """Whether it has to be said though nothing is to be written."""
        return self.plan.reason in _SAID or self._adopts


_SAID = frozenset((Reason.PODS_OLDER, Reason.DECLINED, Reason.SOURCE_MISSING))


def situation(snapshot: Snapshot, plan: Plan, evidence: Circumstances, now: datetime) -> Situation:
    """What is so, by all that is known; `plan` is the decision on `snapshot`."""
    record, pods = snapshot.record, evidence.pods or ()
    goes = rollout(snapshot.kind, evidence.health, pods, record.rolled if record else None)
    stale = [one for pod in pods for one in older_than_content(snapshot, pod.findings)]
    settled = tuple(one for one in stale if is_settled(snapshot, one, goes))
    older = tuple(one for one in stale if one not in settled)
    found = Situation(
        key=snapshot.workload.key,
        plan=plan,
        record=record,
        have=PodsHave.RECORDED if settled and not older else _have(snapshot, evidence, older, goes),
        running=None if evidence.pods is None else sum(pod.runs for pod in pods),
        older=older,
        settled=settled,
        declined=_declined(snapshot, evidence, older),
        obstacle=_obstacle(snapshot, plan, evidence, now),
        rollout=goes,
    )
    return msgspec.structs.replace(found, plan=_worded(snapshot, found, now))


# What its pods have


def _have(
    snapshot: Snapshot, evidence: Circumstances, older: tuple[Finding, ...], goes: Rollout
) -> PodsHave:
    record = snapshot.record
    if older:
        is_under_way = not goes.is_over and snapshot.workload.replaces_pods
        started = max(one.started for one in older)
        is_rolled = record is not None and proves_pods(snapshot) and started <= record.at
        return PodsHave.REPLACING if is_rolled and is_under_way else PodsHave.OLDER
    if evidence.pods is None:  # A container may have restarted by itself, with what came and went.
        return PodsHave.UNKNOWN
    if not any(pod.runs for pod in evidence.pods):
        return PodsHave.NONE
    if proves_pods(snapshot) and goes.is_over and snapshot.workload.replaces_pods:
        return PodsHave.CURRENT
    uses = [one for pod in evidence.pods for one in counted(snapshot, pod.findings)]
    vague = {Verdict.UNKNOWN, Verdict.MISSING}
    is_known = uses and not any(one.verdict in vague for one in uses)
    return PodsHave.YOUNGER if is_known else PodsHave.UNKNOWN


def _declined(
    snapshot: Snapshot, evidence: Circumstances, older: tuple[Finding, ...]
) -> tuple[str, ...]:
    """What was taken back, as long as pods of before run; those that started since have it."""
    record = snapshot.record
    if record is None or not record.declined or compare(snapshot).changes:
        return ()
    if evidence.pods is None:
        return tuple(record.declined)
    sources, home = set(sources_of(older)), snapshot.workload.key.namespace
    entries = {r.entry(home): r.source for r in snapshot.references}
    return tuple(entry for entry in record.declined if entries.get(entry) in sources)


# What stands in the way


def _obstacle(
    snapshot: Snapshot, plan: Plan, evidence: Circumstances, now: datetime
) -> Obstacle | None:
    """What keeps it from rolling now, or would if something changed."""
    if plan.reason.out or plan.reason is Reason.ENDED:
        return None
    if plan.reason.held:
        return Obstacle(plan.reason, plan.message)
    met, record = evidence.met, snapshot.record
    if met and plan.actions and (record is None or met.at >= record.at.replace(microsecond=0)):
        return Obstacle(met.reason, met.message, met.at)
    if missing := compare(snapshot).missing:
        names = several([str(reference.source) for reference in missing])
        sentence = f"{Reason.SOURCE_MISSING.sentence}: {names}; create it"
        return Obstacle(Reason.SOURCE_MISSING, sentence)
    if hold := hold_of(snapshot, now):
        return Obstacle(hold.reason, hold.message)
    if snapshot.workload.still and not (snapshot.policy.pause and snapshot.policy.pause.since):
        return Obstacle(Reason.PAUSED, Reason.PAUSED.sentence)
    return None


# The words


def _worded(snapshot: Snapshot, found: Situation, now: datetime) -> Plan:
    """The plan, in the words that the evidence allows."""
    plan, obstacle = found.plan, found.obstacle
    if plan.reason not in _OPEN:
        return plan
    if obstacle and obstacle.reason is Reason.SOURCE_MISSING:
        return _said(plan, Reason.SOURCE_MISSING, obstacle.message)
    if found.declined:
        names = several(list(found.declined))
        return _said(plan, Reason.DECLINED, f"{Reason.DECLINED.sentence}: {names}")
    if found.have is PodsHave.OLDER and _strategy(snapshot) is not Strategy.NEXT_RUN:
        names = ", ".join(str(source) for source in sources_of(found.older))
        sentence = f"{Reason.PODS_OLDER.sentence}: {names}; {_remedy(snapshot)}"
        return _said(plan, Reason.PODS_OLDER, sentence)
    start = plan.message
    if plan.reason is Reason.UP_TO_DATE:
        start = _start(found, now)
    return _said(plan, plan.reason, "; ".join(filter(None, (start, _pods(snapshot, found)))))


def _said(plan: Plan, reason: Reason, message: str) -> Plan:
    """A plan that writes keeps its reason, and says the rest with it."""
    if plan.actions:
        joined = message if message.startswith(plan.message) else f"{plan.message}; {message}"
        return msgspec.structs.replace(plan, message=joined)
    return msgspec.structs.replace(plan, reason=reason, message=message)


def _strategy(snapshot: Snapshot) -> Strategy:
    return snapshot.policy.strategy_for(snapshot.kind)


def _start(found: Situation, now: datetime) -> str:
    record = found.record
    if found.have is PodsHave.CURRENT:
        return MADE
    if found.have is PodsHave.REPLACING and record:
        return f"it rolled for the current configuration {ago(record.at, now)}"
    if record is None:
        return Reason.UP_TO_DATE.sentence
    return f"{Reason.UP_TO_DATE.sentence} ({record.why}, {ago(record.at, now)})"


MADE = "its pods were made with the current configuration"
_OF_STRATEGY = {
    Strategy.NEXT_RUN: "its next run reads the current configuration",
    Strategy.RELOAD: "a reload was requested from its pods; what they read then is not known",
    Strategy.TRIGGER: "a Job that it starts reads the current configuration",
}
_REMEDIES = {
    Strategy.NOTIFY: "its strategy `notify` replaces nothing, `reroll restart` does",
    Strategy.RELOAD: "a reload changes no environment, `reroll restart` does",
    Strategy.TRIGGER: "they keep what they started with until they end",
}


def _remedy(snapshot: Snapshot) -> str:
    if not snapshot.workload.replaces_pods:
        return "its pods are replaced when they are deleted"
    usual = "nothing rolled them for it, `reroll sync --stale` does"
    return _REMEDIES.get(_strategy(snapshot), usual)


def _pods(snapshot: Snapshot, found: Situation) -> str:
    """What is known of its pods, after what is said of the record."""
    strategy, names = _strategy(snapshot), ", ".join(map(str, sources_of(found.older)))
    if strategy is Strategy.NEXT_RUN:
        rest = f"; pods that run already keep an older {names}" if found.older else ""
        return f"{_OF_STRATEGY[strategy]}{rest}" if not snapshot.kind.fixed else rest.lstrip("; ")
    if found.have is PodsHave.REPLACING:
        return f"pods from before that roll still run, with an older {names}"
    if strategy in _OF_STRATEGY and found.record and found.record.rolled:
        return _OF_STRATEGY[strategy]
    if found.have is PodsHave.RECORDED:
        names = ", ".join(map(str, sources_of(found.settled)))
        return f"{names} was written after its pods started, and holds what it held then"
    return _OF_PODS.get(found.have, "")


_OF_PODS = {
    PodsHave.YOUNGER: "its pods started after what they use was last written",
    PodsHave.NONE: "none of its pods runs",
    PodsHave.UNKNOWN: "whether its pods have it is not known",
}
