"""Undoing what another tool did to keep pods from starting.

Each step looks at what is there and does what is still missing; the annotation that the other tool
left stays until the last one, so a controller that ends in between goes on where it stopped.
"""

from typing import NamedTuple

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.model.metadata import Manifest, Metadata, pick
from reroll.core.model.podspec import given
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Repair
from reroll.core.tables.kinds import Kind
from reroll.core.write.patches import pointer
from reroll.engine.reader import resource
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Invalid, NotFound, Throttled

LOOK_AGAIN = 1.0
_manifest = msgspec.json.Decoder(Manifest)
_branches = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Taken(NamedTuple):
    """A step that was taken."""

    seconds: float
    """Until it is worth looking again."""
    manifest: Manifest | None = None
    """The workload after it."""
    told: bool = False
    """It is what people have to know."""


class _Status(msgspec.Struct, gc=False):
    phase: str = ""


class _Pod(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: dict[str, msgspec.Raw] = {}
    status: _Status = msgspec.field(default_factory=_Status)


class _Pods(msgspec.Struct, gc=False):
    items: list[_Pod] | None = None


_pods = msgspec.json.Decoder(_Pods)


class Repairs:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def step(self, seen: Snapshot, decided: Plan) -> Taken:
        """The template first, then the pods that nobody else would replace, then the mark."""
        repair = decided.repair
        if repair is None:
            return Taken(0.0)
        manifest = await self._read(seen)
        if (manifest.metadata.annotations or {}).get(repair.annotation) != repair.text:
            return Taken(LOOK_AGAIN, manifest)
        if _field(manifest, seen.kind, repair) == repair.broken:
            mend = _mend(seen.kind, repair)
            return await self._patch(seen, manifest, repair, mend, told=True)
        if await self._unstick(seen.workload, repair):
            return Taken(LOOK_AGAIN)
        path = pointer("metadata", "annotations", repair.annotation)
        clear = [{"op": "remove", "path": path}]
        return await self._patch(seen, manifest, repair, clear, told=False)

    async def _read(self, seen: Snapshot) -> Manifest:
        key = seen.workload.key
        request = wire.get(resource(seen.kind), key.namespace, key.name)
        return _manifest.decode(await self._client.send(request))

    async def _patch(
        self,
        seen: Snapshot,
        manifest: Manifest,
        repair: Repair,
        operations: list[dict[str, str]],
        *,
        told: bool,
    ) -> Taken:
        key = seen.workload.key
        path = pointer("metadata", "annotations", repair.annotation)
        guarded = [
            {"op": "test", "path": "/metadata/uid", "value": seen.workload.uid},
            {"op": "test", "path": path, "value": repair.text},
            *operations,
        ]
        request = wire.json_patch(resource(seen.kind), key.namespace, key.name, guarded)
        try:
            answer = await self._client.send(request)
        except Invalid as error:
            if (await self._read(seen)).metadata.version == manifest.metadata.version:
                raise  # It is as it was: what we want is refused.
            raise Conflict(str(error)) from None
        return Taken(0.0, _manifest.decode(answer), told=told)

    async def _unstick(self, workload: Workload, repair: Repair) -> bool:
        """Evict its own pods that have the broken field and never started.

        A StatefulSet does not replace a pod that was never ready (kubernetes/kubernetes#67250).
        """
        selector = ",".join(f"{key}={value}" for key, value in workload.selector)
        request = wire.list_page(
            wire.PODS, workload.key.namespace, limit=0, label_selector=selector
        )
        pods = given(_pods.decode(await self._client.send(request)).items)
        stuck = [pod for pod in pods if _is_stuck(pod, workload.uid, repair)]
        for pod in stuck:
            name, uid = pod.metadata.name, pod.metadata.uid
            try:
                await self._client.send(wire.evict(workload.key.namespace, name, uid=uid))
            except (NotFound, Conflict, Throttled):
                continue
        return bool(stuck)


def _is_stuck(pod: _Pod, owner: str, repair: Repair) -> bool:
    owners = given(pod.metadata.owner_references)
    return (
        any(one.uid == owner for one in owners)
        and pod.status.phase == "Pending"
        and _text(pod.spec.get(repair.field)) == repair.broken
    )


def _mend(kind: Kind, repair: Repair) -> list[dict[str, str]]:
    path = pointer(*kind.template, "spec", repair.field)
    return [
        {"op": "test", "path": path, "value": repair.broken},
        {"op": "replace", "path": path, "value": repair.whole},
    ]


def _field(manifest: Manifest, kind: Kind, repair: Repair) -> str:
    raw = pick(manifest, (*kind.template, "spec"))
    return _text(_branches.decode(raw).get(repair.field)) if raw else ""


def _text(raw: msgspec.Raw | None) -> str:
    found = msgspec.json.decode(raw) if raw else ""
    return found if isinstance(found, str) else ""
