"""The de-duplicating delay queue.

1. A key is in it once, however often it is added; the earliest time wins. 2. A key runs in one
place at a time; added while it runs, it runs once more afterwards. 3. Keys that are due leave in
the order they became due; urgent ones before the others, and once urgent is urgent. 4. Nothing here
sleeps: a timer of the event loop moves a key over when it is due.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

from reroll.clock import Clock

K = TypeVar("K", bound=Hashable)


class Queue(Generic[K]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When each key is due, with the number of its entry in the heap: others of it are stale.
        self._due: dict[K, tuple[float, int]] = {}
        self._later: list[tuple[float, int, K]] = []
        self._order = count()
        # Since when each key that is due has been so, in the order in which they leave.
        self._urgent: OrderedDict[K, float] = OrderedDict()
        self._patient: OrderedDict[K, float] = OrderedDict()
        self._running: set[K] = set()
        self._again: dict[K, tuple[float, bool]] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._idle = asyncio.Event()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient) + len(self._due) + len(self._again)

    @property
    def is_ready(self) -> bool:
        """Whether a key is due that no worker has."""
        return bool(self._urgent or self._patient)

    @property
    def oldest(self) -> float:
        """For how long the key that waits longest has been due, in seconds."""
        now = self._clock.monotonic()
        return max(0.0, now - min((*self._urgent.values(), *self._patient.values()), default=now))

    def add(self, key: K, delay: float = 0.0, *, urgent: bool = True) -> None:
        if key in self._urgent or self._closed:
            return
        if key in self._patient:
            if urgent and delay <= 0:
                self._urgent[key] = self._patient.pop(key)
            return
        due = self._clock.monotonic() + delay
        if key in self._running:
            before = self._again.get(key)
            self._again[key] = (
                (min(due, before[0]), urgent or before[1]) if before else (due, urgent)
            )
        elif delay <= 0:
            self._due.pop(key, None)
            self._make_ready(key, due, urgent=urgent)
        elif key not in self._due or due < self._due[key][0]:
            self._due[key] = entry = (due, next(self._order))
            heapq.heappush(self._later, (*entry, key))
            self._arm()

    def clear(self) -> None:
        self._due.clear()
        self._later.clear()
        self._urgent.clear()
        self._patient.clear()
        self._again.clear()

    async def drain(self) -> None:
        """Take nothing more and hand out nothing more; wait until no key runs."""
        self._closed = True
        self.clear()
        if self._running:
            await self._idle.wait()

    async def get(self) -> K:
        """The next key that is due; it counts as running until `done`."""
        while not (self._urgent or self._patient):
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake()
                raise
            finally:
                if taker in self._takers:
                    self._takers.remove(taker)
        key, _ = (self._urgent or self._patient).popitem(last=False)
        self._running.add(key)
        self._idle.clear()
        return key

    def done(self, key: K) -> None:
        self._running.discard(key)
        if not self._running:
            self._idle.set()
        if again := self._again.pop(key, None):
            self.add(key, again[0] - self._clock.monotonic(), urgent=again[1])

    def _make_ready(self, key: K, due: float, *, urgent: bool) -> None:
        (self._urgent if urgent else self._patient)[key] = due
        self._wake()

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._later and self._due.get(self._later[0][2]) != self._later[0][:2]:
            heapq.heappop(self._later)
        if self._later:
            delay = max(0.0, self._later[0][0] - self._clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            due, number, key = heapq.heappop(self._later)
            if self._due.get(key) == (due, number):
                del self._due[key]
                self._make_ready(key, due, urgent=True)
        self._arm()
