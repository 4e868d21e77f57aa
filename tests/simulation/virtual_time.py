"""An event loop whose time is a number: it jumps to the next timer, and nothing ever sleeps."""

import asyncio
import random
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)


class _Jumping(selectors.SelectSelector):
    """Nothing comes from outside: to wait is to move the time on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("all wait for each other: no timer is left that could go on")
        self.now += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class VirtualClock:
    """The time of the running loop, with chance of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def jitter(self, seconds: float) -> float:
        return seconds * self._random.uniform(0.5, 1.0)


def run(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it, on a loop of its own."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()
