"""How fast: a token bucket for rolls, and growing delays for what failed."""

from collections.abc import Hashable

from reroll.clock import Clock


class Pacer:
    """At most `burst` at once and `rate` a second after that."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock, self._rate, self._burst = clock, rate, burst
        self._tokens, self._at = float(burst), clock.monotonic()

    def wait(self) -> float:
        """Take a turn: 0, or the seconds until there is one (and then nothing was taken)."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._rate


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
