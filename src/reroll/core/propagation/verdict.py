"""The verdict on a rollout: healthy, failed, or stuck for a reason that is not its configuration.

Pure. What depends on time is said together with the time when it is worth another look.
"""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from reroll.core.model.gates import Answer, GateReading
from reroll.core.observe.diagnosis import Diagnosis, Fault, late_diagnosis
from reroll.core.observe.health import Health, State

NO_PROGRESS = timedelta(minutes=10)
"""The deadline where neither a workload nor its controller has one."""
NO_END = timedelta(hours=1)
"""So long a rollout may stand still, whatever deadline its controller has: others may wait for it,
and the turns in a cluster that it has are not for ever."""
LATE = timedelta(seconds=15)
"""A rollout that takes longer has its pods read."""
RARELY = timedelta(minutes=2)
"""The longest time between two readings of them."""
GATES_AGAIN = timedelta(minutes=1)
"""It is looked at when a gate opens; this is in case that was missed."""
LONGEST_WHY = 300


class Verdict(StrEnum):
    HEALTHY = "healthy"
    FAILED = "failed"
    """The configuration is to blame, or may be."""
    STUCK = "stuck"
    """Something else is."""
    UNJUDGED = "unjudged"
    """It is not a rollout of this configuration alone any more."""


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """What is known of one rollout."""

    rolled: datetime
    health: Health | None = None
    done_since: datetime | None = None
    """Since when it has been complete without a sign of sickness.

    Set when its health is first `DONE`. Void when pods are replaced again, when its controller
    gives up, or when a pod that was ready is not any more; not when it is scaled, which adds pods
    that are not ready yet.
    """
    failed_since: datetime | None = None
    """Since when its controller has given up; `None`: not known, or it has not."""
    progressed_at: datetime | None = None
    """When its numbers of pods last changed; `None`: not since the roll.

    A process that has just started cannot know: it gives the time of its first look, since a long
    rollout that goes on must not count as one that stands still.
    """
    grew_at: datetime | None = None
    """When more pods were last wanted than before: these have the whole time, too."""
    soak: timedelta = timedelta()
    deadline: timedelta | None = None
    """From the roll, where one was asked for."""
    gives_up: bool = False
    """Its controller has a deadline of its own: a column of the table of kinds."""
    diagnosis: Diagnosis | None = None
    """Of its pods, when they were last read; `None`: they were not, or may not be."""
    read_at: datetime | None = None
    """When that was tried."""
    gates: tuple[GateReading, ...] = ()
    """All that it soaks behind."""
    was_failed: bool = False
    """That is its verdict so far."""
    left: str = ""
    """What the roll still has to do with pods, one after the other; empty: nothing."""
    lasts: timedelta = timedelta()
    """How long that takes where nothing is in its way."""


class Judgement(msgspec.Struct, frozen=True, gc=False):
    verdict: Verdict | None
    """`None`: not yet."""
    why: str = ""
    look_at: datetime | None = None
    """When time alone may change it; never `None` without a verdict."""
    needs_pods: bool = False
    """Its pods have to be read now. A verdict that is there holds until then."""


def judge(evidence: Evidence, now: datetime) -> Judgement:
    """What a rollout comes to. The same evidence never takes a verdict back later.

    A failed or stuck one may be healthy in the end, when its evidence changes.
    """
    health = evidence.health
    if health is None:
        return Judgement(None, "its status is not known yet", now + LATE)
    if health.state is State.DONE:
        return _lasting(evidence, now) if evidence.left else _soaking(evidence, now)
    diagnosis = evidence.diagnosis
    if diagnosis and diagnosis.fault is Fault.CONFIG:
        return Judgement(Verdict.FAILED, diagnosis.why)
    return _unfinished(evidence, health, now)


def _lasting(evidence: Evidence, now: datetime) -> Judgement:
    """Of one whose pods are well, and are not all new yet, or have not all taken the change."""
    progressed = max(evidence.progressed_at or evidence.rolled, evidence.rolled)
    due = progressed + evidence.lasts + (evidence.deadline or NO_PROGRESS)
    if due <= now:
        return Judgement(Verdict.STUCK, f"{evidence.left} by its deadline", now + RARELY)
    return Judgement(None, evidence.left, due)


def _soaking(evidence: Evidence, now: datetime) -> Judgement:
    done_since = evidence.done_since or now
    measured = [one for one in evidence.gates if one.at is not None and one.at >= done_since]
    for one in measured:
        if one.failed:
            return Judgement(Verdict.FAILED, _sentence(f"gate {one.gate}: {one.why}"))
    since = [one.since for one in measured if one.since] if evidence.was_failed else []
    over = max(done_since, *since) + evidence.soak if since else done_since + evidence.soak
    if over > now:
        return Judgement(None, f"complete; it soaks until {over:%Y-%m-%d %H:%M:%S} UTC", over)
    if len(measured) == len(evidence.gates) and all(map(_is_open, measured)):
        return Judgement(Verdict.HEALTHY)
    return Judgement(None, "complete; it waits for its gates", now + GATES_AGAIN)


def _is_open(one: GateReading) -> bool:
    return one.answer is Answer.OPEN


def _unfinished(evidence: Evidence, health: Health, now: datetime) -> Judgement:
    """Of a rollout that goes on or failed, and of whose pods nothing definite is known."""
    due, again = _due(evidence, health), _next_reading(evidence)
    is_due, diagnosis, read_at = due <= now, evidence.diagnosis, evidence.read_at
    was_read = read_at is not None and read_at >= due
    needs_pods = again <= now or (is_due and not was_read)
    look_at = now + LATE if needs_pods else again
    if is_due and was_read and diagnosis:
        late = late_diagnosis(diagnosis)
        if late.fault is Fault.CONFIG:
            return Judgement(Verdict.FAILED, _sentence(late.why, health.message))
        return Judgement(Verdict.STUCK, _sentence(late.why, health.message), look_at, needs_pods)
    why = _sentence(diagnosis.why if diagnosis else "", health.message)
    if read_at is not None and diagnosis is None:
        why = _sentence(health.message, UNREADABLE_PODS)
    if due > now:
        look_at = min(look_at, due)
    return Judgement(None, why, look_at, needs_pods)


UNREADABLE_PODS = "its pods may not be read, so it cannot be judged; grant `list` on pods"


def _due(evidence: Evidence, health: Health) -> datetime:
    """When it has had time enough, if its controller does not say so before."""
    rolled = evidence.rolled
    if health.state is State.FAILED:
        # Sooner than its own deadline, it speaks of the rollout before: a Deployment that goes
        # back to a ReplicaSet that is there keeps its condition until there is progress.
        own = rolled + timedelta(seconds=health.patience)
        return max(evidence.failed_since or rolled, own)
    progressed = max(evidence.progressed_at or rolled, rolled)
    if evidence.left or (evidence.done_since and not health.replacing):
        # It was complete once. Pods that came later, as by scaling, have a time of their own, and
        # so has each of those that are replaced one after the other.
        return progressed + (evidence.deadline or NO_PROGRESS)
    if evidence.deadline is not None:
        return max(evidence.grew_at or rolled, rolled) + evidence.deadline
    return progressed + (NO_END if evidence.gives_up else NO_PROGRESS)


def _next_reading(evidence: Evidence) -> datetime:
    """At 15 s after the roll, then after 15, 30 and 60 s more, then every two minutes."""
    read_at, rolled = evidence.read_at, evidence.rolled
    if read_at is None:
        return rolled + LATE
    return read_at + min(max(read_at - rolled, LATE), RARELY)


def _sentence(*parts: str) -> str:
    return "; ".join(filter(None, parts))[:LONGEST_WHY]
