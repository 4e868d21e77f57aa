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
_LEAVES_PODS = frozenset((Strategy.NOTIFY, Strategy.NEXT_RUN))


def is_open(plan: Plan) -> bool:
    """Whether a plan leaves pods as they are because nothing has changed."""
    return plan.reason in _OPEN


def older_than_content(snapshot: Snapshot, findings: Iterable[Finding]) -> tuple[Key, ...]:
    """The sources that count for a workload and were written after some of its pods started."""
    counted = {reference.source: reference.keys for reference in snapshot.references}
    found = set()
    for finding in findings:
        keys = counted.get(finding.source, frozenset())
        is_used = keys is None or finding.use.keys is None or bool(keys & finding.use.keys)
        if finding.verdict is Verdict.STALE and finding.source in counted and is_used:
            found.add(finding.source)
    return tuple(sorted(found))


def weighed(plan: Plan, snapshot: Snapshot, older: tuple[Key, ...]) -> Plan:
    """The plan, in the words that the evidence allows."""
    if not older or not is_open(plan):
        return plan
    names = ", ".join(str(source) for source in older)
    if proves_pods(snapshot):
        since = f"{plan.message}; {names} was written since, with the content that they have"
        return msgspec.structs.replace(plan, message=since)
    sentence = f"{Reason.PODS_OLDER.sentence}: {names}"
    if plan.reason is Reason.UP_TO_DATE:
        return msgspec.structs.replace(plan, reason=Reason.PODS_OLDER, message=sentence)
    return msgspec.structs.replace(plan, message=f"{plan.message}; {sentence}")


def is_told(plan: Plan) -> bool:
    """Whether a plan tells that pods are older than their configuration."""
    return Reason.PODS_OLDER.sentence in plan.message


def proves_pods(snapshot: Snapshot) -> bool:
    """Whether the record is of a roll: its pods, or those after them, have what it says."""
    record, strategy = snapshot.record, snapshot.policy.strategy_for(snapshot.kind)
    if record is None or record.rolled is None or strategy in _LEAVES_PODS:
        return False
    return record.why != Reason.KEY_LOST.word
