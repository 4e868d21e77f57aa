"""Makes and removes canaries: a Deployment beside a workload, with its template and other pins."""

import copy
from typing import Any

from reroll.core.decide.actions import MakeCanary, NoteCanary, RemoveCanary, StayOn, WriteRecord
from reroll.core.decide.canaries import KEPT
from reroll.core.decide.plan import Plan
from reroll.core.model.canary import canary_name, pods_of
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.record import write
from reroll.core.revisions.copies import write_pins_into
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables.annotations import CANARY, CANARY_OF
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch
from reroll.engine.canaries import Canary
from reroll.engine.outcome import SLOWLY, Blocked, Done, Step, Turn
from reroll.engine.world import World
from reroll.kube import api, resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import AlreadyExists, Conflict, Invalid

Document = dict[str, Any]
_LIKE_IT = ("minReadySeconds", "progressDeadlineSeconds")
"""Fields that a canary has as its workload has them."""
BY_CONTROLLER = "it rolls after a canary, which outlives this command: the controller makes it"


class CanaryMaker:
    """`stays`: this process goes on after a canary is made, to see what comes of it."""

    def __init__(self, client: Client, world: World, *, stays: bool) -> None:
        self._client, self._world, self._stays = client, world, stays

    async def stay(self, turn: Turn, action: StayOn) -> Step:  # noqa: ARG002
        return Done() if self._stays else Blocked(Reason.ON_CANARY, BY_CONTROLLER, SLOWLY)

    async def make(self, turn: Turn, action: MakeCanary) -> Step:
        kind, key = turn.snapshot.kind, turn.key
        resource = resources.of(kind)
        raw = await self._client.send(wire.get(resource, key.namespace, key.name))
        workload = decoded(raw, Document, str(key))
        if workload["metadata"]["uid"] != turn.snapshot.workload.uid:
            return Done(again=0.0)
        document = canary_of(workload, action)
        try:
            made = await api.create(self._client, resource, key.namespace, document, Manifest)
        except AlreadyExists:
            name = canary_name(key.name)
            there = await api.find(self._client, resource, key.namespace, name, Manifest)
            if there is None or (self._world.canaries.observe(kind, there) and self._is_ours(key)):
                return Done(again=0.0)
            message = f"there is a {kind.kind} {key.namespace}/{name} that is not a canary of {key}"
            return Blocked(Reason.ON_CANARY, f"{message}; rename one of them", SLOWLY)
        self._world.canaries.observe(kind, made)
        return Done(again=0.0)

    def _is_in(self, known: Canary) -> bool:
        """Whether this installation looks after it, and no other one."""
        counts = self._world.namespaces.that_counts(known.key.namespace) is not None
        return counts and self._world.scope.workloads.matches(known.labels)

    def _is_ours(self, key: Key) -> bool:
        return self._world.canaries.of(key) is not None

    async def drop(self, turn: Turn, action: RemoveCanary) -> Step:  # noqa: ARG002
        await self._remove(turn.key)
        return Done()

    async def note(self, turn: Turn, action: NoteCanary) -> Step:
        """By way of its status: any other write of an annotation makes a new generation."""
        snapshot, key = turn.snapshot, turn.key
        kind, before = snapshot.kind, snapshot.workload
        operations = patch(before, kind, (WriteRecord(action.record),))
        place = resources.of(kind), key.namespace, key.name
        request = wire.json_patch(*place, operations, subresource="status")
        try:
            answer = await api.send(self._client, request, Manifest)
        except Invalid:
            raise Conflict(f"{key} changed since it was decided on") from None
        expected = before.generation, write(action.record)
        self._world.workload_seen(kind, answer, expected=expected)
        return Done()

    async def tidy(self, key: Key, plan: Plan) -> None:
        """Remove the canary of a workload that does not wait for it, or is not managed."""
        if self._stays and plan.reason not in KEPT and self._world.canaries.of(key):
            await self._remove(key)

    async def _remove(self, key: Key) -> None:
        known = self._world.canaries.of(key)
        if known is None or known.facts.is_going or not self._is_in(known):
            return
        resource = resources.of(self._world.tables.by_name[known.key.kind])
        place = resource, known.key.namespace, known.key.name
        await api.delete(self._client, *place, uid=known.uid)
        self._world.canaries.gone(known.key)


def canary_of(workload: Document, action: MakeCanary) -> Document:
    """The canary of a Deployment: its template with other pins, and a selector of its own."""
    metadata, spec = workload["metadata"], workload["spec"]
    label = {CANARY: metadata["uid"]}
    template = copy.deepcopy(spec["template"])
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**(meta.get("labels") or {}), **label}
    old = read_pins((meta.get("annotations") or {}).get(PINS, ""))
    write_pins_into(template, action.pins, old, named=action.named)
    owner = {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    return {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "metadata": {
            "name": canary_name(metadata["name"]),
            "labels": {**(metadata.get("labels") or {}), **label},
            "annotations": {CANARY_OF: action.of},
            "ownerReferences": [owner],
        },
        "spec": {
            **{name: spec[name] for name in _LIKE_IT if name in spec},
            "replicas": pods_of(action.size, spec.get("replicas", 1)),
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": label},
            "template": template,
        },
    }
