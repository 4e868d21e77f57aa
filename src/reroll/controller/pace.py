"""How fast: turns for what is written, and growing delays for what failed."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from reroll.clock import Clock
from reroll.controller.ease import Ease, Returns
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


class Line(Generic[K]):
    """Who has a turn now, and who waits for one, round robin by share.

    To wait costs nothing: a key that waits is not looked at until its turn comes, when `wake(key)`
    is called, once. A turn that is not taken within `PATIENCE` passes on. So in any stretch of time
    there are at most `burst` turns and those that the rate gives in it and in `PATIENCE` before.

    A share that flaps, see `Returns`, rests after each turn while the API server is slow, and its
    keys are in nobody's way: who comes meanwhile finds turns. Those that rest go on one after the
    other, so that many that flap have no more turns than one.
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
        self._clock, self._rate, self._share, self.wake = clock, rate, share, wake
        self._ease, self._returns = ease or Ease(clock), Returns[K]()
        self._rests: deque[str] = deque()
        """The shares that rest, in the order in which they go on."""
        self._went_on = 0.0
        """When the last one did, or the first of these began."""
        self._turns, self._at = float(rate.burst), clock.monotonic()
        self._waiting: Rotation[K] = Rotation(share)
        """With the time at which the turn of each was expected when it came."""
        self._given: OrderedDict[K, float] = OrderedDict()
        """Until when each key may take the turn that it was given."""
        self._having: Counter[str] = Counter()
        """How many of them each share has."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return len(self._waiting.times)

    def admit(self, key: K) -> bool:
        """Give a key a turn to take later; `False`: it waits, and `wake` tells when it has one."""
        if key in self._given:
            self._returns.came(self._share(key), key)
            return True
        if key in self._waiting.times:
            return False
        now = self._refill()
        if self._is_free(key):
            self._returns.came(share := self._share(key), key)
            self._rest(share, now)
            self._give(key, now)
            return True
        self._park(key, now)
        return False

    def recurs(self, key: K) -> bool:
        """Whether a key is in the line already, for something that happened before."""
        if key not in self._waiting.times:
            return False
        self._returns.came(self._share(key), key)
        return True

    def wait(self, key: K) -> float:
        """0: it may take its turn now; else it waits, for about so many seconds."""
        if key in self._given:
            return 0.0
        now = self._refill()
        if key not in self._waiting.times:
            if self._is_free(key):
                return 0.0
            self._park(key, now)
        return max(self._waiting.times[key] - now, 1 / self._per_second)

    def take(self, key: K) -> None:
        """The key uses its turn, or one that nobody gave it."""
        if self._given.pop(key, None) is None:
            self._turns -= 1
            self._rest(self._share(key), self._clock.monotonic())
            self._discard(key)
        else:
            self._had(key)

    def leave(self, key: K) -> None:
        """The key needs no turn any more."""
        if self._given.pop(key, None) is not None:
            self._turns += 1
            self._had(key)
            if self._waiting.times:
                self._serve()
        else:
            self._discard(key)

    def clear(self) -> None:
        """No key waits or has a turn any more."""
        self._turns += len(self._given)
        self._given.clear()
        self._having.clear()
        self._waiting.clear()
        self._returns.clear()
        for share in self._rests:
            self._waiting.resume(share)
        self._rests.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _per_second(self) -> float:
        return self._rate.per_second * self._ease.part

    def _is_free(self, key: K) -> bool:
        """Whether there is a turn that nobody waits for who may have it now."""
        is_left = self._turns >= WHOLE and not self._waiting.turns
        return is_left and not self._waiting.rests(self._share(key))

    def _refill(self) -> float:
        """Add the turns of the time that has passed, and those that were not taken."""
        now, given = self._clock.monotonic(), self._given
        while given and next(iter(given.values())) <= now:
            key, _ = given.popitem(last=False)
            self._turns += 1
            self._had(key)
        # While nobody waits, nobody is slowed down: the next change finds its whole burst.
        per_second = self._per_second if self._waiting.times else self._rate.per_second
        turns = self._turns + (now - self._at) * per_second
        self._turns, self._at = min(self._rate.burst, turns), now
        return now

    def _give(self, key: K, now: float) -> None:
        self._turns -= 1
        self._given[key] = now + PATIENCE
        self._having[self._share(key)] += 1

    def _had(self, key: K) -> None:
        """A turn that a key was given is taken, or given back."""
        share = self._share(key)
        self._having[share] -= 1
        if not self._having[share]:
            del self._having[share]
            self._left(share)

    def _park(self, key: K, now: float) -> None:
        seconds = (self._waiting.ahead(key) + 1 - self._turns) / self._per_second
        self._waiting.add(key, now + max(0.0, seconds))
        self._returns.came(self._share(key), key)
        if self._timer is None:
            self._arm(now)

    def _discard(self, key: K) -> None:
        if self._waiting.discard(key) is not None:
            self._left(self._share(key))

    def _left(self, share: str) -> None:
        """A key of this share is in line no more; others are, or it is as if none ever had been."""
        if share not in self._having and not self._waiting.has(share):
            self._returns.ended(share)

    def _rest(self, share: str, now: float) -> None:
        """Have a share that flaps wait for longer than the others, if the API server is slow."""
        is_slow = self._ease.again < self._ease.part
        if is_slow and share in self._returns and not self._waiting.rests(share):
            self._waiting.rest(share)
            if not self._rests:
                self._went_on = now
            self._rests.append(share)

    def _rests_for(self, now: float) -> float:
        """The seconds until the next of those that rest goes on."""
        return max(0.0, self._went_on + self._rest_seconds - now)

    @property
    def _rest_seconds(self) -> float:
        return 1 / (self._rate.per_second * self._ease.again)

    def _serve(self) -> None:
        """Give out the turns that there are."""
        now = self._refill()
        while self._rests and not self._rests_for(now):
            self._waiting.resume(self._rests.popleft())
            self._went_on += self._rest_seconds
        while self._waiting.turns and self._turns >= WHOLE:
            key, _ = self._waiting.pop()
            self._rest(self._share(key), now)
            self._give(key, now)
            self.wake(key)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting.times:
            self._arm(now)

    def _arm(self, now: float) -> None:
        delay = max(0.0, (1 - self._turns) / self._per_second)
        if not self._waiting.turns:  # Whoever waits rests.
            delay = self._rests_for(now) if self._rests else delay
        elif self._rests:
            delay = min(delay, self._rests_for(now))
        if self._given:
            delay = min(delay, max(0.0, next(iter(self._given.values())) - now))
        self._timer = asyncio.get_running_loop().call_later(delay, self._serve)


class Pacer(Generic[K, W]):
    """One line for each kind of write, by a table of rates; a kind without a row never waits."""

    def __init__(
        self, clock: Clock, rates: Mapping[W, Rate] | None = None, share: Share[K] = one_share
    ) -> None:
        self._ease, self._share = (ease := Ease(clock)), share
        self._lines = {
            write: Line[K](clock, rate, share=share, ease=ease)
            for write, rate in (rates or {}).items()
        }

    @property
    def waiting(self) -> int:
        """How many keys wait, for whatever."""
        return sum(line.waiting for line in self._lines.values())

    def answered(self, key: K, seconds: float) -> None:
        """A write was answered after so long: all lines go slower while that takes long."""
        self._ease.answered(seconds, self._share(key))

    def on_turn(self, write: W, wake: Callable[[K], None]) -> None:
        """Call `wake(key)` when the turn of a key comes that waits for this kind of write."""
        if (line := self._lines.get(write)) is not None:
            line.wake = wake

    def admit(self, key: K, write: W) -> bool:
        line = self._lines.get(write)
        return line is None or line.admit(key)

    def recurs(self, key: K, write: W) -> bool:
        """Whether a key is in the line for this kind of write, and comes once more."""
        line = self._lines.get(write)
        return line is not None and line.recurs(key)

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
