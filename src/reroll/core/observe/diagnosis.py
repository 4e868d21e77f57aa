"""What is wrong with a rollout, by its new pods, and whether the configuration can be to blame.

Pure. All that is known of what kubelets, schedulers and controllers say is one table, `SIGNS`.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from reroll.core.model.podspec import given
from reroll.core.observe.pod_state import Container, PodState


class Fault(StrEnum):
    CONFIG = "config"
    """A definite failure of new pods: what they run with is to blame."""
    ELSEWHERE = "elsewhere"
    """Something else keeps them from running."""
    NONE = "none"
    """Nothing is wrong so far."""


class Diagnosis(msgspec.Struct, frozen=True, gc=False):
    fault: Fault
    why: str = ""
    """One sentence: the pod, its container, the reason and the exit code; never output."""
    all_ready: bool = False
    """Every new pod is ready: if the rollout is not over, it waits for something else."""


class Where(StrEnum):
    """Where a sign is in a status."""

    WAITING = "a container that waits, by its reason"
    ENDED = "a container that is not ready and ended before, by the reason of its last end"
    POD = "a pod, by the reason of its status"
    CONDITION = "a condition of a pod, by type and status, or by type, status and reason"


ANY = "*"
"""A word that ends with it stands for all that begin so."""


class Sign(msgspec.Struct, frozen=True):
    """A row: what a status says, and what that means."""

    where: Where
    word: str
    fault: Fault
    says: str = ""
    """A part of the kubelet's message, where the reason alone does not tell."""
    beside: str = ""
    """A condition of the pod that has to be true as well."""
    restarts: int = 0
    """At least so many."""
    after: timedelta = timedelta()
    """Only of a pod that is as old as this."""
    named: str = ""
    """What people call it, if the word is not for them."""
    quoted: bool = False
    """The kubelet's message names the missing key or object, so it is told."""


LONG = timedelta(minutes=1)
LONGEST_MESSAGE = 200
_W, _E, _P, _C = Where
_CONFIG, _ELSEWHERE, _ = Fault

SIGNS: tuple[Sign, ...] = (
    Sign(_W, "CrashLoopBackOff", _CONFIG),
    # The kubelet could not ask the API server, or the image and the template contradict each other.
    Sign(_W, "CreateContainerConfigError", _ELSEWHERE, says="failed to sync"),
    Sign(_W, "CreateContainerConfigError", _ELSEWHERE, says="runAsNonRoot"),
    Sign(_W, "CreateContainerConfigError", _ELSEWHERE, says="subPath"),
    Sign(_W, "CreateContainerConfigError", _CONFIG, quoted=True),
    Sign(_W, "ErrImagePull", _ELSEWHERE),
    Sign(_W, "ImagePullBackOff", _ELSEWHERE),
    Sign(_W, "ErrImageNeverPull", _ELSEWHERE),
    Sign(_W, "ImageInspectError", _ELSEWHERE),
    Sign(_W, "InvalidImageName", _ELSEWHERE),
    Sign(_W, "RegistryUnavailable", _ELSEWHERE),
    Sign(_W, "SignatureValidationFailed", _ELSEWHERE),
    Sign(_W, "ImageVolumeMountFailed", _ELSEWHERE),
    Sign(_W, "CreateContainerError", _ELSEWHERE),
    Sign(_W, "PreCreateHookError", _ELSEWHERE),
    Sign(_W, "PreStartHookError", _ELSEWHERE),
    Sign(_W, "CreatePodSandboxError", _ELSEWHERE),
    Sign(_W, "ConfigPodSandboxError", _ELSEWHERE),
    Sign(_W, "ContainerCreating", _ELSEWHERE, after=LONG),

    # The node lost the container, so its exit code is made up.
    Sign(_E, "ContainerStatusUnknown", _ELSEWHERE),
    # A container that liveness probes kill may end with 0, and the reason `Completed`.
    Sign(_E, ANY, _CONFIG, restarts=2),

    Sign(_P, "Evicted", _ELSEWHERE),
    Sign(_P, "NodeLost", _ELSEWHERE),
    Sign(_P, "NodeShutdown", _ELSEWHERE),
    Sign(_P, "Shutdown", _ELSEWHERE),
    Sign(_P, "Terminated", _ELSEWHERE),
    Sign(_P, "Preempting", _ELSEWHERE),
    Sign(_P, "NodeAffinity", _ELSEWHERE),
    Sign(_P, "OutOf" + ANY, _ELSEWHERE),
    Sign(_P, "UnexpectedAdmissionError", _ELSEWHERE),
    Sign(_P, "TopologyAffinityError", _ELSEWHERE),

    Sign(_C, "PodScheduled=False Unschedulable", _ELSEWHERE, named="Unschedulable"),
    Sign(_C, "PodScheduled=False SchedulingGated", _ELSEWHERE, named="SchedulingGated"),
    Sign(_C, "PodScheduled=False SchedulerError", _ELSEWHERE, named="SchedulerError"),
    Sign(_C, "DisruptionTarget=True" + ANY, _ELSEWHERE, named="it is being disrupted"),
    # The control plane marks the pods of a node that it does not hear of; kubelets give a reason.
    Sign(
        _C, "Ready=False", _ELSEWHERE, beside="ContainersReady", named="its node is not ready"
    ),
    # Volumes and the network come before any container; one with init containers waits for both
    # under the same word.
    Sign(
        _C, "PodReadyToStartContainers=False" + ANY, _ELSEWHERE, after=LONG,
        named="its volumes or its network are not ready",
    ),
)  # fmt: skip


def diagnose(pods: Iterable[PodState], unmade: str, *, since: datetime, now: datetime) -> Diagnosis:
    """What the pods made `since` the roll tell; `unmade`: see `Health`.

    Pods that leave do not count. A failure that the configuration is to blame for is said before
    all others.
    """
    new = [pod for pod in pods if pod.is_since(since) and not pod.is_leaving]
    new.sort(key=lambda pod: pod.metadata.name)
    by_fault: dict[Fault, str] = {}
    for pod in new:
        for fault, why in _signs(pod, now):
            by_fault.setdefault(fault, f"pod {pod.metadata.name}: {why}")
    if unmade:
        by_fault.setdefault(Fault.ELSEWHERE, f"pods cannot be made: {unmade[:LONGEST_MESSAGE]}")
    if not new:
        by_fault.setdefault(Fault.ELSEWHERE, "no pod has been made since the roll")
    for fault in (Fault.CONFIG, Fault.ELSEWHERE):
        if fault in by_fault:
            return Diagnosis(fault, by_fault[fault])
    unready = next((pod.metadata.name for pod in new if not pod.is_ready), None)
    return Diagnosis(Fault.NONE, f"pod {unready}: not ready" if unready else "", unready is None)


def late_diagnosis(diagnosis: Diagnosis) -> Diagnosis:
    """The same of a rollout that had time enough.

    A pod that is not ready by now has failed. If all new ones are ready it is no failure of theirs,
    so the configuration is not to blame.
    """
    if diagnosis.fault is not Fault.NONE:
        return diagnosis
    if diagnosis.all_ready:
        return Diagnosis(Fault.ELSEWHERE, "its new pods are ready, and its rollout is not over")
    return Diagnosis(Fault.CONFIG, f"{diagnosis.why} by its deadline")


def _signs(pod: PodState, now: datetime) -> Iterator[tuple[Fault, str]]:
    """What the table says of one pod; containers first, which tell the most."""
    status, made = pod.status, pod.metadata.creation_timestamp
    # The clock of the API server may be ahead of ours.
    age = max(now - made, timedelta()) if made else timedelta()
    for one in given(status.init_container_statuses):
        yield from _container_signs(one, age, is_init=True)
    for one in given(status.container_statuses):
        yield from _container_signs(one, age)
    if sign := _row(Where.POD, status.reason, age):
        yield sign.fault, sign.word if ANY not in sign.word else status.reason
    for condition in given(status.conditions):
        word = f"{condition.type}={condition.status} {condition.reason}".rstrip()
        sign = _row(Where.CONDITION, word, age)
        if sign and (not sign.beside or pod.has(sign.beside)):
            yield sign.fault, sign.named


def _container_signs(
    container: Container, age: timedelta, *, is_init: bool = False
) -> Iterator[tuple[Fault, str]]:
    end, waiting = container.last_end, container.state.waiting
    code = "" if end is None or end.exit_code is None else f" (exit {end.exit_code})"
    what = f"container {container.name}: "
    if waiting and (sign := _row(Where.WAITING, waiting.reason, age, message=waiting.message)):
        quote = f": {waiting.message[:LONGEST_MESSAGE]}" if sign.quoted and waiting.message else ""
        yield sign.fault, f"{what}{waiting.reason}{code}{quote}"
        return
    # An init container that ended well runs again whenever its pod gets a new sandbox.
    if end is None or container.ready or (is_init and not end.exit_code):
        return
    if sign := _row(Where.ENDED, end.reason, age, restarts=container.restart_count):
        yield sign.fault, f"{what}{end.reason or 'ended'}{code}{_often(container.restart_count)}"


def _often(restarts: int) -> str:
    if restarts < 2:
        return ", restarted once" if restarts else ""
    return f", restarted {restarts} times"


def _row(
    where: Where, word: str, age: timedelta, *, message: str = "", restarts: int = 0
) -> Sign | None:
    """The first row that fits."""
    for sign in SIGNS:
        if (
            sign.where is where
            and _fits(sign.word, word)
            and sign.says in message
            and restarts >= sign.restarts
            and age >= sign.after
        ):
            return sign
    return None


def _fits(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith(ANY) else word == pattern
