"""Canaries that nobody is left to settle: what is so after the controller was removed. Pure."""

from collections.abc import Iterable, Iterator

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.names import several
from reroll.core.model.record import Partition, Record
from reroll.core.tables.annotations import CANARY
from reroll.core.tables.kinds import Canary
from reroll.kube.view import ListedWorkload

CANARIES = Check("canaries")


def judge_canaries(listed: Iterable[ListedWorkload], *, is_led: bool) -> Iterator[Finding]:
    """`is_led`: a controller runs, or may run where nobody looked. It settles them."""
    if is_led:
        return
    beside, within = [], []
    for one in listed:
        key = one.workload.key
        if one.kind.canary is Canary.BESIDE and CANARY in (one.manifest.metadata.labels or {}):
            beside.append(str(key))
        elif staged := _staged(one):
            within.append(f"{key} (its partition is {staged.to}, and was {staged.was})")
    if within:
        yield CANARIES.problem(
            f"no controller runs, so nobody ends the canary of {several(within)}",
            "`reroll abort` and then `reroll sync` of it put it back; or start the controller",
        )
    if beside:
        yield CANARIES.problem(
            f"no controller runs, so nobody removes the canary {several(beside)}",
            "`kubectl delete` it, its workload was never touched; or start the controller",
        )


def _staged(one: ListedWorkload) -> Partition | None:
    record = one.workload.record
    canary = record.canary if isinstance(record, Record) else None
    return canary.within if canary else None
