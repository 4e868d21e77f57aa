"""Keys that leave in turn: one of each share, then one of each again.

A share is whom a key belongs to: its namespace, as a rule. However many keys one share has, the
next key of another one is behind at most one key of each share. Every operation takes the same
time, whatever is in it.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Share = Callable[[K], str]


def one_share(_: Hashable) -> str:
    """All keys are of one share: they leave in the order in which they came."""
    return ""


class Rotation(Generic[K]):
    """Each key comes with a time, which is given back with it."""

    def __init__(self, share: Share[K]) -> None:
        self._share = share
        self.times: dict[K, float] = {}
        """The time of each key. To be read only, as `turns` is: here, so that it costs no call."""
        self.turns: OrderedDict[str, OrderedDict[K, None]] = OrderedDict()
        """The keys of each share in their order; the share whose turn it is comes first.

        Empty: no key may leave now.
        """
        self._resting: dict[str, OrderedDict[K, None]] = {}
        """The shares that are left out for now."""

    def add(self, key: K, time: float) -> None:
        """It comes last of its share; it must not be in already."""
        share = self._share(key)
        keys = self._resting.get(share) if self._resting else None
        if keys is None:
            keys = self.turns.get(share)
            if keys is None:
                keys = self.turns[share] = OrderedDict()
        keys[key] = None
        self.times[key] = time

    def pop(self) -> tuple[K, float]:
        """The key whose turn it is; its share comes last from now on."""
        share = next(iter(self.turns))
        keys = self.turns[share]
        key, _ = keys.popitem(last=False)
        if keys:
            self.turns.move_to_end(share)
        else:
            del self.turns[share]
        return key, self.times.pop(key)

    def discard(self, key: K) -> float | None:
        """Take a key out; its time, if it was in."""
        time = self.times.pop(key, None)
        if time is None:
            return None
        share = self._share(key)
        if (keys := self._resting.get(share)) is not None:
            del keys[key]
            return time
        keys = self.turns[share]
        del keys[key]
        if not keys:
            del self.turns[share]
        return time

    def ahead(self, key: K) -> int:
        """How many keys would leave before this one, at most, if it were added now."""
        keys = self.turns.get(self._share(key))
        shares = len(self.turns) + (keys is None)
        return min(len(self.times), (len(keys or ()) + 1) * shares - 1)

    def has(self, share: str) -> bool:
        """Whether a key of this share is in."""
        return bool(self.turns.get(share) or self._resting.get(share))

    def rests(self, share: str) -> bool:
        return share in self._resting

    def rest(self, share: str) -> None:
        """Leave a share out, with all its keys to come, until `resume`."""
        self._resting[share] = self.turns.pop(share, OrderedDict())

    def resume(self, share: str) -> None:
        if keys := self._resting.pop(share, None):
            self.turns[share] = keys

    def clear(self) -> None:
        """Take all keys out; shares that are left out stay so."""
        self.times.clear()
        self.turns.clear()
        for keys in self._resting.values():
            keys.clear()
