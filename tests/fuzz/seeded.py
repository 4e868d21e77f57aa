"""Generators of valid documents that cost hypothesis one draw each: a seed.

What is worth shrinking is the mutation, not the document that it is made to.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
U = TypeVar("U")


class Gen(Generic[T]):
    def __init__(self, make: Callable[[Random], T]) -> None:
        self.make = make

    def map(self, change: Callable[[T], U]) -> "Gen[U]":
        return Gen(lambda random: change(self.make(random)))

    def __or__(self, other: "Gen[Any]") -> "Gen[Any]":
        return Gen(lambda random: random.choice((self, other)).make(random))

    @property
    def documents(self) -> st.SearchStrategy[T]:
        """As a strategy."""
        return st.integers(0, 2**32).map(lambda seed: self.make(Random(seed)))


def just(value: T) -> Gen[T]:
    return Gen(lambda _: value)


def sampled_from(values: Sequence[T]) -> Gen[T]:
    return Gen(lambda random: random.choice(values))


def integers(least: int, most: int) -> Gen[int]:
    return Gen(lambda random: random.randint(least, most))


def booleans() -> Gen[bool]:
    return sampled_from((True, False))


def lists(items: Gen[T], *, least: int = 0, most: int) -> Gen[list[T]]:
    return Gen(lambda random: [items.make(random) for _ in range(random.randint(least, most))])


def dictionaries(names: Gen[str], values: Gen[Any], *, most: int) -> Gen[dict[str, Any]]:
    pairs = lists(Gen(lambda random: (names.make(random), values.make(random))), most=most)
    return pairs.map(dict)


def fields(
    always: Mapping[str, Gen[Any]], maybe: Mapping[str, Gen[Any]] = MappingProxyType({})
) -> Gen[dict[str, Any]]:
    """An object with these fields, and some of the others."""

    def make(random: Random) -> dict[str, Any]:
        some = {name: each for name, each in maybe.items() if random.random() < 0.4}
        return {name: each.make(random) for name, each in {**always, **some}.items()}

    return Gen(make)
