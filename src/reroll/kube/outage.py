"""Whether the API server can be reached, as calls tell, and who waits until it can.

A server that cannot be reached is not asked by everybody: one of those who wait tries once a
second, and the others sleep as long as they would have anyway. The first answer wakes them one
after the other, so a server that comes back is neither left alone nor met by all at once.

An answer that is an error (429, 5xx) is no outage: then everyone keeps its own, growing delay.
"""

import asyncio
import weakref
from collections.abc import Callable

TRY_EVERY = 1.0
"""Seconds between two tries while the server cannot be reached."""
WOKEN_PER_SECOND = 50


class Outage:
    def __init__(self) -> None:
        self.is_on = False
        self._waiting: dict[asyncio.Future[None], None] = {}
        self._next_try: asyncio.TimerHandle | None = None
        self._listeners: list[weakref.WeakMethod[Callable[[], None]]] = []

    def subscribe(self, back: Callable[[], None]) -> None:
        """Have a method called whenever the server can be reached again, as long as it is there.

        A client outlives those who use it: a dashboard makes one listing after the other.
        """
        self._listeners = [one for one in self._listeners if one() is not None]
        self._listeners.append(weakref.WeakMethod(back))

    async def pause(self, seconds: float) -> None:
        """So many seconds, or until it is worth a try: the server is back, or is to be tried."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting[turn] = None
        timer = loop.call_later(seconds, _resolve, turn)
        self._arm()
        try:
            await turn
        finally:
            timer.cancel()
            self._waiting.pop(turn, None)

    def began(self) -> None:
        """No connection could be made."""
        self.is_on = True
        self._arm()

    def ended(self) -> None:
        """An answer came."""
        if not self.is_on:
            return
        self.is_on = False
        loop = asyncio.get_running_loop()
        for place, turn in enumerate(self._waiting):
            loop.call_later(place / WOKEN_PER_SECOND, _resolve, turn)
        self._waiting.clear()
        for listener in self._listeners:
            if back := listener():
                back()

    def _arm(self) -> None:
        if self.is_on and self._waiting and self._next_try is None:
            loop = asyncio.get_running_loop()
            self._next_try = loop.call_later(TRY_EVERY, self._let_one_try)

    def _let_one_try(self) -> None:
        self._next_try = None
        if self.is_on and self._waiting:
            turn = next(iter(self._waiting))
            del self._waiting[turn]
            _resolve(turn)
        self._arm()


def _resolve(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
