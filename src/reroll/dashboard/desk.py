"""Between the two loops of the dashboard: pages are made in one, the cluster is asked in the other.

A listing of thousands of workloads takes seconds of computing; a page that only picks from the last
one must not wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from typing import TypeVar

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.dashboard.board import Board
from reroll.dashboard.cache import Cache
from reroll.dashboard.cluster import Cluster
from reroll.dashboard.overview import Overview
from reroll.kube import resources, wire
from reroll.kube.errors import ApiError, Unauthorized

T = TypeVar("T")
WITHIN = 60.0
"""Seconds that an answer may take."""
RIGHTS_FOR = 60.0


class Desk:
    """Used by pages. `loop` is the one in which the cluster is asked."""

    def __init__(self, cluster: Cluster, board: Board, loop: asyncio.AbstractEventLoop) -> None:
        self._cluster, self.board, self._loop = cluster, board, loop
        self._cache = Cache(cluster.clock)

    @property
    def clock(self) -> Clock:
        return self._cluster.clock

    async def overview(self, patience: float, *, whole: bool = True) -> Overview | None:
        """The last one; where there is none yet, what comes within so many seconds.

        Without `whole`, a first sight will do until then.
        """
        board = self.board
        if board.current is None and (whole or board.first_sight is None):
            # Timed here: over there, a long computation would delay the end of the wait too.
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._over_there(lambda: board.first(patience, whole=whole))
        else:
            self._loop.call_soon_threadsafe(board.read)
        return board.current or (None if whole else board.first_sight)

    async def ask(
        self, name: Hashable, seconds: float, question: Callable[[Cluster], Awaitable[T]]
    ) -> T:
        """The answer of that name, at most so old."""
        return await self._over_there(
            lambda: self._cache.get(name, seconds, lambda: question(self._cluster))
        )

    async def confirmed(self, seconds: float) -> str | None:
        """The name of the user, as the API server has it; `None`: it cannot be asked.

        Raises `Unauthorized` if it knows the user no more.
        """
        try:
            return await self.ask("who", seconds, lambda cluster: cluster.who())
        except Unauthorized:
            raise
        except (ApiError, TimeoutError):
            return None

    async def write(self, change: Callable[[Cluster], Awaitable[T]]) -> T:
        """Change something as the user; what is shown afterwards is new."""

        async def act() -> T:
            try:
                return await change(self._cluster)
            finally:
                self._cache.forget()
                self.board.hurry()

        return await self._over_there(act)

    async def may_change(self, places: Sequence[tuple[wire.Resource, str]]) -> list[bool]:
        """Whether the user may change objects of these kinds in these namespaces."""
        distinct = list(dict.fromkeys(places))
        wanted = [("patch", resource, namespace) for resource, namespace in distinct]
        answers = dict(zip(distinct, await self.may(wanted), strict=True))
        return [answers[place] for place in places]

    async def may_get(self, secrets: Sequence[Key]) -> dict[Key, bool]:
        """Of which Secrets the user may see what keys they have."""
        distinct = list(dict.fromkeys(secrets))
        wanted = [("get", resources.SECRETS, key.namespace) for key in distinct]
        return dict(zip(distinct, await self.may(wanted), strict=True))

    async def may(self, wanted: Sequence[tuple[str, wire.Resource, str]]) -> list[bool]:
        """Whether the user may do these: a verb, a resource and a namespace each."""

        async def one(what: tuple[str, wire.Resource, str]) -> bool:
            name = ("may", what[0], what[1].full_name, what[2])
            [answer] = await self._cache.get(
                name, RIGHTS_FOR, lambda: self._cluster.allowed([what])
            )
            return answer

        async def all_of_them() -> list[bool]:
            return list(await asyncio.gather(*map(one, wanted)))

        return await self._over_there(all_of_them)

    async def _over_there(self, act: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            async with asyncio.timeout(WITHIN):
                return await act()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self._loop))
