"""Pods of a template that was left, and that are in the way of the pods of the new one.

A StatefulSet waits until a pod is ready before it replaces it, even if that pod can never be.
"""

from collections.abc import Awaitable, Callable

from reroll.core.decide.actions import Unstick
from reroll.core.model.key import Key
from reroll.core.model.metadata import Fields, Manifest, text_at
from reroll.core.model.names import ordinal
from reroll.core.observe.progress import is_observed
from reroll.core.observe.workload import Workload
from reroll.core.tables.kinds import Kind
from reroll.core.tables.reasons import Reason
from reroll.engine.outcome import Blocked, Later, Step, Turn
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, NotFound
from reroll.kube.objects import Pod

LOOK_AGAIN = 2.0
"""Seconds until it is worth looking for others: its controller makes one pod after the other."""
RARELY = 30.0


async def pods_of(client: Client, workload: Workload) -> list[Pod]:
    """By the workload's selector, the newest first; none if they may not be listed."""
    labels = api.selector(workload.selector)
    if not labels:
        return []
    try:
        pods = await api.every(
            client, resources.PODS, workload.key.namespace, Pod, label_selector=labels
        )
    except ApiError:
        return []
    alive = [pod for pod in pods if not pod.is_leaving]
    return sorted(alive, key=lambda pod: str(pod.metadata.creation_timestamp), reverse=True)


async def unstick(client: Client, workload: Workload, manifest: Manifest) -> str:
    """Evict pods of a revision that was left and that never became ready; why one stays."""
    current, stays = text_at(manifest, ("status", "updateRevision")), ""
    if not is_observed(manifest.status, manifest.metadata.generation):
        return ""  # That is the revision before.
    first = Fields(manifest).number(("spec", "ordinals", "start")) + workload.partition
    for pod in await pods_of(client, workload):
        if pod.is_ready or not current or pod.template_hash == current:
            continue
        if ordinal(pod.metadata.name) < first:
            continue  # A partition keeps it as it is.
        try:
            await api.evict(client, pod)
        except (NotFound, Conflict):
            continue
        except ApiError as error:
            stays = f"pod {pod.metadata.name} is in the way and cannot be evicted: {error}"
    return stays


class StuckPods:
    """`fetch(kind, key)`: a workload as it is now."""

    def __init__(
        self, client: Client, fetch: Callable[[Kind, Key], Awaitable[Manifest | None]]
    ) -> None:
        self._client, self._fetch = client, fetch

    async def step(self, turn: Turn, _: Unstick) -> Step:
        """Never done by itself: the next look finds out whether any are left."""
        kind, workload = turn.snapshot.kind, turn.snapshot.workload
        manifest = await self._fetch(kind, workload.key)
        if manifest is None:
            return Later(LOOK_AGAIN)
        if stays := await unstick(self._client, workload, manifest):
            reason = Reason.EVICTION_REFUSED
            return Blocked(reason, f"{reason.sentence}: {stays}", RARELY)
        return Later(LOOK_AGAIN)
