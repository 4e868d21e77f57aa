"""When to go slower: the API server answers slowly, or a share comes back again and again."""

from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from reroll.clock import Clock

K = TypeVar("K", bound=Hashable)


class Ease:
    """Which part of the rates is used: less of them while the API server answers slowly.

    Falls by a third every `STEP` seconds in which answers take much longer than the quickest ones
    of late, and rises again with every answer that does not. Where one share has slow answers, as
    by a webhook of its own, others do not feel it: for `part` the share in the middle counts.
    """

    LEAST = 0.25
    LEAST_AGAIN = 0.02
    """For a share that flaps, see `Returns`."""
    STEP = 0.25
    SLOW, LATE = 4.0, 0.05
    """Slow is so many times the usual time, and so many seconds more."""
    SLOW_AGAIN, LATE_AGAIN = 1.5, 0.003
    MEMORY = 600.0
    """Seconds after which twice the time counts as usual."""
    LATELY = 5.0
    """Seconds for which the answers of a share count."""
    SHARES = 64
    """So many shares are counted, those that were answered last."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.part, self.again = clock, 1.0, 1.0
        self._usual = self._recent = 0.0
        self._shares: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """How long answers take, on average, and when the last one came; the latest last."""
        self._at = self._fell = clock.monotonic()

    def answered(self, seconds: float, share: str = "") -> None:
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
        slow = self._is_slow(self._middle(seconds, share, now), self.SLOW, self.LATE)
        self.part = _eased(self.part, self.LEAST, slow=slow, is_step=is_step)
        slow = self._is_slow(self._recent, self.SLOW_AGAIN, self.LATE_AGAIN)
        self.again = _eased(self.again, self.LEAST_AGAIN, slow=slow, is_step=is_step)

    def _middle(self, seconds: float, share: str, now: float) -> float:
        """How long answers take for the share in the middle, with this one counted."""
        shares = self._shares
        average, _ = shares.pop(share, (seconds, now))
        shares[share] = average + (seconds - average) / 8, now
        while len(shares) > self.SHARES or next(iter(shares.values()))[1] < now - self.LATELY:
            shares.popitem(last=False)
        averages = sorted(average for average, _ in shares.values())
        return averages[(len(averages) - 1) // 2]

    def _is_slow(self, recent: float, times: float, seconds: float) -> bool:
        return recent > max(times * self._usual, self._usual + seconds)


def _eased(part: float, least: float, *, slow: bool, is_step: bool) -> float:
    if not slow:
        return min(1.0, part + 0.01)
    return max(least, part * 2 / 3) if is_step else part


class Returns(Generic[K]):
    """Shares that flap: their keys came again and again while some of them had no turn yet.

    A change of thousands of workloads is none of that, however long it takes, and neither is one
    that is corrected meanwhile. Where a source changes faster than all of them can have their
    turns, more turns do not get them any further.
    """

    OFTEN = 3
    """So often, on the average of its keys."""
    MOST = 20_000
    """So many keys of a share are counted; then it begins anew, for names may come and go."""

    def __init__(self) -> None:
        self._keys: dict[str, set[K]] = {}
        """The keys that came, of shares of which some wait, or have a turn."""
        self._came: Counter[str] = Counter()

    def __contains__(self, share: str) -> bool:
        return self._came[share] > self.OFTEN * len(self._keys.get(share, ()))

    def came(self, share: str, key: K) -> None:
        """It needs a turn, or something new happened before it took the one that it was given."""
        keys = self._keys.setdefault(share, set())
        if len(keys) >= self.MOST and key not in keys:
            self.ended(share)
            keys = self._keys.setdefault(share, set())
        keys.add(key)
        self._came[share] += 1

    def ended(self, share: str) -> None:
        """No key of this share waits any more, or has a turn."""
        self._keys.pop(share, None)
        self._came.pop(share, None)

    def clear(self) -> None:
        self._keys.clear()
        self._came.clear()
