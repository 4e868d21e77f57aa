"""Server-sent events: one stream for each open tab, which is told that there is something new.

What is new is not in the stream: the tab loads its own page again. A proxy is told not to hold the
stream back, and what comes first fills the buffers of those that wait for some bytes. A tab that
hears nothing all the same asks for the version itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

MOST = 100
"""Streams of one person at once."""
MOST_IN_ALL = 200
LONGEST = 600.0
"""Seconds after which a stream ends and the browser opens another: who it is, is asked again."""
EVERY = 15.0
"""Seconds after which a stream that has nothing to say says so."""
PADDING = ":" + " " * 2048 + "\n\n"
HEADERS = {"X-Accel-Buffering": "no", "Content-Type": "text/event-stream; charset=utf-8"}


class Streams:
    """Lives in the loop that makes pages. `read` is called as long as somebody listens."""

    def __init__(self, version: Callable[[], int], read: Callable[[], None]) -> None:
        self._version, self._read = version, read
        self._waiting: set[asyncio.Event] = set()
        self._is_over = False

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        return self.number < MOST

    def wake(self) -> None:
        for one in self._waiting:
            one.set()

    def end(self) -> None:
        """No more: the process ends."""
        self._is_over = True
        self.wake()

    async def stream(self) -> AsyncIterator[str]:
        news = asyncio.Event()
        self._waiting.add(news)
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST
        try:
            yield PADDING + "retry: 3000\n\n"
            yield self._event()
            while not self._is_over and loop.time() < until:
                self._read()
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await news.wait()
                news.clear()
                yield self._event()
        finally:
            self._waiting.discard(news)

    def ask(self) -> int:
        """The version, for a tab that hears no stream."""
        self._read()
        return self._version()

    def _event(self) -> str:
        return f"event: version\ndata: {self._version()}\n\n"
