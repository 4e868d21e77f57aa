"""Every known Injection, with who claims which target and who waits for whom.

The sources that Injections read are linked into the engine's index, so its watches tell of their
changes and nothing is watched twice.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from reroll.core.model.injection import Injection, Manifest, Status, read
from reroll.core.model.key import Key
from reroll.core.model.metadata import version_number
from reroll.core.tables.reasons import Reason
from reroll.engine.ports import EnginePort
from reroll.features.injection.claims import Claims
from reroll.features.injection.decide import MOST_CLAIMS, Target


class Registry:
    """`wake(key)`: reconcile an Injection."""

    def __init__(self, engine: EnginePort, wake: Callable[[Key], None]) -> None:
        self._engine, self._wake = engine, wake
        self._known: dict[Key, Injection] = {}
        self._sources: dict[Key, frozenset[Key]] = {}
        self.claims = Claims()
        self._refused: set[Key] = set()
        """Those that a source of another namespace does not let read it: they claim nothing."""
        self._blockers: dict[Key, frozenset[Key]] = {}
        self._waiting: dict[Key, set[Key]] = {}
        """For each Injection those that it is in the way of."""

    def __iter__(self) -> Iterator[Injection]:
        return iter(tuple(self._known.values()))

    def get(self, key: Key) -> Injection | None:
        return self._known.get(key)

    def counts(self, injection: Injection) -> bool:
        """Whether its namespace is one that the controller works in."""
        return self._engine.counts(injection.key.namespace)

    def add(self, manifest: Manifest) -> None:
        """An Injection out of a watch or the answer to a patch; an older version is ignored."""
        new = read(manifest)
        old = self._known.get(new.key)
        if old is not None and old.uid == new.uid and _is_older(new, old):
            return
        is_other = old is None or _spec(old) != _spec(new)
        if is_other:
            if old is not None:
                self._unclaim(old)
            self.claims.add(new)
            self._refused.discard(new.key)
            if _was_refused(new):
                self._refused.add(new.key)
        self._known[new.key] = new
        if is_other:
            self._wake_all((*self.claims.newer(new), *self._waiting.get(new.key, ())))
        if old is None or _relevant(old) != _relevant(new):
            self._wake(new.key)

    def remove(self, key: Key, uid: str = "") -> None:
        """`uid`: only if it is this one, not a later one of the same name."""
        old = self._known.get(key)
        if old is not None and uid in {"", old.uid}:
            del self._known[key]
            self._unclaim(old)
            self._refused.discard(key)
            self.block(key, ())
            self._wake_all(self._waiting.get(key, ()))
            self._wake(key)

    def link_sources(self, key: Key, sources: frozenset[Key]) -> None:
        """Wake an Injection when one of these sources changes, and for no other source."""
        before = self._sources.pop(key, frozenset())
        if sources:
            self._sources[key] = sources
        if before != sources:
            self._engine.use(key, before, sources)

    def set_status(self, key: Key, status: Status) -> None:
        """The status from now on, whether or not it could be written."""
        if injection := self._known.get(key):
            self._known[key] = msgspec.structs.replace(injection, status=status)

    # Who is in whose way

    def block(self, key: Key, by: Iterable[Key]) -> None:
        """Wake an Injection when one of these changes or goes, and for no other."""
        for other in self._blockers.pop(key, ()):
            waiting = self._waiting[other]
            waiting.discard(key)
            if not waiting:
                del self._waiting[other]
        if blockers := frozenset(by):
            self._blockers[key] = blockers
            for other in blockers:
                self._waiting.setdefault(other, set()).add(key)

    def refuse(self, key: Key, *, refused: bool) -> None:
        """Whether a source of another namespace does not let an Injection read it."""
        injection = self._known.get(key)
        if injection is None or refused is (key in self._refused):
            return
        if refused:
            self._refused.add(key)
            self._wake_all(self._waiting.get(key, ()))
        else:
            self._refused.discard(key)
            self._wake_all(self.claims.newer(injection))

    def claimants(self, injection: Injection, target: Target, home: str) -> list[Injection]:
        """The Injections of one namespace that come before this one and claim the same object."""
        return self._claiming(self.claims.older(injection, target, home))

    def writers(self, source: Key) -> list[Injection]:
        """The Injections that ask to write to a ConfigMap or Secret."""
        homes = self.claims.homes(Target("", *source))
        keys = [key for ages in homes.values() for _, key in ages[:MOST_CLAIMS]]
        return self._claiming(keys)

    def _claiming(self, keys: Iterable[Key]) -> list[Injection]:
        found = [self._known[key] for key in keys if key not in self._refused]
        return [injection for injection in found if self.counts(injection)]

    def _unclaim(self, old: Injection) -> None:
        self._wake_all(self.claims.remove(old))

    def _wake_all(self, keys: Iterable[Key]) -> None:
        for key in dict.fromkeys(keys):
            self._wake(key)


def _spec(injection: Injection) -> tuple[str, int, bool]:
    """What differs when it may be in the way of others than before."""
    return injection.uid, injection.generation, injection.deleting


def _was_refused(injection: Injection) -> bool:
    """By what its status says; the next reconciliation finds out whether that still holds."""
    return injection.status.observed_generation == injection.generation and any(
        condition.reason == Reason.NOT_ALLOWED.word for condition in injection.status.conditions
    )


def _is_older(new: Injection, old: Injection) -> bool:
    return version_number(new.version) < version_number(old.version)


def _relevant(injection: Injection) -> tuple[str, int, bool, Status]:
    """What calls for a reconciliation when it changes."""
    return injection.uid, injection.generation, injection.deleting, injection.status
