"""When to go slower: the API server answers slowly, or a share comes back again and again."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from reroll.clock import Clock

K = TypeVar("K", bound=Hashable)


class Ease:
    """Which part of the rates is used: less of them while the API server answers slowly.

    Falls by a third every `STEP` seconds in which answers take much longer than the quickest ones
    of late, and rises again with every answer that does not.
    """

    LEAST = 0.25
    LEAST_AGAIN = 0.02
    """For a share whose keys come back before all of them had a turn, see `Returns`."""
    STEP = 0.25
    SLOW, LATE = 4.0, 0.05
    """Slow is so many times the usual time, and so many seconds more."""
    SLOW_AGAIN, LATE_AGAIN = 2.0, 0.01
    MEMORY = 600.0
    """Seconds after which twice the time counts as usual."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.part, self.again = clock, 1.0, 1.0
        self._usual = self._recent = 0.0
        self._at = self._fell = clock.monotonic()

    def answered(self, seconds: float) -> None:
        """A write was answered after so long."""
        now = self._clock.monotonic()
        if not self._usual:
            self._usual = self._recent = seconds
        self._usual = min(seconds, self._usual * 2 ** ((now - self._at) / self.MEMORY))
        self._recent += (seconds - self._recent) / 8
        self._at = now
        is_step = now - self._fell >= self.STEP
        if is_step:
            self._fell = now
        slow = self._is_slow(self.SLOW, self.LATE)
        self.part = _eased(self.part, self.LEAST, slow=slow, is_step=is_step)
        slow = self._is_slow(self.SLOW_AGAIN, self.LATE_AGAIN)
        self.again = _eased(self.again, self.LEAST_AGAIN, slow=slow, is_step=is_step)

    def _is_slow(self, times: float, seconds: float) -> bool:
        return self._recent > max(times * self._usual, self._usual + seconds)


def _eased(part: float, least: float, *, slow: bool, is_step: bool) -> float:
    if not slow:
        return min(1.0, part + 0.01)
    return max(least, part * 2 / 3) if is_step else part


class Returns(Generic[K]):
    """Shares that flap: a key comes back while others of its share still wait for their first turn.

    A change of thousands of workloads is none, however long it takes: each has one turn. Where the
    same source changes again before all of them had theirs, more turns do not get them any further.
    """

    def __init__(self) -> None:
        self._had: dict[str, set[K]] = {}
        """The keys that had a turn, of shares of which keys wait."""
        self._back: set[str] = set()

    def __contains__(self, share: str) -> bool:
        return share in self._back

    def had_turn(self, share: str, key: K) -> None:
        """While others of its share wait."""
        self._had.setdefault(share, set()).add(key)

    def came(self, share: str, key: K) -> None:
        if key in self._had.get(share, ()):
            self._back.add(share)

    def ended(self, share: str) -> None:
        """No key of this share waits any more."""
        self._had.pop(share, None)
        self._back.discard(share)

    def clear(self) -> None:
        self._had.clear()
        self._back.clear()
