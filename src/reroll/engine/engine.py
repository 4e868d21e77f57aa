"""The feature as a whole: what it watches, and how its parts are put together."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Pacer
from reroll.controller.report import Teller
from reroll.core.model.key import Key
from reroll.core.tables.kinds import Kind, SourceKind, Tables, Watched
from reroll.core.tables.rights import Feature
from reroll.engine import keyring
from reroll.engine.executor import Roller
from reroll.engine.feed import FEEDS, Feed, MountFeed, NamespaceFeed, SourceFeed, WorkloadFeed
from reroll.engine.reader import Reader, resource
from reroll.engine.scope import scope
from reroll.engine.strategies.jobs import Jobs
from reroll.engine.strategies.pinning import Pinning
from reroll.engine.strategies.pods import Pods
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Malformed
from reroll.kube.watch import Watch
from reroll.settings.table import Settings

if TYPE_CHECKING:
    from reroll.engine.shapes import Shapes

NAMESPACES = wire.Resource("", "v1", "namespaces", "Namespace", namespaced=False)
READERS = 8
log = Log("reroll")


class Rollouts:
    """Watches in three stages, because each needs what the one before brought."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: Settings,
        telemetry: Teller,
        namespace: str,
        *,
        at_once: bool = False,
        unreadable: Callable[[Key, str], None] | None = None,
    ) -> None:
        self._client, self._clock, self._settings = client, clock, settings
        left = {name.lower() for name in settings.exclude_kinds}
        rows = settings.tables.kinds
        self.kinds = {kind.name: kind for kind in rows if kind.name.lower() not in left}
        self._feeds: dict[str, list[Feed]] = {}
        looks_at = scope(settings, at_once=at_once)
        self.world = World(clock, looks_at, wake=self._wake, read=self._read)
        self.reader = Reader(client, clock, self.world, self.kinds, unreadable or _unreadable)
        self.roller = Roller(
            client,
            clock,
            self.world,
            self.reader,
            telemetry,
            Pacer(clock, settings.rate, settings.burst),
            self.kinds,
        )
        self.roller.pinning = Pinning(client, clock, self.world)
        Pods(client, clock, self.world, self.reader).install(self.roller)
        self.jobs = Jobs(client, clock, self.world, telemetry)
        self.jobs.install(self.roller)
        self._shapes = _shapes(client, settings.tables)
        self.digest_key = Key("Secret", namespace, settings.digest_key)
        self.acting = False

    async def prepare(self) -> None:
        """What is needed before the first watch: the digest key."""
        key = self.digest_key
        self.world.rekey(*await keyring.load(self._client, key.namespace, key.name))
        self.world.sources.digest_key = self.reader.digest_key = key

    def stages(self) -> Iterator[list[Watch[Any]]]:
        """Namespaces say what their workloads do, and workloads which sources matter."""
        places: tuple[str | None, ...] = self._settings.namespaces or (None,)
        if not self._settings.namespaces:
            feed: Feed = NamespaceFeed(self.world, None, _odd)
            yield [self._watch(NAMESPACES, feed, None, metadata_only=True)]
        rows, options = self._settings.tables.sources, self.world.dialects.options
        counting = [row for row in rows if row.name in options.sources]
        sources = [self._source(row, place) for row in counting for place in places]
        yield [self._workload(kind, place) for kind in self.kinds.values() for place in places]
        yield sources

    def _workload(self, kind: Kind, place: str | None) -> Watch[Any]:
        feed = WorkloadFeed(self.world, kind, place, _odd)
        self._feeds.setdefault(kind.name, []).append(feed)
        return self._watch(resource(kind), feed, place)

    def _source(self, row: SourceKind, place: str | None) -> Watch[Any]:
        feed = FEEDS[row.watched](self.world, row, place, _odd)
        self._feeds.setdefault(row.name, []).append(feed)
        if isinstance(feed, MountFeed):
            self.reader.mounts.append(feed)
        watched = wire.Resource(row.group, row.version, row.plural_to_watch, row.kind)
        metadata_only = row.watched is Watched.METADATA
        return self._watch(watched, feed, place, metadata_only=metadata_only)

    def _watch(
        self, kind: wire.Resource, feed: Any, place: str | None, *, metadata_only: bool = False
    ) -> Watch[Any]:
        def on_state(state: str, problem: str | None) -> None:
            if isinstance(feed, SourceFeed):
                if state == "forbidden":
                    self.world.sources.refused(feed.kind, place)
                elif state in {"listing", "watching"}:
                    self.world.sources.allowed(feed.kind, place)
            if self._shapes:
                self._shapes.watched(feed.kind, state)
            if problem:
                log.warning("watch", resource=kind.full_name, state=state, problem=problem)
            else:
                log.debug("watch", resource=kind.full_name, state=state)

        return Watch(
            self._client,
            kind,
            feed.model,
            feed,
            clock=self._clock,
            namespace=place,
            metadata_only=metadata_only,
            read_timeout=self._settings.watch_silence.total_seconds(),
            on_state=on_state,
        )

    async def read(self) -> None:
        """Follow what the watches do not bring; on every replica."""
        async with asyncio.TaskGroup() as group:
            if self._shapes:
                group.create_task(self._shapes.run())
            for _ in range(READERS):
                group.create_task(self.reader.run())

    async def act(self) -> None:
        """Roll; only where this replica is the leader."""
        self.acting = True
        try:
            for key in self.world.everything():
                self.roller.queue.add(key, urgent=False)
            async with asyncio.TaskGroup() as group:
                if "Job" in self.kinds and Feature.RECREATE in self._settings.features:
                    group.create_task(self.jobs.run(self._settings.namespaces or (None,)))
                for _ in range(self._settings.concurrency):
                    group.create_task(self.roller.run())
        finally:
            self.acting = False
            self.roller.queue.clear()

    async def rest(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        await self.roller.queue.drain()

    def _wake(self, key: Key, urgent: bool) -> None:
        if self.acting:
            self.roller.queue.add(key, urgent=urgent)

    def _read(self, key: Key) -> None:
        if key.kind == "Namespace":
            lists = [feed for kind in self.kinds for feed in self._feeds.get(kind, ())]
            is_to_come = not any(feed.begun for feed in lists)
        else:
            feeds = self._feeds.get(key.kind, ()) if key.name else ()
            is_to_come = any(feed.is_to_bring(key) for feed in feeds)
        if not is_to_come or key == self.digest_key:
            self.reader.want(key)


def _shapes(client: Client, tables: Tables) -> "Shapes | None":
    """What looks at the rows of a config file, if there are any."""
    if not tables.custom:
        return None
    from reroll.engine.shapes import Shapes

    return Shapes(client, tables.custom, log)


def _unreadable(key: Key, problem: str) -> None:
    log.warning("cannot read", source=str(key), problem=problem)


def _odd(odd: Malformed) -> None:
    log.warning("odd object", object=f"{odd.kind} {odd.namespace}/{odd.name}", problem=str(odd))
