"""The de-duplicating delay queue, with a share for everyone.

1. A key is in it once, however often it is added; the earliest time wins. 2. A key runs in one
place at a time; added while it runs, it runs once more afterwards. 3. Keys that are due leave in
turn, one of each share; those of one share in the order they became due. 4. Urgent ones leave
before the others, and once urgent is urgent; but after `URGENT_IN_A_ROW` of them one of the others
leaves, so none waits for ever. 5. Of one share at most `most` run at a time, and of those that are
not urgent at most `patient`. 6. Nothing here sleeps or searches: a timer of the event loop moves a
key over when it is due. 7. A key whose remaining work can wait may step aside: another one of its
share has its place, and it goes on when none is due and none runs, or after a while.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from itertools import chain, count
from typing import Generic, TypeVar

from reroll.clock import Clock
from reroll.controller.aside import Aside
from reroll.controller.rotation import Rotation, Share, one_share

K = TypeVar("K", bound=Hashable)
URGENT_IN_A_ROW = 7
"""So many urgent keys leave before one that is not, while both wait."""


class Queue(Generic[K]):
    """`share`: whose a key is; without it, all are of one. `most`, `patient`: else no limit."""

    def __init__(
        self,
        clock: Clock,
        *,
        share: Share[K] = one_share,
        most: int | None = None,
        patient: int | None = None,
    ) -> None:
        self._clock, self._share, self._most = clock, share, most
        # When each key is due, with the number of its entry in the heap: others of it are stale.
        self._due: dict[K, tuple[float, int]] = {}
        self._later: list[tuple[float, int, K]] = []
        self._order = count()
        # The keys that are due, with the time since when.
        self._urgent: Rotation[K] = Rotation(share)
        self._patient: Rotation[K] = Rotation(share)
        self._in_a_row = 0
        self._running: set[K] = set()
        self._most_patient = patient
        self._patiently: set[K] = set()
        """Those that run and were not urgent, if there is a limit."""
        self._busy: dict[str, int] = {}
        """How many keys of each share run, if there is a limit; those that stepped aside do not."""
        self._aside: Aside[K] = Aside(share)
        self._again: dict[K, tuple[float, bool]] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._idle = asyncio.Event()

    def __len__(self) -> int:
        return (
            len(self._urgent.times) + len(self._patient.times) + len(self._due) + len(self._again)
        )

    @property
    def is_ready(self) -> bool:
        """Whether a key is due that a worker may have now."""
        return bool(self._urgent.turns or (self._patient.turns and self._has_room))

    @property
    def _has_room(self) -> bool:
        """Whether one that is not urgent may run."""
        return self._most_patient is None or len(self._patiently) < self._most_patient

    @property
    def is_busy(self) -> bool:
        """Whether a key is due, or a worker has one."""
        return self.is_ready or bool(self._running)

    @property
    def oldest(self) -> float:
        """For how long the key that waits longest has been due, in seconds."""
        now = self._clock.monotonic()
        return max(
            0.0,
            now
            - min(chain(self._urgent.times.values(), self._patient.times.values()), default=now),
        )

    def add(self, key: K, delay: float = 0.0, *, urgent: bool = True) -> None:
        if key in self._urgent.times or self._closed:
            return
        if key in self._patient.times:
            if urgent and delay <= 0:
                self._make_ready(key, self._patient.discard(key) or 0.0, urgent=True)
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
            heapq.heappush(self._later, later := (*entry, key))
            if self._later[0] is later:
                self._arm()

    def withdraw(self, key: K) -> None:
        """A key that waits, or is due, need not run any more."""
        self._due.pop(key, None)
        self._urgent.discard(key)
        self._patient.discard(key)
        self._relieve(self._share(key))

    def clear(self) -> None:
        self._due.clear()
        self._later.clear()
        self._urgent.clear()
        self._patient.clear()
        self._again.clear()
        self._aside.let_all_on()

    async def drain(self) -> None:
        """Take nothing more and hand out nothing more; wait until no key runs."""
        self._closed = True
        self.clear()
        if self._running:
            await self._idle.wait()

    async def get(self) -> K:
        """The next key that is due; it counts as running until `done`."""
        while not self.is_ready:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker in self._takers:
                    self._takers.remove(taker)
                elif not taker.cancelled():
                    self._wake()
                raise
        key = self._pop()
        self._running.add(key)
        self._idle.clear()
        if self._most is not None:
            self._begun(self._share(key), self._most)
        return key

    def step_aside(self, key: K) -> asyncio.Future[None] | None:
        """Give the place of a key that runs to others of its share, until the future is done.

        `None`: no other one needs it, or the key is one that others do not wait for.
        """
        if self._closed or self._most is None or key in self._patiently or self._aside.is_full:
            return None
        share = self._share(key)
        if self._busy[share] == 1 and not self._urgent.has(share):
            return None
        turn = self._aside.add(key)
        self._ended(share, self._most)
        return turn

    def done(self, key: K) -> None:
        if key not in self._running:
            return
        self._running.discard(key)
        if not self._running:
            self._idle.set()
        if key in self._patiently:
            self._patiently.discard(key)
            if self._patient.turns:
                self._wake()
        if not self._aside.discard(key) and self._most is not None:
            self._ended(self._share(key), self._most)
        if again := self._again.pop(key, None):
            self.add(key, again[0] - self._clock.monotonic(), urgent=again[1])

    def _pop(self) -> K:
        if not self._patient.turns:
            self._in_a_row = 0
            return self._urgent.pop()[0]
        if self._urgent.turns and (self._in_a_row < URGENT_IN_A_ROW or not self._has_room):
            self._in_a_row += 1
            return self._urgent.pop()[0]
        self._in_a_row = 0
        key = self._patient.pop()[0]
        if self._most_patient is not None:
            self._patiently.add(key)
        return key

    def _begun(self, share: str, most: int) -> None:
        self._busy[share] = running = self._busy.get(share, 0) + 1
        if running == most:
            self._urgent.rest(share)
            self._patient.rest(share)

    def _ended(self, share: str, most: int) -> None:
        self._busy[share] = running = self._busy[share] - 1
        if running == most - 1:
            self._urgent.resume(share)
            self._patient.resume(share)
        if not running:
            del self._busy[share]
            self._relieve(share)
        if self.is_ready:
            self._wake()

    def _relieve(self, share: str) -> None:
        """Those who stepped aside go on, if they have nobody to wait for."""
        if share not in self._busy and not self._urgent.has(share):
            self._aside.let_on(share)

    def _make_ready(self, key: K, due: float, *, urgent: bool) -> None:
        lane = self._urgent if urgent else self._patient
        lane.add(key, due)
        if lane.turns:
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
