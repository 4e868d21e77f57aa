"""What is so of one workload: what its pods run, what is recorded, declined and in the way.

The one place where every command, `history` and `doctor` among them, and every Event get what they
say of a workload from, so that none contradicts another. A record says what the sources held when
it was written. One that was written without a roll says nothing about pods that were there before
it; then the times of pods and sources are the evidence, and what neither proves is said to be
unknown.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.core.decide.permission import hold_of
from reroll.core.decide.plan import Effect, Plan
from reroll.core.decide.wording import OPEN, worded
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.health import Health
from reroll.core.observe.pods import PodFacts, PodsHave, Progress, Rollout, rollout
from reroll.core.observe.proof import (
    counted,
    is_settled,
    older_than_content,
    proves_pods,
    replaces,
    sources_of,
)
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.staleness import Finding, Verdict
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


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


class Obstacle(msgspec.Struct, frozen=True, gc=False):
    reason: Reason
    message: str
    at: datetime | None = None

    @property
    def detail(self) -> str:
        """What its message says beyond the sentence of its reason."""
        said = self.message.removeprefix(self.reason.sentence).lstrip(":; ").strip()
        if said.startswith("(") and said.endswith(")"):
            said = said[1:-1]
        return said or self.message


class Concern(StrEnum):
    """What people have to know of a workload first: the first that is so."""

    FAILING = "failing"
    DECLINED = "declined"
    BLOCKED = "blocked"
    """Something stands in its way that nobody asked for."""
    OLDER = "older"
    """Pods have an older configuration, and nothing rolls them for it."""
    HELD = "held"
    """Somebody asked for it to wait."""
    NONE = "-"


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
    failed: bool = False
    """A rollout with that failed: until all pods run well with it, or while a revision is held."""
    obstacle: Obstacle | None = None
    rollout: Rollout = Rollout()

    @property
    def is_declined(self) -> bool:
        """Whether its sources hold what it was taken back from, and that is no person's wish."""
        return self.plan.reason is Reason.DECLINED or (
            self.plan.reason is Reason.HELD_AT and self.failed
        )

    @property
    def rolls_on_request(self) -> tuple[Key, ...]:
        """The sources that `reroll sync --stale` rolls it for."""
        return (
            sources_of(self.older) if self.plan.reason is Reason.PODS_OLDER or self._adopts else ()
        )

    @property
    def _adopts(self) -> bool:
        return self.plan.reason in OPEN and self.have is PodsHave.OLDER

    @property
    def is_notable(self) -> bool:
        """Whether it has to be said though nothing is to be written."""
        return self.plan.reason in _SAID or self._adopts

    @property
    def concern(self) -> Concern:
        """For whoever sums up many."""
        reason, obstacle = self.plan.reason, self.obstacle
        if self.rollout.progress is Progress.FAILING:
            return Concern.FAILING
        if self.is_declined or reason in {Reason.ROLLED_BACK, Reason.ROLLBACK_FAILED}:
            return Concern.DECLINED
        if obstacle and obstacle.reason.severity == "Warning" and not obstacle.reason.deliberate:
            return Concern.BLOCKED
        if reason is Reason.PODS_OLDER or (self.plan.actions and self._adopts):
            return Concern.OLDER
        return Concern.HELD if obstacle and obstacle.reason.deliberate else Concern.NONE

    @property
    def last_roll(self) -> str:
        """What became of the roll that its record tells of; empty where that cannot be known."""
        record = self.record
        if record is None or record.rolled is None:
            return ""
        is_back = record.trial is not None and record.trial.back is not None
        if self.declined or self.failed or record.declined or record.held or is_back:
            return "taken back"
        return self.rollout.progress.value if replaces(record) else ""


_SAID = frozenset((Reason.PODS_OLDER, Reason.DECLINED, Reason.SOURCE_MISSING))


def situation(snapshot: Snapshot, plan: Plan, evidence: Circumstances, now: datetime) -> Situation:
    """What is so, by all that is known; `plan` is the decision on `snapshot`."""
    record, pods = snapshot.record, evidence.pods or ()
    since = record.rolled if record else None
    goes = _unfinished(rollout(snapshot.kind, evidence.health, pods, since), record)
    goes = _as_judged(goes, plan)
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
        failed=_failed(snapshot, evidence, goes),
        obstacle=_obstacle(snapshot, plan, evidence, now),
        rollout=goes,
    )
    return msgspec.structs.replace(found, plan=worded(snapshot, found, now))


def reported(snapshot: Snapshot, plan: Plan, now: datetime) -> Plan:
    """A plan that was carried out, as its log line and its Event tell it: nothing is read for that.

    The reason of one that writes stays; what else is so of the workload is said with it. That a
    source is gone which new pods need is said though nothing is to be done.
    """
    if plan.reason not in OPEN:
        return plan
    if not plan.actions:
        missing = _missing(snapshot) if plan.reason is Reason.UP_TO_DATE else None
        if missing is None:
            return plan
        return msgspec.structs.replace(plan, reason=missing.reason, message=missing.message)
    facts = snapshot.rollout
    known = situation(snapshot, plan, Circumstances(None, facts.health if facts else None), now)
    is_missing = known.obstacle and known.obstacle.reason is Reason.SOURCE_MISSING
    return known.plan if known.declined or known.failed or is_missing else plan


_LEFT = {
    Strategy.EVICT.value: "pods from before the change are still to be evicted",
    Strategy.RELOAD.value: "pods are still to be asked to reload",
}


def _unfinished(goes: Rollout, record: Record | None) -> Rollout:
    """The rollout, with what no status shows: pods that the roll has not come to yet."""
    left = _LEFT.get(record.todo.do) if record and record.todo else None
    if left is None or goes.progress is not Progress.COMPLETE:
        return goes
    return Rollout(Progress.PROGRESSING, left)


def _as_judged(goes: Rollout, plan: Plan) -> Rollout:
    """The rollout, by the verdict on it where there is one that its status does not show."""
    if plan.effect is not Effect.FAILING or goes.progress is not Progress.PROGRESSING:
        return goes
    why = plan.message.removeprefix(plan.reason.sentence).lstrip(":; ")
    return Rollout(Progress.FAILING, why or goes.message)


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


def _failed(snapshot: Snapshot, evidence: Circumstances, goes: Rollout) -> bool:
    """Whether content is declined because a rollout failed, until all pods run well with it."""
    record, pods = snapshot.record, evidence.pods
    if record is None or not record.failed or compare(snapshot).changes:
        return False
    second = record.at.replace(microsecond=0)
    of_before = pods is None or any(pod.created and pod.created < second for pod in pods)
    is_open = of_before or not goes.is_over
    return bool(record.held or (record.declined and is_open))


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
    if missing := _missing(snapshot):
        return missing
    if hold := hold_of(snapshot, now):
        return Obstacle(hold.reason, hold.message)
    if snapshot.workload.still and not (snapshot.policy.pause and snapshot.policy.pause.since):
        return Obstacle(Reason.PAUSED, Reason.PAUSED.sentence)
    return None


def _missing(snapshot: Snapshot) -> Obstacle | None:
    """New pods could not start, whether or not something is to roll."""
    if not any(map(snapshot.lacks, snapshot.references)):  # Most lack nothing, at every look.
        return None
    missing = compare(snapshot).missing
    if not missing:
        return None
    names = several([str(reference.source) for reference in missing])
    sentence = f"{Reason.SOURCE_MISSING.sentence}: {names}; create it"
    return Obstacle(Reason.SOURCE_MISSING, sentence)
