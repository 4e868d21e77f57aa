"""Answers to patches of ours that are not taken into the world yet, because others come first."""

from collections.abc import Callable

from reroll.core.model.key import Key


class PutBy:
    """At most one of each workload: nobody else writes it meanwhile."""

    def __init__(self) -> None:
        self._answers: dict[Key, tuple[int, Callable[[], None]]] = {}

    def add(self, key: Key, version: int, take_in: Callable[[], None]) -> None:
        """An answer of this version, and what puts it into the world."""
        self._answers[key] = version, take_in

    def take_in(self, key: Key) -> None:
        if key in self._answers:
            _, take_in = self._answers.pop(key)
            take_in()

    def forget(self, key: Key) -> None:
        """The workload is gone."""
        self._answers.pop(key, None)

    def covers(self, key: Key, version: int) -> bool:
        """Whether what a watch brings is no newer; an answer that is older is taken in first."""
        if key not in self._answers:
            return False
        if 0 < version <= self._answers[key][0]:
            return True
        self.take_in(key)
        return False
