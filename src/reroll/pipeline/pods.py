"""The pods of a workload that is in trouble: what is wrong with them, and those that are stuck."""

from collections.abc import Iterable

from reroll.core.model.metadata import Manifest, text_at
from reroll.core.observe.workload import Workload
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, NotFound
from reroll.kube.objects import Pod

MOST_NAMED = 3


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


def trouble(pods: Iterable[Pod]) -> tuple[str, bool]:
    """What is wrong with pods that are not ready, and whether any will not start by itself."""
    unready = [pod for pod in pods if not pod.is_ready]
    lines = [f"pod {pod.metadata.name}: {pod.trouble or 'not ready'}" for pod in unready]
    more = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(lines[:MOST_NAMED]) + more, any(pod.trouble for pod in unready)


async def unstick(client: Client, workload: Workload, manifest: Manifest) -> str:
    """Evict pods of a revision that was left and that never became ready; why one stays."""
    current, stays = text_at(manifest, ("status", "updateRevision")), ""
    for pod in await pods_of(client, workload):
        if pod.is_ready or not current or pod.template_hash == current:
            continue
        try:
            await api.evict(client, pod)
        except (NotFound, Conflict):
            continue
        except ApiError as error:
            stays = f"pod {pod.metadata.name} is in the way and cannot be evicted: {error}"
    return stays
