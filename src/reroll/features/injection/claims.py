"""Injections by the object that they write to, those of each namespace in the order of their age.

Whether a kind has namespaces only the API knows, so an Injection that names none is found by either
reading of its target.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from reroll.core.model.injection import Injection
from reroll.core.model.key import Key
from reroll.features.injection.decide import MOST_CLAIMS, Age, Target, age, claims, target_of

_ByHome = dict[str, list[Age]]


class Claims:
    def __init__(self) -> None:
        self._by_target: dict[Target, _ByHome] = {}

    def add(self, injection: Injection) -> None:
        if claims(injection):
            for target in _targets(injection):
                by_home = self._by_target.setdefault(target, {})
                insort(by_home.setdefault(injection.key.namespace, []), age(injection))

    def remove(self, injection: Injection) -> Iterator[Key]:
        """Those whose turn it is because one Injection less is in front of them."""
        if not claims(injection):
            return
        for target in _targets(injection):
            by_home = self._by_target[target]
            ages = by_home[injection.key.namespace]
            del ages[bisect_left(ages, age(injection))]
            if len(ages) >= MOST_CLAIMS:
                yield ages[MOST_CLAIMS - 1][1]
            if not ages:
                del by_home[injection.key.namespace]
            if not by_home:
                del self._by_target[target]

    def homes(self, target: Target) -> Mapping[str, list[Age]]:
        """The Injections for a target, by their namespaces."""
        return self._by_target.get(target, {})

    def older(self, injection: Injection, target: Target, home: str) -> list[Key]:
        """Of one namespace, those that come before an Injection and are carried out."""
        ages = self.homes(target).get(home, [])
        return [key for _, key in ages[: min(MOST_CLAIMS, self.rank(injection, target, home))]]

    def rank(self, injection: Injection, target: Target, home: str) -> int:
        """How many Injections of a namespace come before this one."""
        return bisect_left(self.homes(target).get(home, []), age(injection))

    def newer(self, injection: Injection) -> Iterator[Key]:
        """Those that it may be in the way of."""
        for target in _targets(injection):
            for home, ages in self.homes(target).items():
                for _, key in ages[self.rank(injection, target, home) : MOST_CLAIMS]:
                    if key != injection.key:
                        yield key


def _targets(injection: Injection) -> tuple[Target, ...]:
    named = target_of(injection)
    return (named,) if injection.spec.to.namespace else (named, named._replace(namespace=""))
