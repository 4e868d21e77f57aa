"""How fast: turns for what is written, and growing delays for what failed."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from reroll.clock import Clock
from reroll.controller.rotation import Rotation, Share, one_share

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)
PATIENCE = 5.0
"""Seconds after which a turn that its key did not take passes to the next."""
WHOLE = 1 - 1e-6
"""So much of a turn is one: times are floats."""


class Rate(NamedTuple):
    per_second: float
    burst: int
    """So many at once, after a time without any."""


class Ease:
    """Which part of the rates is used: less of them while the API server answers slowly.

    Falls by a third every `STEP` seconds in which answers take much longer than the quickest ones
    of late, and rises again with every answer that does not.
    """

    LEAST = 0.25
    STEP = 0.25
    SLOW, LATE = 4.0, 0.05
    """Slow is so many times the usual time, and so many seconds more."""
    MEMORY = 600.0
    """Seconds after which twice the time counts as usual."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.part = clock, 1.0
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
        if self._recent <= max(self.SLOW * self._usual, self._usual + self.LATE):
            self.part = min(1.0, self.part + 0.01)
        elif now - self._fell >= self.STEP:
            self.part, self._fell = max(self.LEAST, self.part * 2 / 3), now


class Line(Generic[K]):
    """Who has a turn now, and who waits for one, round robin by share.

    To wait costs nothing: a key that waits is not looked at until its turn comes, when `wake(key)`
    is called, once. A turn that is not taken within `PATIENCE` passes on. So in any stretch of time
    there are at most `burst` turns and those that the rate gives in it and in `PATIENCE` before.
    """

    def __init__(
        self,
        clock: Clock,
        rate: Rate,
        *,
        share: Share[K] = one_share,
        wake: Callable[[K], None] = lambda _: None,
        ease: Ease | None = None,
    ) -> None:
        self._clock, self._rate, self.wake = clock, rate, wake
        self._ease = ease or Ease(clock)
        self._turns, self._at = float(rate.burst), clock.monotonic()
        self._waiting: Rotation[K] = Rotation(share)
        """With the time at which the turn of each was expected when it came."""
        self._given: OrderedDict[K, float] = OrderedDict()
        """Until when each key may take the turn that it was given."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return len(self._waiting.times)

    def admit(self, key: K) -> bool:
        """Give a key a turn to take later; `False`: it waits, and `wake` tells when it has one."""
        if key in self._given:
            return True
        if key in self._waiting.times:
            return False
        now = self._refill()
        if self._is_free:
            self._give(key, now)
            return True
        self._park(key, now)
        return False

    def wait(self, key: K) -> float:
        """0: it may take its turn now; else it waits, for about so many seconds."""
        if key in self._given:
            return 0.0
        now = self._refill()
        if key not in self._waiting.times:
            if self._is_free:
                return 0.0
            self._park(key, now)
        return max(self._waiting.times[key] - now, 1 / self._per_second)

    def take(self, key: K) -> None:
        """The key uses its turn, or one that nobody gave it."""
        if self._given.pop(key, None) is None:
            self._turns -= 1
            self._waiting.discard(key)

    def leave(self, key: K) -> None:
        """The key needs no turn any more."""
        if self._given.pop(key, None) is not None:
            self._turns += 1
            if self._waiting.times:
                self._serve()
        else:
            self._waiting.discard(key)

    def clear(self) -> None:
        """No key waits or has a turn any more."""
        self._turns += len(self._given)
        self._given.clear()
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _per_second(self) -> float:
        return self._rate.per_second * self._ease.part

    @property
    def _is_free(self) -> bool:
        return self._turns >= WHOLE and not self._waiting.times

    def _refill(self) -> float:
        """Add the turns of the time that has passed, and those that were not taken."""
        now, given = self._clock.monotonic(), self._given
        while given and next(iter(given.values())) <= now:
            given.popitem(last=False)
            self._turns += 1
        turns = self._turns + (now - self._at) * self._per_second
        self._turns, self._at = min(self._rate.burst, turns), now
        return now

    def _give(self, key: K, now: float) -> None:
        self._turns -= 1
        self._given[key] = now + PATIENCE

    def _park(self, key: K, now: float) -> None:
        seconds = (self._waiting.ahead(key) + 1 - self._turns) / self._per_second
        self._waiting.add(key, now + seconds)
        if self._timer is None:
            self._arm(now)

    def _serve(self) -> None:
        """Give out the turns that there are."""
        now = self._refill()
        while self._waiting.times and self._turns >= WHOLE:
            key, _ = self._waiting.pop()
            self._give(key, now)
            self.wake(key)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting.times:
            self._arm(now)

    def _arm(self, now: float) -> None:
        delay = max(0.0, (1 - self._turns) / self._per_second)
        if self._given:
            delay = min(delay, max(0.0, next(iter(self._given.values())) - now))
        self._timer = asyncio.get_running_loop().call_later(delay, self._serve)


class Pacer(Generic[K, W]):
    """One line for each kind of write, by a table of rates; a kind without a row never waits."""

    def __init__(
        self, clock: Clock, rates: Mapping[W, Rate] | None = None, share: Share[K] = one_share
    ) -> None:
        self._ease = ease = Ease(clock)
        self._lines = {
            write: Line[K](clock, rate, share=share, ease=ease)
            for write, rate in (rates or {}).items()
        }

    @property
    def waiting(self) -> int:
        """How many keys wait, for whatever."""
        return sum(line.waiting for line in self._lines.values())

    def answered(self, seconds: float) -> None:
        """A write was answered after so long: all lines go slower while that takes long."""
        self._ease.answered(seconds)

    def on_turn(self, write: W, wake: Callable[[K], None]) -> None:
        """Call `wake(key)` when the turn of a key comes that waits for this kind of write."""
        if (line := self._lines.get(write)) is not None:
            line.wake = wake

    def admit(self, key: K, write: W) -> bool:
        line = self._lines.get(write)
        return line is None or line.admit(key)

    def wait(self, key: K, write: W) -> float:
        line = self._lines.get(write)
        return 0.0 if line is None else line.wait(key)

    def take(self, key: K, write: W) -> None:
        if (line := self._lines.get(write)) is not None:
            line.take(key)

    def leave(self, key: K, *writes: W) -> None:
        """The key needs no turn of these kinds any more."""
        for write in writes:
            if (line := self._lines.get(write)) is not None:
                line.leave(key)

    def clear(self) -> None:
        for line in self._lines.values():
            line.clear()


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
