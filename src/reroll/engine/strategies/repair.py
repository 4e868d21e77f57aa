"""Undoes what another tool did to keep pods from starting.

Each step looks at what is there and does what is still missing; the annotation that the other tool
left stays until the last one, so a controller that ends in between goes on where it stopped.
"""

import msgspec

from reroll.core.decide import actions
from reroll.core.model.metadata import Manifest, pick, value_in
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Repair
from reroll.core.tables.kinds import Kind
from reroll.core.write.patches import Operation, pointer
from reroll.engine.outcome import Done, Later, Step, Turn
from reroll.engine.world import World
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Invalid, NotFound, Throttled
from reroll.kube.objects import Pod, is_owned_by

LOOK_AGAIN = 1.0


class PodWithSpec(Pod, gc=False):
    spec: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class Repairs:
    def __init__(self, client: Client, world: World) -> None:
        self._client, self._world = client, world

    async def step(self, turn: Turn, action: actions.Repair) -> Step:
        """The template first, then the pods that nothing else would replace, then the mark."""
        snapshot, repair = turn.snapshot, action.repair
        manifest = await self._read(snapshot)
        if (manifest.metadata.annotations or {}).get(repair.annotation) != repair.text:
            self._world.workload_seen(snapshot.kind, manifest)
            return Later(LOOK_AGAIN)
        if _field(manifest, snapshot.kind, repair) == repair.broken:
            answer = await self._patch(snapshot, manifest, repair, _mend(snapshot.kind, repair))
            self._world.workload_seen(snapshot.kind, answer, watched=True)
            return Done(again=0.0)
        if await self._unstick(snapshot.workload, repair):
            return Later(LOOK_AGAIN)
        clear = [{"op": "remove", "path": pointer("metadata", "annotations", repair.annotation)}]
        answer = await self._patch(snapshot, manifest, repair, clear)
        self._world.workload_seen(snapshot.kind, answer)
        return Later(0.0)

    async def _read(self, snapshot: Snapshot) -> Manifest:
        key = snapshot.workload.key
        place = resources.of(snapshot.kind), key.namespace, key.name
        return await api.get(self._client, *place, Manifest)

    async def _patch(
        self, snapshot: Snapshot, manifest: Manifest, repair: Repair, operations: list[Operation]
    ) -> Manifest:
        key = snapshot.workload.key
        path = pointer("metadata", "annotations", repair.annotation)
        guarded = [
            {"op": "test", "path": "/metadata/uid", "value": snapshot.workload.uid},
            {"op": "test", "path": path, "value": repair.text},
            *operations,
        ]
        place = resources.of(snapshot.kind), key.namespace, key.name
        try:
            return await api.patch(self._client, *place, guarded, Manifest)
        except Invalid as error:
            if (await self._read(snapshot)).metadata.version == manifest.metadata.version:
                raise  # It is as it was: what we want is refused.
            raise Conflict(str(error)) from None

    async def _unstick(self, workload: Workload, repair: Repair) -> bool:
        """Evict its own pods that have the broken field and never started.

        A StatefulSet does not replace a pod that was never ready (kubernetes/kubernetes#67250).
        """
        pods = await api.every(
            self._client,
            resources.PODS,
            workload.key.namespace,
            PodWithSpec,
            label_selector=api.selector(workload.selector),
        )
        stuck = [pod for pod in pods if _is_stuck(pod, workload.uid, repair)]
        for pod in stuck:
            try:
                await api.evict(self._client, pod)
            except (NotFound, Conflict, Throttled):
                continue
        return bool(stuck)


def _is_stuck(pod: PodWithSpec, owner: str, repair: Repair) -> bool:
    return (
        is_owned_by(pod.metadata, owner)
        and pod.status.phase == "Pending"
        and _text(pod.spec.get(repair.field)) == repair.broken
    )


def _mend(kind: Kind, repair: Repair) -> list[Operation]:
    path = pointer(*kind.template, "spec", repair.field)
    return [
        {"op": "test", "path": path, "value": repair.broken},
        {"op": "replace", "path": path, "value": repair.whole},
    ]


def _field(manifest: Manifest, kind: Kind, repair: Repair) -> str:
    raw = pick(manifest, (*kind.template, "spec"))
    return _text((value_in(raw, dict[str, msgspec.Raw]) or {}).get(repair.field))


def _text(raw: msgspec.Raw | None) -> str:
    return value_in(raw, str) or ""
