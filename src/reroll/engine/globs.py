"""Who names sources by a glob, and whether it is known yet what that means."""

from collections.abc import Iterable, Iterator

from reroll.core.model.content import allows
from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern

Place = tuple[str, str]
"""A kind of source and a namespace."""


class Globs:
    def __init__(self) -> None:
        self._users: dict[Place, dict[Pattern, dict[str, set[Key]]]] = {}
        """For each pattern the workloads that use it, by their namespaces."""
        self.unexpanded: set[Place] = set()
        """The places of which the names are not known yet."""

    def use(self, key: Key, patterns: Iterable[Pattern]) -> list[Place]:
        """These are the globs of a workload from now on; the places that are new for it."""
        wanted = set(patterns)
        self.forget(key, keep=wanted)
        new = []
        for pattern in wanted:
            place = place_of(pattern, key.namespace)
            by_home = self._users.setdefault(place, {}).setdefault(pattern, {})
            users = by_home.setdefault(key.namespace, set())
            if key not in users:
                users.add(key)
                self.unexpanded.add(place)
                new.append(place)
        return new

    def forget(self, key: Key, keep: Iterable[Pattern] = ()) -> None:
        for place, by_pattern in list(self._users.items()):
            for pattern, by_home in list(by_pattern.items()):
                users = by_home.get(key.namespace)
                if users is not None and pattern not in keep:
                    users.discard(key)
                    if not users:
                        del by_home[key.namespace]
                if not by_home:
                    del by_pattern[pattern]
            if not by_pattern:
                del self._users[place]

    def users_in(self, place: Place) -> Iterator[Key]:
        for by_home in self._users.get(place, {}).values():
            for users in by_home.values():
                yield from users

    def users_of(self, source: Key) -> Iterator[Key]:
        """The workloads with a glob that means this source."""
        for by_home in self._meaning(source):
            for users in by_home.values():
                yield from users

    def mean(self, source: Key, allowed: Iterable[str]) -> bool:
        """Whether a workload that may name this source has a glob that means it.

        `allowed`: the namespaces that the source lets name it, besides its own.
        """
        return any(
            home == source.namespace or allows(allowed, home)
            for by_home in self._meaning(source)
            for home in by_home
        )

    def _meaning(self, source: Key) -> Iterator[dict[str, set[Key]]]:
        for pattern, by_home in self._users.get((source.kind, source.namespace), {}).items():
            if pattern.means(source.name):
                yield by_home


def place_of(pattern: Pattern, home: str) -> Place:
    return pattern.kind, pattern.namespace or home
