"""A place at the desk for each person: everything that is read and kept there is theirs alone.

Whoever asks, the cluster is asked as them, and answers are kept for them: nothing that one person
may see can reach the page of another, because no answer is shared between two. The price is one
listing for each; they take turns, so that an API server never sees more than one at a time.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from reroll.dashboard.cache import take_error
from reroll.dashboard.desk import Desk
from reroll.dashboard.people import Who
from reroll.dashboard.shelf import Shelf
from reroll.dashboard.streams import Streams
from reroll.kube.errors import Forbidden

MOST = 32
"""People at once; the place that was used longest ago is taken by the next one."""
CONFIRMED_FOR = 30.0
"""Seconds after which the API server is asked again whether it still accepts somebody."""


class Ending(Protocol):
    def __call__(self) -> None:
        """End what was begun for a seat."""


class Seat(NamedTuple):
    who: Who
    desk: Desk
    news: Streams
    shelf: Shelf
    end: Ending = lambda: None


class Seats:
    """Lives in the loop that makes pages. `open_` begins a seat, in whatever loop it has to."""

    def __init__(self, open_: Callable[[Who], Awaitable[Seat]], most: int = MOST) -> None:
        self._open, self._most = open_, most
        self._taken: OrderedDict[Who, asyncio.Task[Seat]] = OrderedDict()

    async def of(self, who: Who) -> Seat:
        """The seat of somebody whom the API server accepts; raises what it says otherwise."""
        if who not in self._taken:
            self._taken[who] = asyncio.ensure_future(self._open(who))
            self._taken[who].add_done_callback(take_error)
        self._taken.move_to_end(who)
        while len(self._taken) > self._most:
            _end(self._taken.popitem(last=False)[1])
        task = self._taken[who]
        try:
            seat = await asyncio.shield(task)
        except Exception:
            if self._taken.get(who) is task:
                del self._taken[who]
            raise
        if who.token or who.is_named:
            await _confirm(seat)
        return seat

    @property
    def streams(self) -> int:
        """How many tabs of all people are live."""
        there = [task for task in self._taken.values() if task.done() and not task.exception()]
        return sum(task.result().news.number for task in there)

    def leave(self, who: Who) -> None:
        """Somebody is not here any more: nothing of theirs is kept."""
        if task := self._taken.pop(who, None):
            _end(task)

    def end(self) -> None:
        while self._taken:
            _end(self._taken.popitem()[1])


async def _confirm(seat: Seat) -> None:
    """That the API server still accepts them; one that does not answer says nothing of it."""
    is_doubtful = seat.desk.board.is_refused
    name = await seat.desk.confirmed(0 if is_doubtful else CONFIRMED_FOR)
    if seat.who.is_named and name not in {None, seat.who.name}:
        raise Forbidden(
            f"the dashboard may not act as {seat.who.name}: grant its service account "
            "`impersonate` on users and groups"
        )


def _end(task: "asyncio.Task[Seat]") -> None:
    if not task.done():
        task.cancel()
    elif not task.cancelled() and task.exception() is None:
        seat = task.result()
        seat.news.end()
        seat.end()
