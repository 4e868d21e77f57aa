"""How the rollouts of workloads go, folded from whatever the world learns of them.

Kept for workloads that rolled, until their rollout is over, and for those that are followed or
judged.
"""

import asyncio
from datetime import datetime

import msgspec

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import Health, State, health
from reroll.core.tables.kinds import Kind


class WatchedHealth(msgspec.Struct, frozen=True, gc=False):
    generation: int
    health: Health
    progressed_at: datetime
    """When its numbers last changed."""
    done_since: datetime | None = None
    """Since when it is complete without a sign of sickness; to be scaled is none."""
    failed_since: datetime | None = None
    """Since when its controller has given up."""
    grew_at: datetime | None = None
    """When more pods were last wanted than before."""
    shaken: bool = False
    """A pod that was ready is not any more, and it has not been complete since."""


class HealthIndex:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[Key, WatchedHealth] = {}
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

    def watched(self, key: Key) -> WatchedHealth | None:
        """With the times that a verdict depends on."""
        return self._known.get(key)

    def fold(
        self,
        kind: Kind,
        key: Key,
        manifest: Manifest,
        *,
        rolled: bool = False,
        judged: bool = False,
    ) -> bool:
        """`rolled`: it is a workload that we rolled; `judged`: its verdict matters to others.

        Whether it is another health than before.
        """
        news = self._followed.get(key)
        if news is None and not rolled and not judged:
            return False
        generation, known = manifest.metadata.generation, self._known.get(key)
        is_over = known and known.generation == generation and known.health.state is State.DONE
        if news is None and not judged and is_over:
            return False
        found = health(kind, manifest)
        is_other = known is None or known.health != found
        if is_other or (known and known.generation != generation):
            self._known[key] = self._watched(known, generation, found)
        if news is not None:
            news.set()
        return is_other

    def _watched(
        self, known: WatchedHealth | None, generation: int, found: Health
    ) -> WatchedHealth:
        now = self._clock.now()
        since = known.done_since if known else None
        shaken = known is not None and (known.shaken or _is_lost(known.health, found))
        if found.state is State.DONE:
            since, shaken = (now if shaken or since is None else since), False
        elif found.replacing or found.state is State.FAILED:
            since, shaken = None, False
        same = known is not None and _numbers(known.health) == _numbers(found)
        progressed = known.progressed_at if known and same else now
        gave_up = known.failed_since if known else None
        gave_up = (gave_up or now) if found.state is State.FAILED else None
        grew_at = known.grew_at if known else None
        if known and found.total > known.health.total:
            grew_at = now
        return WatchedHealth(generation, found, progressed, since, gave_up, grew_at, shaken)

    def forget(self, key: Key) -> None:
        """It is gone, or no longer managed."""
        self._known.pop(key, None)
        if news := self._followed.get(key):
            news.set()


def _is_lost(before: Health, now: Health) -> bool:
    """Whether a pod is not ready any more that is still wanted."""
    return now.ready < min(before.ready, now.total)


def _numbers(found: Health) -> tuple[int, int, int]:
    return found.total, found.updated, found.ready
