"""Controllers of the product in the model: the real feature `Rolling`, with a client of the model.

What lies between it and the cluster is what goes wrong there: requests are lost, answers are lost,
watches are late, and a process ends wherever it happens to be.
"""

import asyncio
import random
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from tests.simulation.store import Store
from tests.simulation.virtual_time import VirtualClock

from reroll.controller.bus import Bus
from reroll.controller.context import Context
from reroll.controller.metrics import Metrics
from reroll.core.model.metadata import Manifest
from reroll.core.tables.kinds import Kind
from reroll.engine.content import Source
from reroll.engine.feeds import Feed, SourceFeed, WorkloadFeed
from reroll.features.notices.courier import Send
from reroll.features.notices.feature import Notices
from reroll.features.rolling.feature import Rolling
from reroll.kube import watch
from reroll.kube.errors import ApiError, Conflict, Malformed, Unavailable
from reroll.kube.outage import Outage
from reroll.kube.wire import Request
from reroll.settings.table import Settings

HOME = "reroll"


@dataclass
class Faults:
    """How often something goes wrong with a write, and how long things take."""

    lost: float = 0.0
    """The request does not arrive."""
    unanswered: float = 0.0
    """It arrives, and the answer does not."""
    conflict: float = 0.0
    latency: float = 0.02
    """Seconds at most, for each way."""
    lag: float = 0.1
    """Seconds at most that a watch is late."""


class ModelClient:
    """What the product asks of a client: requests in, bytes or an `ApiError` out."""

    def __init__(self, store: Store, faults: Faults, chance: random.Random) -> None:
        self._store, self._faults, self._chance = store, faults, chance
        self.outage = Outage()

    async def send(self, request: Request, **_: Any) -> bytes:
        faults, is_write = self._faults, request.verb == "patch"
        await self._pause()
        if is_write and self._chance.random() < faults.lost:
            raise Unavailable("the request was lost")
        if is_write and self._chance.random() < faults.conflict:
            raise Conflict("another writer was faster", status=409)
        try:
            answer = self._store.answer(request)
        except ApiError:
            raise
        except Exception as error:
            # Of the model, or a law that was broken: the controller would only log it.
            self._store.errors.append(error)
            raise
        await self._pause()
        if is_write and self._chance.random() < faults.unanswered:
            raise Unavailable("the answer was lost")
        return answer

    async def _pause(self) -> None:
        await asyncio.sleep(self._chance.uniform(0.1, 1.0) * self._faults.latency)


class _LateFeed:
    """A watch: all changes in their order, each a little late."""

    def __init__(self, feed: Feed, faults: Faults, chance: random.Random) -> None:
        self._feed, self._faults, self._chance = feed, faults, chance
        self._events: deque[tuple[bytes, bool]] = deque()
        self._at = 0.0

    def add(self, raw: bytes, gone: bool) -> None:
        loop = asyncio.get_running_loop()
        self._at = max(self._at, loop.time() + self._chance.random() * self._faults.lag)
        self._events.append((raw, gone))
        loop.call_at(self._at, self._bring)

    def _bring(self) -> None:
        raw, gone = self._events.popleft()
        obj = msgspec.json.decode(raw, type=self._feed.model)
        self._feed(watch.Delete(obj) if gone else watch.Apply(obj))

    def fill(self, objects: list[Any], version: str) -> None:
        """The list that a watch begins with."""
        self._feed(watch.Init())
        for one in objects:
            raw = msgspec.json.encode(one)
            self._feed(watch.InitApply(msgspec.json.decode(raw, type=self._feed.model)))
        self._feed(watch.InitDone(version))


def _never(error: Malformed) -> None:
    raise error


class Replica:
    """One process of the controller: it watches from its start, and acts when it leads."""

    def __init__(
        self,
        store: Store,
        clock: VirtualClock,
        settings: Settings,
        faults: Faults,
        seed: int,
        send: Send | None = None,
    ) -> None:
        self._store, chance = store, random.Random(seed)
        client: Any = self.client(store, faults, chance)
        bus = Bus(clock)
        self.rolling = Rolling(client, clock, settings, bus, HOME)
        self.world, queue = self.rolling.observer.world, self.rolling.queue
        self._notices: Notices | None = None
        if send is not None:
            context = Context(client, clock, settings, Metrics(), bus, HOME, str(seed))
            self._notices = Notices(context, self.world, lambda: queue.is_busy, send)
            bus.subscribe(self._notices)
        kind: Kind = self.rolling.observer.kinds["Deployment"]
        workloads = WorkloadFeed(self.world, kind, None, _never)
        row = self.world.tables.sources_by_name["ConfigMap"]
        sources = SourceFeed(self.world, row, None, _never)
        assert workloads.model is Manifest
        assert sources.model is Source
        for feed in (workloads, sources):
            self.rolling.observer.feeds.add(feed)
        self._feeds = {
            "deployments": _LateFeed(workloads, faults, chance),
            "configmaps": _LateFeed(sources, faults, chance),
        }
        self._tasks: list[asyncio.Task[None]] = []

    def client(self, store: Store, faults: Faults, chance: random.Random) -> ModelClient:
        return ModelClient(store, faults, chance)

    async def start(self) -> None:
        await self.rolling.observer.load_keys()
        for plural, feed in self._feeds.items():
            feed.fill(list(self._store.all(plural).values()), self._store.version())
        self._store.watchers.append(self._watch)
        self._tasks.append(asyncio.ensure_future(self.rolling.read()))

    def _watch(self, plural: str, raw: bytes, gone: bool) -> None:
        if feed := self._feeds.get(plural):
            feed.add(raw, gone)

    def lead(self) -> None:
        if self._notices is not None:
            self._tasks.append(asyncio.ensure_future(self._notices.act()))
        self._tasks.append(asyncio.ensure_future(self.rolling.act()))

    async def kill(self) -> None:
        """It ends in the middle of whatever it does; a request that is under way may arrive."""
        if self._watch in self._store.watchers:
            self._store.watchers.remove(self._watch)
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()
