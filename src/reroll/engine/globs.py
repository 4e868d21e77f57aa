"""Who names sources by a glob, and whether it is known yet what that means."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from reroll.core.model.content import allows
from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern
from reroll.engine.wants import GlobMatches

Place = tuple[str, str]
"""A kind of source and a namespace."""


class Expanding(Protocol):
    """What has to know which sources there are."""

    def met(self, source: Key) -> None:
        """Who may name a source is known now: globs of those match it, and no others do."""

    def named_keys(self, user: Key, source: Key) -> frozenset[str]:
        """The keys of a source that one of its users names."""

    def expanded(self, want: GlobMatches, as_of: int) -> None:
        """What globs that were in use as of then match will not get any clearer."""


class Globs:
    def __init__(self) -> None:
        self._users: dict[Place, dict[Pattern, dict[str, set[Key]]]] = {}
        """For each pattern the workloads that use it, by their namespaces."""
        self._patterns: dict[Key, frozenset[Pattern]] = {}
        """Those of each workload: what it takes to forget them."""
        self.latest = 0
        """The number of the last use of a glob: a list that began before does not count for it."""
        self._unexpanded: dict[GlobMatches, dict[tuple[Key, Pattern], int]] = {}
        """The uses of which it is not known yet what they match, with their numbers, by the list
        that tells. What one namespace uses is in no list of another."""

    def use(self, key: Key, patterns: Iterable[Pattern]) -> Iterable[GlobMatches]:
        """These are the globs of a workload from now on; the lists that the new ones need."""
        wanted, had = frozenset(patterns), self._patterns.get(key, frozenset())
        self._drop(key, had - wanted)
        if wanted:
            self._patterns[key] = wanted
        new: dict[GlobMatches, None] = {}
        for pattern in wanted - had:
            place = place_of(pattern, key.namespace)
            by_home = self._users.setdefault(place, {}).setdefault(pattern, {})
            by_home.setdefault(key.namespace, set()).add(key)
            self.latest += 1
            listed = GlobMatches(*place, key.namespace)
            self._unexpanded.setdefault(listed, {})[key, pattern] = self.latest
            new[listed] = None
        return new.keys()

    def forget(self, key: Key) -> None:
        self._drop(key, self._patterns.get(key, frozenset()))

    def _drop(self, key: Key, patterns: frozenset[Pattern]) -> None:
        for pattern in patterns:
            place = place_of(pattern, key.namespace)
            self._expand(GlobMatches(*place, key.namespace), key, pattern)
            by_pattern = self._users[place]
            by_home = by_pattern[pattern]
            by_home[key.namespace].discard(key)
            if not by_home[key.namespace]:
                del by_home[key.namespace]
            if not by_home:
                del by_pattern[pattern]
            if not by_pattern:
                del self._users[place]
        left = self._patterns.get(key, frozenset()) - patterns
        if left:
            self._patterns[key] = left
        else:
            self._patterns.pop(key, None)

    # Lists

    def expanded(self, want: GlobMatches, as_of: int) -> Iterable[Key]:
        """A list ended that began as of then; the workloads that have waited for it."""
        uses = self._unexpanded.get(want, {})
        ended = [use for use, number in uses.items() if number <= as_of]
        for use in ended:
            self._expand(want, *use)
        return dict.fromkeys(user for user, _ in ended)

    def _expand(self, want: GlobMatches, key: Key, pattern: Pattern) -> None:
        uses = self._unexpanded.get(want, {})
        uses.pop((key, pattern), None)
        if not uses:
            self._unexpanded.pop(want, None)

    def unexpanded(self) -> tuple[GlobMatches, ...]:
        """The lists that uses of globs wait for."""
        return tuple(self._unexpanded)

    def waits(self, key: Key, pattern: Pattern) -> bool:
        """Whether it is not known yet what a glob of a workload matches."""
        if not self._unexpanded:
            return False
        want = GlobMatches(*place_of(pattern, key.namespace), key.namespace)
        return (key, pattern) in self._unexpanded.get(want, ())

    # What they mean

    def users_of(self, source: Key) -> Iterator[Key]:
        """The workloads with a glob that means this source."""
        for by_home in self._meaning(source):
            for users in by_home.values():
                yield from users

    def mean(self, source: Key, allowed: frozenset[str]) -> bool:
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
