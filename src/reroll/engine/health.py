"""How the rollouts of workloads go, folded from whatever the world learns of them.

Kept for workloads that rolled, until their rollout is over, and for those that are followed.
"""

import asyncio
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import Health, health
from reroll.core.tables.kinds import Kind


class _Known(NamedTuple):
    generation: int
    health: Health


class HealthIndex:
    def __init__(self) -> None:
        self._known: dict[Key, _Known] = {}
        self._followed: dict[Key, asyncio.Event] = {}

    def follow(self, key: Key) -> asyncio.Event:
        """Keep the health of a workload, whatever it is; the event is set when there is news."""
        return self._followed.setdefault(key, asyncio.Event())

    def is_followed(self, key: Key) -> bool:
        return key in self._followed

    def get(self, key: Key, *, lent: int = 0) -> Health | None:
        """`lent`: the generation of the workload whose template it runs, if it is another one's."""
        known = self._known.get(key)
        return known.health.seen_by(lent) if known else None

    def fold(self, kind: Kind, key: Key, manifest: Manifest, *, rolled: bool = False) -> None:
        """`rolled`: it is a workload that we rolled."""
        news = self._followed.get(key)
        if news is None and not rolled:
            return
        generation, known = manifest.metadata.generation, self._known.get(key)
        if news is None and known and known.generation == generation and known.health.is_over:
            return
        fresh = _Known(generation, health(kind, manifest))
        if fresh != known:
            self._known[key] = fresh
        if news is not None:
            news.set()

    def forget(self, key: Key) -> None:
        """It is gone, or no longer managed."""
        self._known.pop(key, None)
        if news := self._followed.get(key):
            news.set()
