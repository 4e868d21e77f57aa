"""A canary within a workload: its template is the new one, and its partition keeps the other pods.

What has to be put back is in the record, which is written in the same patch: so whoever looks next
knows all of it. Whoever else sets the partition, or takes the pins away, has decided by that.
"""

import msgspec

from reroll.core.decide.actions import Action, Edit, NamePins, Patch, Pin, SetPartition, WriteRecord
from reroll.core.decide.case import Case
from reroll.core.model.canary import pods_of
from reroll.core.model.record import ABORTED, CanaryVerdict, Partition, successor


def partition_for(case: Case) -> int | None:
    """How many pods a canary leaves as they are; `None`: there is no pod that could try anything.

    Never fewer than the partition that it had before: whoever set that wants those pods kept.
    """
    workload, staged = case.snapshot.workload, case.snapshot.staged
    was = staged.was if staged else workload.partition
    size = pods_of(case.snapshot.policy.canary.size, workload.replicas)
    to = max(was, workload.replicas - size)
    return to if to < workload.replicas else None


def begun(case: Case, wanted: str, pins: str) -> tuple[Action, ...]:
    """The template gets these pins, and the partition keeps all pods but those of the canary."""
    workload, staged, to = case.snapshot.workload, case.snapshot.staged, partition_for(case)
    if case.record is None or to is None:
        return ()
    if staged is None:
        template, old = workload.template_hash.hex(), workload.pins_text or ""
        staged = Partition(workload.partition, to, template, old, pins)
    else:
        staged = msgspec.structs.replace(staged, to=to, new=pins)
    canary = CanaryVerdict(wanted, "", case.now, within=staged)
    after = successor(case.record, case.number, canary=canary)
    moved = SetPartition(workload.partition, to)
    return (Patch((WriteRecord(after, unless_held=True), Pin(pins), moved)),)


def is_moved(case: Case) -> bool:
    """Whether somebody else set the partition while its canary ran."""
    staged = case.snapshot.staged
    return staged is not None and case.snapshot.workload.partition != staged.to


def is_over(case: Case) -> bool:
    """Whether it was scaled down, so that no pod of its canary is left."""
    staged = case.snapshot.staged
    return staged is not None and staged.to >= case.snapshot.workload.replicas


def withdrawn(case: Case) -> CanaryVerdict | None:
    """The verdict of somebody else who took its template back while its canary ran."""
    staged, record = case.snapshot.staged, case.record
    if staged is None or record is None or record.canary is None:
        return None
    if case.snapshot.workload.pins_text == (staged.new or None):
        return None
    why = "another writer took its template back"
    return msgspec.structs.replace(record.canary, v=ABORTED, at=case.now, why=why)


def put_back(case: Case, verdict: CanaryVerdict | None) -> tuple[Action, ...]:
    """Template and partition as they were before, with this verdict in the record."""
    staged, record = case.snapshot.staged, case.record
    if staged is None or record is None:
        return ()
    verdict = msgspec.structs.replace(verdict, within=None) if verdict else None
    after = successor(record, case.number, canary=verdict)
    edits: list[Edit] = [WriteRecord(after, unless_held=True), *departitioned(case)]
    if case.snapshot.workload.pins_text != (staged.new or None):
        return (Patch(tuple(edits)),)
    return NamePins(staged.old), Patch((*edits, Pin(staged.old)))


def departitioned(case: Case) -> tuple[Edit, ...]:
    """The partition as it was before a canary; one that somebody else set since stays."""
    staged = case.snapshot.staged
    if staged is None or is_moved(case):
        return ()
    return (SetPartition(staged.to, staged.was),)
