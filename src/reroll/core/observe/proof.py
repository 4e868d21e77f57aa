"""What records and times prove of the pods of a workload. Pure."""

from collections.abc import Iterable

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.pods import Rollout
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.staleness import Finding, Verdict
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

_TEMPLATE = frozenset((Strategy.STAMP.value, Strategy.ENV.value, Strategy.RESTART.value))
_PROVING = _TEMPLATE | {Strategy.EVICT.value, Strategy.RECREATE.value}
"""Strategies that replace pods."""


def older_than_content(snapshot: Snapshot, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The uses that count for a workload, of sources written after a pod of it had started."""
    return tuple(one for one in counted(snapshot, findings) if one.verdict is Verdict.STALE)


def counted(snapshot: Snapshot, findings: Iterable[Finding]) -> Iterable[Finding]:
    """The uses that count for a workload."""
    known = {reference.source: reference.keys for reference in snapshot.references}
    for finding in findings:
        keys = known.get(finding.source, frozenset())
        if keys is None or finding.use.keys is None or keys & finding.use.keys:
            yield finding


def sources_of(older: Iterable[Finding]) -> tuple[Key, ...]:
    return tuple(sorted({finding.source for finding in older}))


def replaces(record: Record) -> bool:
    """Whether the roll that a record tells of was to replace pods."""
    return record.rolled is not None and record.how in _PROVING


def proves_pods(snapshot: Snapshot) -> bool:
    """Whether the record is of a rollout: the pods that came of it have what it says."""
    record = snapshot.record
    if record is None or record.declined or record.todo or compare(snapshot).changes:
        return False
    if record.why == Reason.ROLLED_ELSEWHERE.word:
        return True
    return replaces(record) and any(
        reason.proves and reason.word == record.why for reason in Reason
    )


def is_settled(snapshot: Snapshot, finding: Finding, goes: Rollout) -> bool:
    """Whether a pod is of the recorded rollout, and its source holds what it held then.

    What was written since came back to that, or concerns other keys. Kubernetes keeps whole
    seconds, so that a pod of the same second is of the rollout only if that replaced all of them.
    """
    record = snapshot.record
    if record is None or not proves_pods(snapshot) or snapshot.workload.back:
        return False
    if finding.started > record.at:
        return True
    same_second = finding.started >= record.at.replace(microsecond=0)
    return same_second and goes.is_over and record.how in _TEMPLATE
