"""Answers that all browsers share: asked once, kept for a while, and never more than so many.

What takes long to answer is asked rarely, as the board lists a large cluster rarely.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from reroll.clock import Clock
from reroll.dashboard.board import LONGEST, SHARE

T = TypeVar("T")
MOST = 128
"""Answers that are kept; the one that was asked for longest ago goes first."""


class _Kept:
    """An answer that was asked for."""

    def __init__(self, clock: Clock, task: "asyncio.Task[Any]") -> None:
        self._clock, self.task = clock, task
        self._began = self._ended = clock.monotonic()
        task.add_done_callback(self._over)

    def _over(self, _: "asyncio.Task[Any]") -> None:
        self._ended = self._clock.monotonic()

    def is_good(self, seconds: float) -> bool:
        """Whether it is no older than that, or than it may be for what it cost."""
        if not self.task.done():
            return True
        if self.task.cancelled() or self.task.exception() is not None:
            return False
        cost = min(LONGEST, SHARE * (self._ended - self._began)) if seconds else 0
        return self._clock.monotonic() - self._ended < max(seconds, cost)


class Cache:
    """Lives in one event loop."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    async def get(self, name: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer of that name, at most so old; whoever asks meanwhile gets the same one.

        One that took long may be older, unless `seconds` is 0: then it is asked for again.

        An error is told to all who wait for it, and not kept.
        """
        kept = self._kept.get(name)
        if kept is None or not kept.is_good(seconds):
            kept = _Kept(self._clock, asyncio.ensure_future(ask()))
            self._kept[name] = kept
            kept.task.add_done_callback(take_error)
        self._kept.move_to_end(name)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        answer: T = await asyncio.shield(kept.task)
        return answer

    def forget(self) -> None:
        """After a write: the next answers are new ones."""
        self._kept.clear()


def take_error(task: "asyncio.Task[Any]") -> None:
    """An error that nobody waited for is no warning."""
    if not task.cancelled():
        task.exception()
