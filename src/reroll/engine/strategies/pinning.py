"""What comes before a template is pinned: copies first, and names where nobody rewrites pods.

Part of the one way in which workloads are written; the roller calls it, and writes.
"""

from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Problem
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.revisions.copies import renamed
from reroll.core.revisions.pins import Rewrite, read_pins
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import Kind
from reroll.core.tables.reasons import Reason
from reroll.engine.executor import SLOWLY, Held
from reroll.engine.rewriters import Installed
from reroll.engine.strategies.copies import Maker, RefusedError
from reroll.engine.strategies.owners import Owners
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.objects import Owner

_manifest = msgspec.json.Decoder(Manifest)


class Pinning:
    """Installed in the roller: `prepare` before a write, `tidy` when nothing is to be written."""

    def __init__(self, client: Client, clock: Clock, world: World) -> None:
        self._client, self._world = client, world
        self._installed = Installed(client, clock)
        self._maker = Maker(client, world.sources, world.copies)
        self._owners = Owners(client, clock, world)

    async def prepare(self, seen: Snapshot, decided: Plan) -> Plan | Held:
        """The plan with all that the write needs; or what stands in the way of it."""
        owner = None if seen.kind.fixed else owner_of(seen.kind, seen.workload)
        try:
            replaced = await self._maker.make(seen, decided.copies, owner)
        except RefusedError as error:
            return Held(Reason.COPY_REFUSED, str(error), SLOWLY)
        if replaced and decided.reason is not Reason.COPY_RESTORED:
            names = ", ".join(map(str, replaced))
            note = Problem(f"{Reason.COPY_RESTORED.sentence}: {names}", Reason.COPY_RESTORED)
            decided = msgspec.structs.replace(decided, problems=(*decided.problems, note))
        if decided.pins is None:
            return decided
        by_name = bool(decided.pins) and await self._by_name(seen)
        if decided.pins and not by_name and seen.policy.pin == "admission":
            decided = await self._warned(seen, decided)
        record = decided.record
        if isinstance(record, Record):
            record = msgspec.structs.replace(record, named=by_name)
        pins = decided.pins if by_name else ""
        fields = await self._renames(seen, pins or "", by_name=by_name)
        return msgspec.structs.replace(decided, record=record, renames=fields)

    async def _by_name(self, seen: Snapshot) -> bool:
        """Whether the template itself has to name the copies."""
        if seen.policy.pin != "auto":
            return seen.policy.pin == "template"
        return not await self._is_in_force(seen)

    async def _is_in_force(self, seen: Snapshot) -> bool:
        """Whether pods are rewritten when they are made, in its namespace."""
        await self._installed.refresh()
        namespace = seen.workload.key.namespace
        info = self._world.namespaces.that_counts(namespace)
        return self._installed.covers(namespace, info.labels if info else None)

    async def _warned(self, seen: Snapshot, decided: Plan) -> Plan:
        """Its annotation says that pods are rewritten when they are made, and they are not."""
        if await self._is_in_force(seen):
            return decided
        reason = Reason.PODS_NOT_REWRITTEN
        sentence = f"annotation {DOMAIN}pin for {seen.workload.key}: {reason.sentence}"
        problems = (*decided.problems, Problem(sentence, reason))
        return msgspec.structs.replace(decided, problems=problems)

    async def _renames(self, seen: Snapshot, pins: str, *, by_name: bool) -> tuple[Rewrite, ...]:
        """The fields of the template that have to name something else than they do."""
        if not by_name and not seen.workload.named:
            return ()
        key, kind, record = seen.workload.key, seen.kind, seen.workload.record
        raw = await self._client.send(wire.get(wire.resource_of(kind), key.namespace, key.name))
        template = pick(_manifest.decode(raw), kind.template)
        document: dict[str, Any] = msgspec.json.decode(template) if template else {}
        had = read_pins(record.pins or "") if isinstance(record, Record) else {}
        return renamed(document.get("spec") or {}, seen.workload.pins, read_pins(pins), had)

    async def tidy(self, seen: Snapshot) -> float | None:
        """Put right who owns its copies; the seconds until that is worth another look, if it is."""
        return await self._owners.tidy(seen)


def owner_of(kind: Kind, workload: Workload) -> Owner:
    resource = wire.resource_of(kind)
    return Owner(resource.api_version, resource.kind, workload.key.name, workload.uid)
