"""Keys that stepped aside: what is left of their work can wait for others of their share.

Where hundreds of workloads have to be written, the last one is written the sooner for it: what
follows from an answer, as a line in the log, takes as long as to decide on the next one.
"""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

from reroll.controller.rotation import Share

K = TypeVar("K", bound=Hashable)
MOST = 256
"""So many keys at a time; an answer that waits takes memory."""
PATIENCE = 0.5
"""Seconds after which they go on, whatever their share has to do."""
AT_ONCE = 16
"""So many go on before anything else has a turn."""


class Aside(Generic[K]):
    def __init__(self, share: Share[K]) -> None:
        self._share = share
        self._keys: set[K] = set()
        """Those that stepped aside and are not done yet, whether or not they go on by now."""
        self._turns: dict[str, list[asyncio.Future[None]]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def is_full(self) -> bool:
        return len(self._keys) >= MOST

    def add(self, key: K) -> asyncio.Future[None]:
        """It goes on when the future is done."""
        share, loop = self._share(key), asyncio.get_running_loop()
        self._keys.add(key)
        if share not in self._turns:
            self._turns[share] = []
            self._timers[share] = loop.call_later(PATIENCE, self.let_on, share)
        self._turns[share].append(turn := loop.create_future())
        return turn

    def discard(self, key: K) -> bool:
        """It is done; whether it was one of them."""
        was_in = key in self._keys
        self._keys.discard(key)
        return was_in

    def let_on(self, share: str) -> None:
        """All keys of a share go on, a few at a time."""
        if share in self._turns:
            self._timers.pop(share).cancel()
            _go_on(self._turns.pop(share))

    def let_all_on(self) -> None:
        for share in tuple(self._turns):
            self.let_on(share)


def _go_on(turns: list[asyncio.Future[None]]) -> None:
    for turn in turns[:AT_ONCE]:
        if not turn.done():
            turn.set_result(None)
    if len(turns) > AT_ONCE:
        asyncio.get_running_loop().call_soon(_go_on, turns[AT_ONCE:])
