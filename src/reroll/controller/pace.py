"""How fast: a token bucket for rolls, and growing delays for what failed."""

from collections.abc import Hashable

from reroll.clock import Clock

PATIENCE = 5.0
"""Seconds after which the turn of a key passes to the next."""


class Pacer:
    """At most `burst` at once and `rate` a second after that, first come, first served.

    A key that does not come back when its turn has come loses its place in the line.
    """

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock, self._rate, self._burst = clock, rate, burst
        self._tokens, self._at = float(burst), clock.monotonic()
        self._line: dict[Hashable, float] = {}
        """The keys that wait, in their order, and when the turn of each comes."""

    def wait(self, key: Hashable) -> float:
        """The seconds until it is the turn of a key, which keeps its place in the line; 0: now."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        while self._line and (first := next(iter(self._line))) != key:
            if now < self._line[first] + PATIENCE:
                break
            del self._line[first]
        if not self._line and self._tokens >= 1:
            return 0.0
        ahead = len(self._line)
        if key in self._line:
            ahead = next(place for place, one in enumerate(self._line) if one == key)
        seconds = max(0.0, (ahead + 1 - self._tokens) / self._rate)
        self._line[key] = now + seconds
        return seconds

    def take(self, key: Hashable) -> None:
        """The key has its turn."""
        self._tokens -= 1
        self._line.pop(key, None)

    def leave(self, key: Hashable) -> None:
        """The key needs no turn any more."""
        self._line.pop(key, None)


class Backoff:
    """For each key a delay that doubles with every failure in a row, with jitter, for ever."""

    def __init__(self, clock: Clock, first: float = 0.2, most: float = 60.0) -> None:
        self._clock, self._first, self._most = clock, first, most
        self._failures: dict[Hashable, int] = {}

    def failed(self, key: Hashable, at_least: float = 0.0) -> float:
        """The delay before the next try."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(self._most, self._first * 2 ** min(failures - 1, 20))
        return max(at_least, self._clock.jitter(delay))

    def succeeded(self, key: Hashable) -> None:
        self._failures.pop(key, None)
