"""How much work the writes of one namespace's workloads may make, in a second.

What a large pod template refers to takes milliseconds to work out, and whoever may write it may do
so dozens of times a second: then nothing else would get a turn. So what is beyond the measure is
passed over, and the workload read later, as it is then. Workloads of usual size count for nothing.
"""

import asyncio
from collections.abc import Callable

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.workload import Workload
from reroll.core.tables import limits
from reroll.engine.budget import Budget
from reroll.engine.tracked import Tracked

PER_SECOND = limits.NAMESPACE_WRITES.number
READ = 200
"""What it costs to read a workload again; what costs less is not counted."""
BYTES = 256
"""Of a spec: they take as long as a place that names a source."""
COMPARED = 4
"""A source that is compared takes as long as so many places."""
LONGEST = 3.0
"""Seconds, after which all is forgiven: a first list may have far more than the measure."""


class Effort:
    """`read(key)`: a workload that was passed over is to be read, as it is now."""

    def __init__(self, read: Callable[[Key], None]) -> None:
        self._read = read
        self._spent = Budget(PER_SECOND, LONGEST)
        self._late: dict[str, dict[Key, int]] = {}
        """By namespace, with what each will cost as far as that is known."""
        self._missed: set[Key] = set()
        """Those of which the watch brought something that was passed over."""

    def spend(self, namespace: str, cost: int) -> None:
        if cost >= READ:
            self._spent.spend(namespace, cost)

    def is_beyond(self, namespace: str) -> bool:
        """Whether a namespace is beyond its measure, or has something left from when it was."""
        return namespace in self._late or self._spent.wait(namespace) > 0

    def pass_over(self, key: Key, cost: int) -> None:
        """Have a workload read later; it will cost about so much."""
        self._missed.add(key)
        home = key.namespace
        if home not in self._late:
            self._late[home] = {}
            self._wait(home)
        self._late[home][key] = max(READ, cost)

    def is_next(self, key: Key) -> bool:
        """Whether nothing of a workload was passed over since the watch last brought it."""
        if key not in self._missed:
            return True
        self._missed.discard(key)
        return False

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._missed.discard(key)
        self._late.get(key.namespace, {}).pop(key, None)

    def _wait(self, namespace: str) -> None:
        seconds = self._spent.wait(namespace)
        asyncio.get_running_loop().call_later(seconds, self._catch_up, namespace)

    def _catch_up(self, namespace: str) -> None:
        late = self._late[namespace]
        while late and not self._spent.wait(namespace):
            key = next(iter(late))
            self._spent.spend(namespace, late.pop(key))
            self._read(key)
        if late:
            self._wait(namespace)
        else:
            del self._late[namespace]


def of_spec(now: Workload | None, manifest: Manifest) -> int:
    """What it costs to work out what a spec says."""
    size = len(manifest.spec) // BYTES
    if now is None:
        return size
    return size + (limits.USES.number if now.crowded else len(now.uses))


def is_usual(manifest: Manifest) -> bool:
    """Whether a workload is no larger than most, with all that people wrote on it."""
    annotations = sum(map(len, (manifest.metadata.annotations or {}).values()))
    return (len(manifest.spec) + len(manifest.status) + annotations) // BYTES < READ


def of_links(tracked: Tracked, is_linked: bool, is_compared: bool) -> int:
    """What it costs to find what a workload refers to, and to compare that for others."""
    refs = len(tracked.references)
    found = 0 if is_linked else refs + len(tracked.workload.uses)
    return found + (COMPARED * refs if is_compared else 0)
