"""Answers that all browsers share: asked once, kept for a while, and never more than so many."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from reroll.clock import Clock

T = TypeVar("T")
MOST = 128
"""Answers that are kept; the one that was asked for longest ago goes first."""


class _Kept(NamedTuple):
    since: float
    task: "asyncio.Task[Any]"


class Cache:
    """Lives in one event loop."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    async def get(self, name: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer of that name, at most so old; whoever asks meanwhile gets the same one.

        An error is told to all who wait for it, and not kept.
        """
        kept = self._kept.get(name)
        if kept is None or not self._is_good(kept, seconds):
            kept = _Kept(self._clock.monotonic(), asyncio.ensure_future(_run(ask)))
            self._kept[name] = kept
            kept.task.add_done_callback(_seen)
        self._kept.move_to_end(name)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        answer: T = await asyncio.shield(kept.task)
        return answer

    def forget(self) -> None:
        """After a write: the next answers are new ones."""
        self._kept.clear()

    def _is_good(self, kept: _Kept, seconds: float) -> bool:
        if not kept.task.done():
            return True
        has_answer = not kept.task.cancelled() and kept.task.exception() is None
        return has_answer and self._clock.monotonic() - kept.since < seconds


async def _run(ask: Callable[[], Awaitable[T]]) -> T:
    return await ask()


def _seen(task: "asyncio.Task[Any]") -> None:
    """An error that nobody waited for is no warning."""
    if not task.cancelled():
        task.exception()
