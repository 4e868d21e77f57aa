"""The pods by which a rollout is judged, read with one call."""

from reroll.core.model.key import Key
from reroll.core.observe.pod_state import PodState
from reroll.core.observe.workload import Workload
from reroll.core.tables.kinds import Kind, Revisions
from reroll.kube import api, lists, resources
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden
from reroll.kube.objects import controller


async def rollout_pods(
    client: Client, kind: Kind, workload: Workload, runner: Key | None = None
) -> tuple[PodState, ...] | None:
    """All pods of a workload; `None` if they may not be listed, or which they are is not known.

    `kind` is that of the `runner`: the Rollout that runs the template of the workload, if one does.
    Which pods are those of the last roll is for `diagnose` to say. Whether the template was changed
    by another writer since then they do not tell: the newest revision does, see `Reader.history`.
    """
    labels = api.selector(workload.selector)
    place = resources.PODS, workload.key.namespace
    try:
        pods = await lists.extract(client, *place, PodState, _bare, label_selector=labels or None)
    except Forbidden:
        return None
    if kind.members and labels:
        # Its operator owns them, by whatever else it makes: its labels tell.
        return tuple(pods)
    owned = tuple(pod for pod in pods if _is_owned(pod, kind, workload, runner or workload.key))
    return owned if owned or kind.revisions else None


def _bare(pod: PodState) -> PodState:
    lists.shed(pod.metadata)
    return pod


def _is_owned(pod: PodState, kind: Kind, workload: Workload, runner: Key) -> bool:
    owner = controller(pod.metadata)
    if owner is None:
        return False
    if kind.revisions is Revisions.REPLICA_SETS:
        # Named after its owner and a hash, which saves a list of ReplicaSets.
        return owner.kind == "ReplicaSet" and owner.name.rpartition("-")[0] == runner.name
    return owner.uid == workload.uid
