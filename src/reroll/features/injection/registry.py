"""Every known Injection, indexed by its target's name and by the Injections it waits for.

The sources that Injections read are linked into the engine's index, so its watches tell of their
changes and nothing is watched twice.
"""

from collections.abc import Callable, Iterator

import msgspec

from reroll.core.model.injection import Injection, Manifest, Status, read
from reroll.core.model.key import Key
from reroll.core.model.metadata import version_number
from reroll.core.tables.reasons import Reason
from reroll.engine.ports import EnginePort
from reroll.features.injection.decide import target_of

_CONTESTED = frozenset(reason.word for reason in Reason if reason.contested)
TargetName = tuple[str, str, str]
"""Group, kind and name: only the API knows whether the kind has namespaces."""


class Registry:
    """`wake(key)`: reconcile an Injection."""

    def __init__(self, engine: EnginePort, wake: Callable[[Key], None]) -> None:
        self._engine, self._wake = engine, wake
        self._known: dict[Key, Injection] = {}
        self._sources: dict[Key, frozenset[Key]] = {}
        self._by_target: dict[TargetName, set[Key]] = {}
        self._blocked: set[Key] = set()
        """Those that another Injection blocks."""

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
        self._index(new, old)
        if old is None or (old.uid, old.generation) != (new.uid, new.generation):
            self._wake_related(new, old or new)
        if old is None or _relevant(old) != _relevant(new):
            self._wake(new.key)

    def remove(self, key: Key, uid: str = "") -> None:
        """`uid`: only if it is this one, not a later one of the same name."""
        old = self._known.get(key)
        if old is not None and uid in {"", old.uid}:
            del self._known[key]
            self._by_target[_target_name(old)].discard(key)
            self._blocked.discard(key)
            self._wake_related(old, old)
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
            self._index(msgspec.structs.replace(injection, status=status), injection)

    def with_same_target_name(self, injection: Injection) -> list[Injection]:
        """The others that may mean the same object, unless their namespaces differ."""
        keys = self._by_target.get(_target_name(injection), set())
        return [self._known[key] for key in keys - {injection.key}]

    def flows(self) -> dict[Key, list[Key]]:
        """For each source, the sources that Injections write with its content."""
        flows: dict[Key, list[Key]] = {}
        for injection in self:
            target = target_of(injection)
            if target.is_source and not injection.spec.dry_run and not injection.deleting:
                for source in injection.sources:
                    flows.setdefault(source, []).append(target.key)
        return flows

    def _index(self, new: Injection, old: Injection | None) -> None:
        if old is not None:
            self._by_target[_target_name(old)].discard(old.key)
        self._known[new.key] = new
        self._by_target.setdefault(_target_name(new), set()).add(new.key)
        is_blocked = any(condition.reason in _CONTESTED for condition in new.status.conditions)
        (self._blocked.add if is_blocked else self._blocked.discard)(new.key)

    def _wake_related(self, new: Injection, old: Injection) -> None:
        """Wake the Injections that a change of this one may unblock or block."""
        names = {_target_name(new), _target_name(old)}
        related = self._blocked.union(*(self._by_target.get(name, ()) for name in names))
        for key in related - {new.key}:
            self._wake(key)


def _target_name(injection: Injection) -> TargetName:
    to = injection.spec.to
    return to.group, to.kind, to.name


def _is_older(new: Injection, old: Injection) -> bool:
    return version_number(new.version) < version_number(old.version)


def _relevant(injection: Injection) -> tuple[str, int, bool, Status]:
    """What calls for a reconciliation when it changes."""
    return injection.uid, injection.generation, injection.deleting, injection.status
