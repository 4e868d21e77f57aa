"""Whether a pinned template has to name its copies itself: admission may rewrite its pods."""

from typing import Any

from reroll.clock import Clock
from reroll.core.decide.actions import Action, NamePins, with_names
from reroll.core.model.key import Problem
from reroll.core.model.metadata import Manifest, pick
from reroll.core.observe.snapshot import Snapshot
from reroll.core.revisions.copies import renamed
from reroll.core.revisions.pins import Rewrite, read_pins
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.reasons import Reason
from reroll.engine.outcome import Amended, Step, Turn
from reroll.engine.rewriters import Installed
from reroll.engine.world import World
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.decode import decoded


class PinNames:
    def __init__(self, client: Client, clock: Clock, world: World) -> None:
        self._client, self._world = client, world
        self._installed = Installed(client, clock)

    async def find(self, turn: Turn, action: NamePins) -> Step:
        snapshot = turn.snapshot
        by_name = bool(action.pins) and await self._by_name(snapshot)
        warns = action.pins and not by_name and snapshot.policy.pin == "admission"
        problems = await self._warning(snapshot) if warns else ()
        pins = action.pins if by_name else ""
        renames = await self._renames(snapshot, pins, by_name=by_name)

        def amend(rest: tuple[Action, ...]) -> tuple[Action, ...]:
            return with_names(rest, renames, named=by_name)

        return Amended(amend, problems)

    async def _by_name(self, snapshot: Snapshot) -> bool:
        if snapshot.policy.pin != "auto":
            return snapshot.policy.pin == "template"
        return not await self._is_in_force(snapshot)

    async def _is_in_force(self, snapshot: Snapshot) -> bool:
        """Whether pods are rewritten when they are made, in its namespace."""
        await self._installed.refresh()
        namespace = snapshot.workload.key.namespace
        info = self._world.namespaces.that_counts(namespace)
        return self._installed.covers(namespace, info.labels if info else None)

    async def _warning(self, snapshot: Snapshot) -> tuple[Problem, ...]:
        """Its annotation says that pods are rewritten when they are made, and they are not."""
        if await self._is_in_force(snapshot):
            return ()
        reason = Reason.PODS_NOT_REWRITTEN
        where = f"annotation {DOMAIN}pin for {snapshot.workload.key}"
        return (Problem(f"{where}: {reason.sentence}", reason),)

    async def _renames(
        self, snapshot: Snapshot, pins: str, *, by_name: bool
    ) -> tuple[Rewrite, ...]:
        """The fields of the template that have to name something else than they do."""
        workload, kind, record = snapshot.workload, snapshot.kind, snapshot.record
        if not by_name and not workload.named:
            return ()
        place = resources.of(kind), workload.key.namespace, workload.key.name
        manifest = await api.get(self._client, *place, Manifest)
        template = pick(manifest, kind.template)
        document = decoded(template, dict[str, Any], "its template") if template else {}
        recorded = read_pins(record.pins or "") if record is not None else {}
        return renamed(document.get("spec") or {}, workload.pins, read_pins(pins), recorded)
