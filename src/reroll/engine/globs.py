"""Who names sources by a glob, and whether it is known yet what that means."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern

Place = tuple[str, str]
"""A kind of source and a namespace."""


class Expanding(Protocol):
    """What has to know which sources there are."""

    def met(self, source: Key) -> None:
        """A glob matches a source that was not known so far."""

    def named_keys(self, user: Key, source: Key) -> frozenset[str]:
        """The keys of a source that one of its users names."""

    def expanded(self, kind: str, namespace: str) -> None:
        """What globs match in a namespace will not get any clearer."""


class Globs:
    def __init__(self) -> None:
        self._users: dict[Place, dict[Pattern, set[Key]]] = {}
        self._patterns: dict[Key, frozenset[Pattern]] = {}
        """Those of each workload: what it takes to forget them."""
        self.unexpanded: set[Place] = set()
        """The places of which the names are not known yet."""

    def use(self, key: Key, patterns: Iterable[Pattern]) -> list[Place]:
        """These are the globs of a workload from now on; the places that are new for it."""
        wanted, had = frozenset(patterns), self._patterns.get(key, frozenset())
        self._drop(key, had - wanted)
        if wanted:
            self._patterns[key] = wanted
        new = []
        for pattern in wanted - had:
            place = place_of(pattern, key.namespace)
            self._users.setdefault(place, {}).setdefault(pattern, set()).add(key)
            self.unexpanded.add(place)
            new.append(place)
        return new

    def forget(self, key: Key) -> None:
        self._drop(key, self._patterns.get(key, frozenset()))

    def _drop(self, key: Key, patterns: frozenset[Pattern]) -> None:
        for pattern in patterns:
            place = place_of(pattern, key.namespace)
            by_pattern = self._users[place]
            users = by_pattern[pattern]
            users.discard(key)
            if not users:
                del by_pattern[pattern]
            if not by_pattern:
                del self._users[place]
        left = self._patterns.get(key, frozenset()) - patterns
        if left:
            self._patterns[key] = left
        else:
            self._patterns.pop(key, None)

    def users_in(self, place: Place) -> Iterator[Key]:
        for users in self._users.get(place, {}).values():
            yield from users

    def users_of(self, source: Key) -> Iterator[Key]:
        """The workloads with a glob that means this source."""
        for pattern, users in self._users.get((source.kind, source.namespace), {}).items():
            if pattern.means(source.name):
                yield from users

    def mean(self, source: Key) -> bool:
        return any(True for _ in self.users_of(source))


def place_of(pattern: Pattern, home: str) -> Place:
    return pattern.kind, pattern.namespace or home
