"""The pods of a workload that is in trouble: what they say, and those that would be stuck."""

from collections.abc import Iterable

import msgspec

from reroll.core.model.metadata import Manifest, Metadata, text_at
from reroll.core.model.podspec import given
from reroll.core.observe.workload import Workload
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, NotFound

_HASHES = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")
MOST_TOLD = 3


class _Cause(msgspec.Struct, gc=False):
    reason: str = ""


class _ContainerState(msgspec.Struct, gc=False):
    waiting: _Cause | None = None
    terminated: _Cause | None = None


class _ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    name: str
    state: _ContainerState = msgspec.field(default_factory=_ContainerState)
    restart_count: int = 0


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""


class _Status(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class Pod(msgspec.Struct, gc=False):
    metadata: Metadata
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_ready(self) -> bool:
        conditions = given(self.status.conditions)
        return any(one.type == "Ready" and one.status == "True" for one in conditions)

    @property
    def revision(self) -> str:
        """What tells pods of one template from those of another."""
        labels = self.metadata.labels or {}
        return next((labels[name] for name in _HASHES if name in labels), "")

    @property
    def trouble(self) -> str:
        """Why it does not start, in the kubelet's word; nothing if it may still be starting."""
        found = (
            *given(self.status.init_container_statuses), *given(self.status.container_statuses)
        )  # fmt: skip
        for one in found:
            cause = one.state.waiting or one.state.terminated
            if cause and cause.reason not in _STARTING:
                return cause.reason
        return "Failed" if self.status.phase == "Failed" else ""


_STARTING = frozenset(("", "ContainerCreating", "PodInitializing", "Completed"))


class _Pods(msgspec.Struct, gc=False):
    items: list[Pod] | None = None


_pods = msgspec.json.Decoder(_Pods)


async def pods_of(client: Client, workload: Workload) -> list[Pod]:
    """By the workload's selector, the newest first; none if they may not be listed."""
    selector = ",".join(f"{key}={value}" for key, value in workload.selector)
    if not selector:
        return []
    request = wire.list_page(wire.PODS, workload.key.namespace, limit=0, label_selector=selector)
    try:
        found = given(_pods.decode(await client.send(request)).items)
    except ApiError:
        return []
    alive = [pod for pod in found if pod.metadata.deletion_timestamp is None]
    return sorted(alive, key=lambda pod: str(pod.metadata.creation_timestamp), reverse=True)


def told(pods: Iterable[Pod]) -> tuple[str, bool]:
    """What pods say that are not ready, and whether any of them will not start by itself."""
    unready = [pod for pod in pods if not pod.is_ready]
    lines = [f"pod {pod.metadata.name}: {pod.trouble or 'not ready'}" for pod in unready]
    more = f" and {len(lines) - MOST_TOLD} more" if len(lines) > MOST_TOLD else ""
    return ", ".join(lines[:MOST_TOLD]) + more, any(pod.trouble for pod in unready)


async def unstick(client: Client, workload: Workload, manifest: Manifest) -> str:
    """Evict pods of a revision that was left and that never became ready; why one stays."""
    current, stays = text_at(manifest, ("status", "updateRevision")), ""
    for pod in await pods_of(client, workload):
        if pod.is_ready or not current or pod.revision == current:
            continue
        name, uid = pod.metadata.name, pod.metadata.uid
        try:
            await client.send(wire.evict(workload.key.namespace, name, uid=uid))
        except (NotFound, Conflict):
            continue
        except ApiError as error:
            stays = f"pod {name} is in the way and cannot be evicted: {error}"
    return stays
