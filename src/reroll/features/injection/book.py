"""Every Injection that is known, by what it reads and by what it writes to.

The sources that Injections read are linked into the engine's own index, so that its watches tell of
their changes and nothing is watched twice.
"""

from collections.abc import Callable, Iterator

import msgspec

from reroll.core.injecting import Target
from reroll.core.injections import Injection, Manifest, Status, read
from reroll.core.objects import ALWAYS, Key
from reroll.core.reasons import Reason
from reroll.features.rollout.sources import Sources

_SHARED = (Reason.CLAIMED.word, Reason.LOOP.word)
"""What may end when another Injection changes."""


class Book:
    """`wake(key)`: look at an Injection."""

    def __init__(self, sources: Sources, wake: Callable[[Key], None]) -> None:
        self._sources, self._wake = sources, wake
        self._known: dict[Key, Injection] = {}
        self._linked: dict[Key, frozenset[Key]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Injection]:
        return iter(tuple(self._known.values()))

    def get(self, key: Key) -> Injection | None:
        return self._known.get(key)

    def seen(self, manifest: Manifest) -> None:
        """An Injection as a watch or the answer to a patch brings it."""
        new = read(manifest)
        old = self._known.get(new.key)
        if old is not None and old.uid == new.uid and int(new.version) < int(old.version):
            return
        self._known[new.key] = new
        if old is None or old.uid != new.uid or old.generation != new.generation:
            self._wake_others(new, old)
        if old is None or _wakes(old) != _wakes(new):
            self._wake(new.key)

    def gone(self, key: Key) -> None:
        old = self._known.pop(key, None)
        if old is not None:
            self._wake_others(old, None)
            self._wake(key)

    def attend(self, key: Key, sources: frozenset[Key]) -> None:
        """Be told when one of these sources of an Injection changes, and of no other."""
        before = self._linked.pop(key, frozenset())
        if sources:
            self._linked[key] = sources
        if before != sources:
            self._sources.link(key, set(before), dict.fromkeys(sources, ALWAYS))

    def told(self, key: Key, status: Status) -> None:
        """What its status says from now on, whether or not that could be written."""
        if one := self._known.get(key):
            self._known[key] = msgspec.structs.replace(one, status=status)

    def rivals(self, one: Injection) -> list[Injection]:
        """The others that may mean the same object, if their namespaces do not tell them apart."""
        return [other for other in self if other.key != one.key and _names(other) == _names(one)]

    def feeds(self) -> dict[Key, list[Key]]:
        """For each source, the sources that Injections write with what it holds."""
        found: dict[Key, list[Key]] = {}
        for one in self:
            to, home = one.spec.to, one.key.namespace
            target = Target(to.group, to.kind, to.namespace or home, to.name)
            if target.is_source and not one.spec.dry_run and not one.deleting:
                for source in one.sources:
                    found.setdefault(source, []).append(target.key)
        return found

    def _wake_others(self, new: Injection, old: Injection | None) -> None:
        for other in self:
            reasons = {condition.reason for condition in other.status.conditions}
            alike = _names(other) in {_names(new), _names(old or new)}
            if other.key != new.key and (alike or not reasons.isdisjoint(_SHARED)):
                self._wake(other.key)


def _names(one: Injection) -> tuple[str, str, str]:
    return one.spec.to.group, one.spec.to.kind, one.spec.to.name


def _wakes(one: Injection) -> tuple[str, int, bool, Status]:
    """What is worth a look when it changes."""
    return one.uid, one.generation, one.deleting, one.status
