"""The one loop that takes keys from a queue and reconciles them.

An error in one item never ends the loop: it becomes a delay for that key. Only a cancellation of
the worker itself ends it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.kube.errors import ApiError

K = TypeVar("K", bound=Hashable)
Reconcile = Callable[[K], Awaitable[float | None]]
"""Do what a key needs now; the seconds until it is worth another look, `None` for never."""
OnError = Callable[[K, Exception], float | None]
"""What an error means for a key: the seconds until the next try, `None` for never."""
AFTER_BUG = 5.0
"""Seconds at least until the next try after an error that is not the API server's."""


def delay_after(backoff: Backoff, key: Hashable, error: Exception) -> float:
    """The delay of a key that failed: it grows, and heeds what the API server asked for."""
    if isinstance(error, ApiError):
        return backoff.failed(key, error.retry_after or 0.0)
    return backoff.failed(key, AFTER_BUG)


class Worker(Generic[K]):
    """Reconciles the keys of a queue.

    After each key that did not fail, `backoff` forgets its failures: a `reconcile` that delays keys
    of its own accord with a growing delay keeps a backoff of its own. `on_error` is asked about
    every error; without it, a key is tried again as `delay_after` says. `urgent` is how a key goes
    back into the queue, `noun` what a key is in the log.
    """

    def __init__(
        self,
        queue: Queue[K],
        reconcile: Reconcile[K],
        backoff: Backoff,
        *,
        on_error: OnError[K] | None = None,
        urgent: bool = True,
        noun: str = "key",
    ) -> None:
        self._queue, self._reconcile, self._backoff = queue, reconcile, backoff
        self._on_error, self._urgent, self._noun = on_error, urgent, noun
        self._group: asyncio.TaskGroup | None = None
        self._too_many = 0
        """So many more tasks work than were asked for: others had taken the place of some."""

    async def run(self, workers: int = 1) -> None:
        """Reconcile what is due, with so many keys at a time, until cancelled."""
        self._too_many = 0
        async with asyncio.TaskGroup() as self._group:
            for _ in range(workers):
                self._group.create_task(self._run())

    async def let_others_first(self, key: K) -> None:
        """Within a `reconcile` whose remaining work can wait: work on another key in its place."""
        turn = self._queue.step_aside(key) if self._group else None
        if turn is not None and self._group:
            self._group.create_task(self._run())
            await turn
            self._too_many += 1

    async def run_until_idle(self, workers: int = 8) -> None:
        """Reconcile until no key is due; the first error ends it, and is raised."""
        while self._queue.is_ready:
            tasks = [asyncio.ensure_future(self._drain()) for _ in range(workers)]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

    async def _run(self) -> None:
        while True:
            key = await self._queue.get()
            delay: float | None = None
            try:
                delay = await self._reconcile(key)
                self._backoff.succeeded(key)
            except ApiError as error:
                delay = self._delay(key, error)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Something that the item waited for was cancelled, not the worker.
                delay = self._bug(key, RuntimeError("what it waited for was cancelled"))
            except Exception as error:  # noqa: BLE001  one key's trouble is not another's
                delay = self._bug(key, error)
            finally:
                self._queue.done(key)
            if delay is not None:
                self._queue.add(key, delay, urgent=self._urgent)
            if self._too_many:
                self._too_many -= 1
                return

    async def _drain(self) -> None:
        while self._queue.is_ready:
            key = await self._queue.get()
            try:
                delay = await self._reconcile(key)
            finally:
                self._queue.done(key)
            if delay is not None:
                self._queue.add(key, delay, urgent=self._urgent)

    def _bug(self, key: K, error: Exception) -> float | None:
        bugs.report(Part.WORK, error, **{self._noun: str(key)})
        return self._delay(key, error)

    def _delay(self, key: K, error: Exception) -> float | None:
        if self._on_error is None:
            return delay_after(self._backoff, key, error)
        try:
            return self._on_error(key, error)
        except Exception as second:  # noqa: BLE001  nor is trouble with an error
            bugs.report(Part.WORK, second, **{self._noun: str(key)})
            return delay_after(self._backoff, key, second)
