"""Workloads whose policy of propagation promises less than it seems to. Pure."""

from collections.abc import Iterator, Sequence

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.model.pace import OnFailure
from reroll.core.policy.durations import format_duration
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN

PROPAGATION = Check("propagation")
_REVISIONS = f'set {DOMAIN}revisions: "true" on them'


def judge_paces(paced: Sequence[tuple[Key, Policy]]) -> Iterator[Finding]:
    """`paced`: the workloads that ask for more than all at once."""
    exposed = [(key, policy) for key, policy in paced if not policy.revisions]
    if waiting := [key for key, policy in exposed if _waits(policy)]:
        yield PROPAGATION.note(
            "without revisions, a pod that starts while its workload waits for its turn reads the "
            f"new content already: {_names(waiting)}",
            _REVISIONS,
        )
    if going_back := [key for key, policy in exposed if _goes_back(policy)]:
        yield PROPAGATION.note(
            "without revisions, a pod that starts after a rollback reads the content that failed: "
            f"{_names(going_back)}",
            _REVISIONS,
        )
    if hasty := [f"{key} ({_times(policy)})" for key, policy in paced if _is_hasty(policy)]:
        yield PROPAGATION.warning(
            f"the deadline of a rollout is shorter than its soak time: {several(hasty)}",
            f"raise {DOMAIN}deadline, or lower {DOMAIN}soak",
        )
    if paced and not (waiting or going_back or hasty):
        yield PROPAGATION.ok("nothing about waves, rollback and deadlines is in doubt")


def _waits(policy: Policy) -> bool:
    pace = policy.pace
    return bool(pace.wave or pace.max_parallel.is_limited or pace.exclusive)


def _goes_back(policy: Policy) -> bool:
    return policy.pace.on_failure is OnFailure.ROLLBACK


def _is_hasty(policy: Policy) -> bool:
    pace = policy.pace
    return pace.deadline is not None and pace.deadline < pace.soak


def _times(policy: Policy) -> str:
    pace = policy.pace
    deadline = format_duration(pace.deadline) if pace.deadline else "none"
    return f"deadline {deadline}, soak {format_duration(pace.soak)}"


def _names(keys: Sequence[Key]) -> str:
    return several([str(key) for key in keys])
