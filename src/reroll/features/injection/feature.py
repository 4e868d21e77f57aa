"""The feature as a whole: Injections are watched on every replica, and worked on by the leader."""

import asyncio
from collections.abc import Iterator
from typing import Any

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.report import Teller
from reroll.core.model.injection import KIND, Manifest
from reroll.core.model.key import Key
from reroll.engine.feeds import Feed
from reroll.engine.world import World
from reroll.features.injection.contents import Reader
from reroll.features.injection.decide import is_ready
from reroll.features.injection.injector import Injector
from reroll.features.injection.objects import INJECTIONS
from reroll.features.injection.registry import Book
from reroll.features.injection.targets import Targets
from reroll.kube.client import Client
from reroll.kube.errors import Malformed
from reroll.kube.watch import Watch
from reroll.settings.table import Settings

WORKERS = 4
log = Log("reroll")


class InjectionFeed(Feed):
    model = Manifest
    kind = KIND

    def __init__(self, world: World, namespace: str | None, book: Book) -> None:
        super().__init__(world, namespace, _odd)
        self._book = book

    def _seen(self, obj: Manifest, *, initial: bool) -> None:  # noqa: ARG002
        self._book.seen(obj)

    def _gone(self, key: Key, version: int) -> None:  # noqa: ARG002
        self._book.gone(key)

    def _known(self) -> Iterator[Key]:
        keys = (one.key for one in self._book)
        return (key for key in keys if self.namespace in {None, key.namespace})


class Injections:
    """`world` is the engine's: its watches tell of the sources.

    `watches`: where those of targets are put, for whoever tells of their health.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: Settings,
        telemetry: Teller,
        world: World,
        watches: list[Watch[Any]],
    ) -> None:
        self._client, self._clock, self._settings, self._world = client, clock, settings, world
        self.book = Book(world.sources, self._wake)
        silence = settings.watch_silence.total_seconds()
        self._targets = Targets(client, clock, silence, watches, self._wake)
        reader = Reader(client, world, settings)
        self.injector = Injector(client, clock, world, self.book, self._targets, reader, telemetry)
        world.others[KIND] = self._wake
        self._acting = False

    def count(self, *, ready: bool) -> int:
        counted = (
            one for one in self.book if self._world.namespaces.that_counts(one.key.namespace)
        )
        return sum(is_ready(one.status) is ready for one in counted)

    async def prepare(self) -> None:
        """Nothing is needed."""

    def stages(self) -> Iterator[list[Watch[Any]]]:
        places: tuple[str | None, ...] = self._settings.namespaces or (None,)
        yield [self._watch(place) for place in places]

    def _watch(self, place: str | None) -> Watch[Any]:
        def on_state(state: str, problem: str | None) -> None:
            if problem:
                log.warning("watch", resource=INJECTIONS.full_name, state=state, problem=problem)

        return Watch(
            self._client,
            INJECTIONS,
            Manifest,
            InjectionFeed(self._world, place, self.book),
            clock=self._clock,
            namespace=place,
            read_timeout=self._settings.watch_silence.total_seconds(),
            on_state=on_state,
        )

    async def read(self) -> None:
        """Nothing but the watches."""

    async def act(self) -> None:
        self._acting = True
        try:
            for one in self.book:
                self.injector.queue.add(one.key, urgent=False)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._targets.run())
                for _ in range(WORKERS):
                    group.create_task(self.injector.run())
        finally:
            self._acting = False
            self.injector.queue.clear()

    async def rest(self) -> None:
        await self.injector.queue.drain()

    def _wake(self, key: Key) -> None:
        if self._acting:
            self.injector.queue.add(key)


def _odd(odd: Malformed) -> None:
    log.warning("odd object", object=f"{odd.kind} {odd.namespace}/{odd.name}", problem=str(odd))
