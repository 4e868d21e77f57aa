"""The overview that all browsers share: made again and again as long as somebody reads it.

How often follows from what it costs: a cluster that takes long to list is listed rarely, so that a
dashboard never keeps an API server busy for more than a fifth of the time. When nobody has read
for a while, nothing is listed at all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from reroll.answers.errors import AnswerError
from reroll.clock import Clock
from reroll.dashboard.overview import Overview
from reroll.kube.errors import ApiError, ConfigError, Unauthorized

EVERY = 2.0
"""Seconds between two listings, at least."""
SHARE = 4.0
"""Rest so many times as long as a listing took."""
LONGEST = 60.0
IDLE = 90.0
"""Seconds without a reader after which nothing more is listed."""
PATIENCE = 20.0
"""Seconds that a document waits for the first overview."""
SIGHTS = 1.0
"""Seconds between two news of workloads that come by the page."""

Saw = Callable[[Overview], None] | None
"""Told what is seen on the way, if there is much to read; `None`: more is known already."""


class Board:
    """`news` is called when there is something new to see, in the loop that runs this."""

    def __init__(
        self,
        clock: Clock,
        make: Callable[[Saw], Awaitable[Overview]],
        news: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._clock, self._make, self._news = clock, make, news
        self.current: Overview | None = None
        self.first_sight: Overview | None = None
        """As long as there is none: what workloads tell by themselves, if there are many."""
        self.problem = ""
        """Why the overview is not newer; empty while all is well."""
        self.is_refused = False
        """The API server did not know the user when it was asked last."""
        self.version = 0
        self._read_at = clock.monotonic()
        self._due = asyncio.Event()
        self._made, self._sighted = asyncio.Event(), asyncio.Event()
        self._telling: asyncio.TimerHandle | None = None

    def read(self) -> None:
        """Somebody reads: go on listing."""
        is_idle = self._clock.monotonic() - self._read_at > IDLE
        self._read_at = self._clock.monotonic()
        if is_idle:
            self._due.set()

    def hurry(self) -> None:
        """Something was just written: list again now."""
        self._read_at = self._clock.monotonic()
        self._due.set()

    async def first(self, patience: float, *, whole: bool) -> None:
        """Wait until there is an overview, or a reason why there is none.

        Without `whole`, a first sight will do.
        """
        self.read()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await (self._made if whole else self._sighted).wait()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            began = self._clock.monotonic()
            await self._once()
            took = self._clock.monotonic() - began
            await self._rest(min(LONGEST, max(EVERY, SHARE * took)))

    async def _once(self) -> None:
        before = (self.current.digest if self.current else b"", self.problem)
        try:
            saw = self._saw if self.current is None else None
            self.current, self.problem = await self._make(saw), ""
            self.first_sight, self.is_refused = None, False
        except (ApiError, AnswerError, ConfigError) as error:
            self.problem, self.is_refused = str(error), isinstance(error, Unauthorized)
        self._made.set()
        self._sighted.set()
        if before != (self.current.digest if self.current else b"", self.problem):
            self._tell()

    def _saw(self, sight: Overview) -> None:
        """The first is news at once; of those that follow, one a second."""
        self.first_sight = sight
        self._sighted.set()
        if self._telling is None:
            self._tell()
            self._telling = asyncio.get_running_loop().call_later(SIGHTS, self._tell_again, sight)

    def _tell_again(self, told: Overview) -> None:
        self._telling = None
        if self.first_sight is not None and self.first_sight is not told:
            self._saw(self.first_sight)

    def _tell(self) -> None:
        self.version += 1
        self._news(self.version)

    async def _rest(self, seconds: float) -> None:
        """Until it is time, and somebody reads; or until something was written."""
        self._due.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._due.wait()
        if self._clock.monotonic() - self._read_at > IDLE:
            await self._due.wait()
