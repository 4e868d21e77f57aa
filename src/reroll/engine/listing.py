"""An observer filled from lists instead of watches: what the controller would decide now.

Namespaces are listed, then workloads, then the sources that the selected workloads refer to, and no
others. What may not be read becomes a gap, a sentence; the rest is still answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

import msgspec

from reroll.clock import Clock
from reroll.core.decide.plan import without_action
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.record import Record, read
from reroll.core.observe.provenance import Writes
from reroll.core.observe.workload import owner_of
from reroll.core.policy.policy import Policy
from reroll.core.revisions.content_names import COPY_OF
from reroll.core.tables.annotations import STATE
from reroll.core.tables.fields import PINNABLE
from reroll.core.tables.kinds import Kind
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SOURCE_KINDS, Watched
from reroll.engine import record_backup
from reroll.engine.cluster_hold import find_hold, place_of
from reroll.engine.earlier import Earlier
from reroll.engine.feeds import MountFeed
from reroll.engine.listing_keys import Unlocking, needs_key
from reroll.engine.listing_places import namespaces_of
from reroll.engine.observer import Decision, Observer
from reroll.engine.source_lists import SourceLists
from reroll.engine.world import World
from reroll.kube import resources, watch
from reroll.kube.errors import Forbidden, Malformed, NotFound
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.settings.table import Settings


class Listed:
    """A workload that was chosen."""

    def __init__(self, kind: Kind, manifest: Manifest, world: World) -> None:
        self.kind, self.manifest, self._world = kind, manifest, world

    @cached_property
    def policy(self) -> Policy:
        """What annotations and settings say of it, opted in or not."""
        return self._world.policy_of(self.kind, self.manifest)

    @property
    def key(self) -> Key:
        return _key(self.kind, self.manifest)


T = TypeVar("T")
IN_A_ROW = 50
Choice = Callable[[Kind, Manifest], bool]
Seen = Callable[[Kind, Sequence[Manifest]], None]
"""Told of workloads, a page of one kind at a time."""


def unseen(_: Kind, __: Sequence[Manifest]) -> None:
    """Nobody looks on."""


class Listing:
    """`home` is the namespace of the controller, where the digest keys are.

    `earlier`: what listings before it read, for whoever lists again and again.
    """

    def __init__(
        self,
        view: View,
        clock: Clock,
        settings: Settings,
        home: str,
        earlier: Earlier | None = None,
    ) -> None:
        self._view = view
        self._all_keyed = settings.foreign_hashes == "keyed"
        self._hold_place = place_of(home, settings.lease)
        self.notes: list[str] = []
        """What people should know, though nothing of what they asked for is missing."""
        self.observer = Observer(view.client, clock, settings, home, problem=self._problem)
        self.world, self.kinds = self.observer.world, self.observer.kinds
        self.workloads: dict[Key, Listed] = {}
        """Those that were selected, in the order of the table of kinds, then by name."""
        self.others: list[Key] = []
        """Those that were not."""
        self._runners: dict[Key, tuple[Kind, Manifest]] = {}
        self.owned: dict[Key, Key] = {}
        """What belongs to another workload, and is none itself."""
        self.chosen: Choice = lambda *_: True
        """What selects workloads."""
        self._lists = SourceLists(view, self.observer, earlier)

    def _problem(self, what: str, sentence: str) -> None:
        self._view.gaps.append(f"{what}: {sentence}")

    async def fill(
        self,
        chosen: Choice = lambda *_: True,
        kinds: Iterable[str] = (),
        *,
        supposing: bool = False,
        make_key: bool = False,
        seen: Seen = unseen,
    ) -> None:
        """Read everything that decisions about the chosen workloads need.

        `kinds`: only these, by name. `supposing`: also what those use that are not opted in, as if
        they were. `make_key`: for those who write records. Without it there may be no key, and then
        nothing is known of Secrets, which is a gap. Where nothing is digested with a key, none is
        read. `seen` is told of workloads as they come, before anything that they use is read.
        """
        self.chosen = chosen
        await self._namespaces()
        names = frozenset(kinds) or frozenset(self.kinds)
        found = await self._list(chosen, names, seen)
        if supposing:
            self.world.policies.supposed.update(_key(kind, manifest) for kind, manifest in found)
        if any(
            (record := record_of(manifest)) and record.pins is not None for _, manifest in found
        ):
            await self._copies()
        async for kind, manifest in _with_breaks(found):
            self.world.workload_seen(kind, manifest)
        await self._unlock(make=make_key)
        await self._recall()
        await self._cluster_hold()
        await self._mounts()
        await self._lists.read()
        is_tried = any((record := record_of(one)) and record.trial for _, one in found)
        if is_tried or any(map(self.world.propagation.governs, self.world.workloads)):
            await self._neighbours(found, names)
        for kind, manifest in found:
            self.workloads[_key(kind, manifest)] = Listed(kind, manifest, self.world)

    async def _neighbours(self, found: list[tuple[Kind, Manifest]], kinds: frozenset[str]) -> None:
        """The workloads that the chosen ones wait for, or that wait for them."""
        if not self.others and kinds == frozenset(self.kinds):
            return
        chosen = {_key(kind, manifest) for kind, manifest in found}
        others = self.others
        for kind, manifest in await self._list(lambda *_: True, frozenset(self.kinds)):
            if _key(kind, manifest) not in chosen:
                self.world.workload_seen(kind, manifest)
        self.others = others
        await self._unlock(make=False)
        await self._lists.read()

    @property
    def written(self) -> Mapping[Key, Writes | None]:
        """Who wrote sources, of those that were listed on the way; `None`: it is not there."""
        return self._lists.written

    async def everything(self) -> list[Listed]:
        """All workloads, and what is said of each; nothing is read of what they use."""
        await self._namespaces()
        found = await self._list(lambda *_: True, frozenset(self.kinds))
        return [Listed(kind, one, self.world) for kind, one in found]

    async def decide(self, key: Key) -> Decision:
        """What the controller would do to a workload now, and why."""
        decision = await self.observer.decide(key)
        listed = self.workloads.get(key)
        if decision.snapshot is None and listed and listed.policy.enabled is False:
            return Decision(key, without_action(Reason.OPTED_OUT))
        return decision

    def running(self, key: Key) -> tuple[Kind, Manifest]:
        """What runs the pods of a selected workload: itself, or a Rollout with its template."""
        listed = self.workloads.get(key)
        return (listed.kind, listed.manifest) if listed else self._runners[key]

    def distrust(self, decision: Decision, older: tuple[Key, ...]) -> None:
        """Have it roll for the sources that its pods are older than, by its own strategy."""
        tracked, snapshot = self.world.workloads.get(decision.key), decision.snapshot
        if tracked is None or snapshot is None or not older:
            return
        home, record = decision.key.namespace, snapshot.record or decision.plan.record
        entries = [r.entry(home) for r in snapshot.references if r.source in older]
        if record is not None:
            digests = {**record.s, **dict.fromkeys(entries, "?")}
            tracked.doubt = msgspec.structs.replace(record, s=digests)

    async def decisions(self, keys: Iterable[Key], at_once: int = 8) -> list[Decision]:
        """The same for several, in their order."""
        slots = asyncio.Semaphore(at_once)

        async def one(key: Key) -> Decision:
            async with slots:
                return await self.decide(key)

        return list(await asyncio.gather(*map(one, keys)))

    async def _namespaces(self) -> None:
        for one in await namespaces_of(self._view, self.notes):
            self.world.namespaces.observe(one.metadata)

    async def _list(
        self, chosen: Choice, kinds: frozenset[str], seen: Seen = unseen
    ) -> list[tuple[Kind, Manifest]]:
        """The chosen workloads. What runs the template of another one is none itself."""
        rows = [row for row in self.kinds.values() if row.name in kinds]
        listed = await asyncio.gather(*(self._every(row, seen) for row in rows))
        known = len(self._view.gaps)
        lenders = [row for row in self.kinds.values() if row.borrows_template]
        for row in lenders:
            for manifest in listed[rows.index(row)] if row in rows else await self._every(row):
                if self.world.lends(row, manifest):
                    self._runners[_key(row, manifest)] = row, manifest
        # Nobody asked for them.
        self.notes += self._view.gaps[known:]
        del self._view.gaps[known:]
        found = []
        for kind, manifests in zip(rows, listed, strict=True):
            for manifest in sorted(manifests, key=_place):
                if self.world.lends(kind, manifest):
                    continue
                if owner := owner_of(manifest.metadata, self.world.tables):
                    self.owned[_key(kind, manifest)] = owner
                    self.world.canaries.observe(kind, manifest)
                    continue
                if chosen(kind, manifest):
                    found.append((kind, manifest))
                else:
                    self.others.append(_key(kind, manifest))
        return found

    async def _every(self, kind: Kind, seen: Seen = unseen) -> list[Manifest]:
        found: list[Manifest] = []
        async for page in self._view.pages(resources.of(kind), Manifest):
            seen(kind, page)
            found += page
        return found

    async def _copies(self) -> None:
        """The copies that templates may name: whether they are there, and who owns them."""
        for row in SOURCE_KINDS:
            if row.name not in PINNABLE:
                continue
            known = len(self._view.gaps)
            stubs = await self._view.every(
                resources.of(row), Stub, metadata_only=True, label_selector=COPY_OF
            )
            for one in stubs:
                key = Key(row.name, one.metadata.namespace, one.metadata.name)
                self.world.copies.observe(key, one.metadata)
            if len(self._view.gaps) == known:
                self.world.copies.listed(row.name, self._view.namespace)

    async def _unlock(self, *, make: bool) -> None:
        place, world = self.observer.digest_keys, self.world
        tracked, tables = world.workloads.values(), world.tables
        keyed = [one for one in tracked if needs_key(one, tables, all_keyed=self._all_keyed)]
        await Unlocking(self._view.keeper, place, self._view.gaps, make=make).unlock(world, keyed)

    async def _recall(self) -> None:
        """Records that another writer removed, if a controller wrote them down."""
        entries: list[record_backup.Entry] = []
        if self.world.workloads:
            with suppress(Forbidden, NotFound):  # Revisions tell some of it to those who may not.
                home = self.observer.digest_keys.namespace
                entries = await record_backup.find(self._view.keeper, home)
        record_backup.recall(self.world, entries, is_complete=bool(entries))

    async def _cluster_hold(self) -> None:
        try:
            self.world.hold = await find_hold(self._view.keeper, self._hold_place)
        except Forbidden:
            self.notes.append(
                f"whether everything is held is not known: {self._hold_place} may not be read"
            )

    async def _mounts(self) -> None:
        """What pods have mounted, if some workload has a source that is known by that only."""
        for row in SOURCE_KINDS:
            if row.watched is not Watched.STATUSES or not any(self.world.sources.of(row.name)):
                continue
            feed = MountFeed(self.world, row, self._view.namespace, self._malformed)
            watched = resources.to_watch(row)
            feed(watch.Init())
            for report in await self._view.every(watched, feed.model):
                feed(watch.InitApply(report))
            feed(watch.InitDone(""))
            self.observer.feeds.add(feed)

    def _malformed(self, error: Malformed) -> None:
        self._view.gaps.append(str(error))


async def _with_breaks(many: Sequence[T]) -> AsyncIterator[T]:
    """Thousands, so that whoever else asks the cluster something has their turn."""
    for number, one in enumerate(many):
        if not number % IN_A_ROW:
            await asyncio.sleep(0)
        yield one


def _key(kind: Kind, manifest: Manifest) -> Key:
    return Key(kind.name, manifest.metadata.namespace, manifest.metadata.name)


def _place(manifest: Manifest) -> tuple[str, str]:
    return manifest.metadata.namespace, manifest.metadata.name


def record_of(manifest: Manifest) -> Record | None:
    """The record that is on a workload, if it can be read."""
    found = read((manifest.metadata.annotations or {}).get(STATE))
    return found if isinstance(found, Record) else None
