"""Every Injection that is known, by what it reads and by what it writes to.

The sources that Injections read are linked into the engine's own index, so that its watches tell of
their changes and nothing is watched twice.
"""

from collections.abc import Callable, Iterator

import msgspec

from reroll.core.model.injection import Injection, Manifest, Status, read
from reroll.core.model.key import Key
from reroll.core.model.reference import ALWAYS
from reroll.core.tables.reasons import Reason
from reroll.engine.sources import Sources
from reroll.features.injection.decide import Target

_SHARED = (Reason.CLAIMED.word, Reason.LOOP.word)
"""What may end when another Injection changes."""


class Book:
    """`wake(key)`: look at an Injection."""

    def __init__(self, sources: Sources, wake: Callable[[Key], None]) -> None:
        self._sources, self._wake = sources, wake
        self._known: dict[Key, Injection] = {}
        self._linked: dict[Key, frozenset[Key]] = {}
        self._namesakes: dict[Names, set[Key]] = {}
        """By group, kind and name of their targets."""
        self._shared: set[Key] = set()
        """Those that wait for another Injection."""

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
        self._note(new, old)
        if old is None or old.uid != new.uid or old.generation != new.generation:
            self._wake_others(new, old)
        if old is None or _wakes(old) != _wakes(new):
            self._wake(new.key)

    def gone(self, key: Key, uid: str = "") -> None:
        """`uid`: only if it is this one, and not one that was made since."""
        old = self._known.get(key)
        if old is not None and uid in {"", old.uid}:
            del self._known[key]
            self._namesakes[_names(old)].discard(key)
            self._shared.discard(key)
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
            self._note(msgspec.structs.replace(one, status=status), one)

    def _note(self, new: Injection, old: Injection | None) -> None:
        if old is not None:
            self._namesakes[_names(old)].discard(old.key)
        self._known[new.key] = new
        self._namesakes.setdefault(_names(new), set()).add(new.key)
        waits = any(condition.reason in _SHARED for condition in new.status.conditions)
        (self._shared.add if waits else self._shared.discard)(new.key)

    def rivals(self, one: Injection) -> list[Injection]:
        """The others that may mean the same object, if their namespaces do not tell them apart."""
        return [self._known[key] for key in self._namesakes.get(_names(one), ()) if key != one.key]

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
        """Those for whom it may make a difference."""
        alike = {_names(new), _names(old or new)}
        others = self._shared.union(*(self._namesakes.get(names, ()) for names in alike))
        for key in others - {new.key}:
            self._wake(key)


Names = tuple[str, str, str]


def _names(one: Injection) -> Names:
    return one.spec.to.group, one.spec.to.kind, one.spec.to.name


def _wakes(one: Injection) -> tuple[str, int, bool, Status]:
    """What is worth a look when it changes."""
    return one.uid, one.generation, one.deleting, one.status
