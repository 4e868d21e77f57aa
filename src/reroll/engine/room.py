"""How much the workloads of one namespace may refer to, all of them together.

Each of them has limits of its own, but thousands within those limits would still take the memory of
everybody else, and each glob is tried on every source that appears. A workload for which there is
no room is out: it is held, nothing that it refers to is kept, and it comes in when others leave.
"""

from collections import Counter
from collections.abc import Collection

from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.regexes import compiled
from reroll.core.tables import limits

_INSTRUCTIONS = 10
"""So many instructions of a regular expression take as long as a glob."""


class Room:
    def __init__(self) -> None:
        self._sizes: dict[Key, int] = {}
        self._taken: Counter[str] = Counter()
        self._globs: dict[Key, frozenset[Pattern]] = {}
        self._users: dict[str, Counter[Pattern]] = {}
        """How many workloads of each namespace use a glob: each counts once."""
        self._weights: Counter[str] = Counter()
        self._out: dict[str, dict[Key, None]] = {}

    def is_out(self, key: Key) -> bool:
        return key in self._out.get(key.namespace, ())

    def admits(self, key: Key, size: int, globs: Collection[Pattern] = ()) -> bool:
        """Whether there is room for a workload with this many places, sources and these globs.

        If not, it is out, and what it had is free.
        """
        self.leave(key)
        home, wanted = key.namespace, frozenset(globs)
        more = sum(weight(one) for one in wanted if one not in self._users.get(home, ()))
        is_room = (
            self._taken[home] + size <= limits.NAMESPACE_SOURCES.number
            and self._weights[home] + more <= limits.NAMESPACE_GLOBS.number
        )
        if is_room:
            self._enter(key, size, wanted)
        else:
            self._out.setdefault(home, {})[key] = None
        return is_room

    def grows(self, key: Key, by: int = 1) -> bool:
        """Whether there is room for one more source of a workload; if not, nothing changed."""
        home = key.namespace
        if self._taken[home] + by > limits.NAMESPACE_SOURCES.number:
            return False
        self._sizes[key] = self._sizes.get(key, 0) + by
        self._taken[home] += by
        return True

    def leave(self, key: Key) -> None:
        """It takes no room any more, and waits for none."""
        home = key.namespace
        if (waiting := self._out.get(home)) is not None:
            waiting.pop(key, None)
            if not waiting:
                del self._out[home]
        self._taken[home] -= self._sizes.pop(key, 0)
        for glob in self._globs.pop(key, ()):
            users = self._users[home]
            users[glob] -= 1
            if not users[glob]:
                del users[glob]
                self._weights[home] -= weight(glob)
        if not self._taken[home] and not self._users.get(home):
            for each in (self._taken, self._users, self._weights):
                each.pop(home, None)

    def first_out(self, namespace: str) -> Key | None:
        """Who has waited longest for room there."""
        return next(iter(self._out.get(namespace, ())), None)

    def _enter(self, key: Key, size: int, globs: frozenset[Pattern]) -> None:
        home = key.namespace
        self._sizes[key] = size
        self._taken[home] += size
        if globs:
            self._globs[key] = globs
            users = self._users.setdefault(home, Counter())
            self._weights[home] += sum(weight(one) for one in globs if one not in users)
            users.update(globs)


def weight(glob: Pattern) -> int:
    """How many globs it counts for."""
    return max(2, compiled(glob.name).cost // _INSTRUCTIONS) if glob.regex else 1
