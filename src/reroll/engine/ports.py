"""What a feature may use of the engine.

A feature holds an `EnginePort`, never the `World`: it subscribes, asks, and says which sources its
own objects use. It changes nothing else, and no key material leaves the engine.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.observe.workload import latest
from reroll.engine.world import World
from reroll.kube import resources


class Roll(NamedTuple):
    """A workload as others refer to it, and which of its rolls they are about."""

    api_version: str
    kind: str
    uid: str
    number: int
    """Of its last record."""


class EnginePort:
    def __init__(self, world: World) -> None:
        self._world = world

    def subscribe(self, kind: str, wake: Callable[[Key], None]) -> None:
        """Have `wake(user)` called when a source changes that an object of this kind uses."""
        self._world.subscribe(kind, wake)

    def use(self, user: Key, old: Iterable[Key], new: Iterable[Key]) -> None:
        """An object of a feature used the sources `old`, and uses `new` now."""
        self._world.sources.link(user, set(old), {source: Reference(source) for source in new})

    def users(self, source: Key) -> list[Key]:
        return sorted(self._world.sources.users(source))

    def watches(self, kind: str) -> bool:
        """Whether the settings have sources of this kind watched."""
        return kind in self._world.dialects.options.sources

    def is_refused(self, source: Key) -> bool:
        """Whether a right is missing to watch it."""
        return self._world.sources.is_refused(source.kind, source.namespace)

    def counts(self, namespace: str) -> bool:
        return self._world.namespaces.that_counts(namespace) is not None

    def rolls(self, group: str, kind: str) -> bool:
        """Whether workloads of this kind are rolled, so that the controller may patch them."""
        return any((row.group, row.kind) == (group, kind) for row in self._world.tables.kinds)

    def roll_of(self, workload: Key) -> Roll | None:
        """`None`: it is not there, or nobody opted it in."""
        tracked = self._world.workloads.get(workload)
        if tracked is None:
            return None
        resource = resources.of(self._world.tables.by_name[workload.kind])
        record = latest(tracked.workload)
        number = record.n if record else 0
        return Roll(resource.api_version, resource.kind, tracked.workload.uid, number)

    def digest(self, content: bytes) -> str:
        """A digest with the current key, after the id of that key."""
        current = self._world.keys.current
        return _digest(current, self._world.sources.keyring.get(current, b""), content)

    def is_digest(self, digest: str, content: bytes) -> bool:
        """Whether this is the digest of a content, with a key that is still known."""
        key_id = digest.partition(":")[0]
        key = self._world.sources.keyring.get(key_id)
        return key is not None and hmac.compare_digest(_digest(key_id, key, content), digest)


def _digest(key_id: str, key: bytes, content: bytes) -> str:
    return f"{key_id}:{hmac.new(key, content, hashlib.sha256).hexdigest()[:32]}"
