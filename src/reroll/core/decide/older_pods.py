"""Pods that are older than their configuration though nothing has to be written: told, not rolled.

A record says what the sources held when it was written. One that was written without a roll says
nothing about pods that were there before it: then the times of pods and sources are the evidence.
"""

from collections.abc import Iterable

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.staleness import Finding, Verdict
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

_OPEN = frozenset((Reason.UP_TO_DATE, Reason.ADOPTED, Reason.RECORD_RESTORED))
_ROLLED = "the workload rolled for the current configuration"
_LEAVES_PODS = frozenset((Strategy.NOTIFY, Strategy.NEXT_RUN))


def is_open(plan: Plan) -> bool:
    """Whether a plan leaves pods as they are because nothing has changed."""
    return plan.reason in _OPEN


def older_than_content(snapshot: Snapshot, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The uses that count for a workload, of sources written after a pod of it had started."""
    counted = {reference.source: reference.keys for reference in snapshot.references}
    found = []
    for finding in findings:
        keys = counted.get(finding.source, frozenset())
        is_used = keys is None or finding.use.keys is None or bool(keys & finding.use.keys)
        if finding.verdict is Verdict.STALE and finding.source in counted and is_used:
            found.append(finding)
    return tuple(found)


def sources_of(older: Iterable[Finding]) -> tuple[Key, ...]:
    return tuple(sorted({finding.source for finding in older}))


def weighed(plan: Plan, snapshot: Snapshot, older: tuple[Finding, ...]) -> Plan:
    """The plan, in the words that the evidence allows."""
    if not older or not is_open(plan):
        return plan
    names = ", ".join(str(source) for source in sources_of(older))
    if proves_pods(snapshot):
        return msgspec.structs.replace(plan, message=_since_the_roll(plan, snapshot, older, names))
    sentence = f"{Reason.PODS_OLDER.sentence}: {names}"
    if plan.reason is Reason.UP_TO_DATE:
        return msgspec.structs.replace(plan, reason=Reason.PODS_OLDER, message=sentence)
    return msgspec.structs.replace(plan, message=f"{plan.message}; {sentence}")


def _since_the_roll(plan: Plan, snapshot: Snapshot, older: tuple[Finding, ...], names: str) -> str:
    """A pod that started before the roll is one that the rollout has not replaced yet."""
    rolled = snapshot.record and snapshot.record.rolled
    if rolled and any(finding.started <= rolled for finding in older):
        start = plan.message if plan.reason is not Reason.UP_TO_DATE else _ROLLED
        return f"{start}; pods from before that roll still run, with an older {names}"
    return f"{plan.message}; {names} was written since, with the content that they have"


def is_told(plan: Plan) -> bool:
    """Whether a plan tells that pods are older than their configuration."""
    return Reason.PODS_OLDER.sentence in plan.message


def proves_pods(snapshot: Snapshot) -> bool:
    """Whether the record is of a roll: its pods, or those after them, have what it says."""
    record, strategy = snapshot.record, snapshot.policy.strategy_for(snapshot.kind)
    if record is None or record.rolled is None or strategy in _LEAVES_PODS:
        return False
    return record.why != Reason.KEY_LOST.word
