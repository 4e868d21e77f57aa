"""The feature as a whole: every replica watches Injections, and the leader reconciles them."""

import asyncio
from collections.abc import Iterator
from typing import Any

from reroll.controller.context import Context
from reroll.controller.feature import Feature
from reroll.core.model.injection import KIND, Manifest
from reroll.core.model.key import Key
from reroll.engine.ports import EnginePort
from reroll.features.injection.applier import Applier
from reroll.features.injection.decide import is_ready
from reroll.features.injection.reconciler import Reconciler
from reroll.features.injection.registry import Registry
from reroll.features.injection.status import StatusWriter
from reroll.features.injection.targets import TargetWatches
from reroll.features.injection.watching import Handler, Name, WatchFactory
from reroll.kube.resources import INJECTIONS
from reroll.kube.watch import Watch

WORKERS = 4


class Injections(Feature):
    """`watches`: where the watches of targets are added, for probes and metrics."""

    def __init__(self, context: Context, engine: EnginePort, watches: list[Watch[Any]]) -> None:
        client, clock, settings = context.client, context.clock, context.settings
        self._namespaces: tuple[str | None, ...] = settings.namespaces or (None,)
        self._registry = Registry(engine, self._wake)
        self._factory = WatchFactory(client, clock, settings.watch_silence.total_seconds())
        self._targets = TargetWatches(self._factory, watches, self._wake)
        status = StatusWriter(client, self._registry)
        applier = Applier(client, settings, engine, self._registry, self._targets, status)
        self._reconciler = Reconciler(
            clock, self._registry, self._targets, applier, status, context.bus
        )
        self._leads = False
        engine.subscribe(KIND, self._wake)

    def count(self, *, ready: bool) -> int:
        counted = (each for each in self._registry if self._registry.counts(each))
        return sum(is_ready(each.status) is ready for each in counted)

    def stages(self) -> Iterator[list[Watch[Any]]]:
        yield [self._watch(namespace) for namespace in self._namespaces]

    def _watch(self, namespace: str | None) -> Watch[Manifest]:
        def known() -> Iterator[Name]:
            keys = (each.key for each in self._registry)
            return (key[1:] for key in keys if namespace in {None, key.namespace})

        def removed(name: Name) -> None:
            self._registry.remove(Key(KIND, *name))

        handler = Handler(known, self._registry.add, removed)
        return self._factory.open(INJECTIONS, namespace, Manifest, handler)

    async def act(self) -> None:
        self._leads = True
        try:
            for injection in self._registry:
                self._reconciler.queue.add(injection.key, urgent=False)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._targets.run())
                group.create_task(self._reconciler.worker.run(WORKERS))
        finally:
            self._leads = False
            self._reconciler.queue.clear()

    async def rest(self) -> None:
        await self._reconciler.queue.drain()

    def _wake(self, key: Key) -> None:
        if self._leads:
            self._reconciler.queue.add(key)
