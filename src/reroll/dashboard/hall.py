"""Where seats are begun and ended: in the loop in which the cluster is asked."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from reroll.dashboard.board import Board
from reroll.dashboard.cluster import Cluster
from reroll.dashboard.desk import Desk
from reroll.dashboard.people import Who
from reroll.dashboard.seats import Seat
from reroll.dashboard.shelf import Shelf
from reroll.dashboard.standpoint import Setup
from reroll.dashboard.streams import Streams
from reroll.kube.client import Client
from reroll.kube.identity import own_name
from reroll.kube.view import View

CONNECTIONS = 8
"""Requests of one person that are under way at once."""
AT_ONCE = 4
"""Tokens about which the API server is asked at once."""
PAUSE = 60.0
_log = logging.getLogger("reroll.dashboard")


class Hall:
    """`view` is the dashboard's own; `wake` has the tabs of somebody told of news."""

    def __init__(self, view: View, setup: Setup, wake: Callable[[Streams], None]) -> None:
        self._view, self._setup, self._wake = view, setup, wake
        self._loop = asyncio.get_running_loop()
        self._asking = asyncio.Semaphore(AT_ONCE)
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """What went wrong that no code expected, where one person is all there are."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, who: Who) -> Seat:
        """Called in the loop that makes pages."""
        opening = asyncio.run_coroutine_threadsafe(self._open(who), self._loop)
        return await asyncio.wrap_future(opening)

    async def introduce(self, who: Who) -> str:
        """Whose token it is, as the API server has it; raises what it says. Called there too."""
        asking = asyncio.run_coroutine_threadsafe(self._introduce(who), self._loop)
        return await asyncio.wrap_future(asking)

    async def end(self) -> None:
        for one in self._tasks:
            one.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _introduce(self, who: Who) -> str:
        async with self._asking, self._client(who) as client:
            return await own_name(client)

    def _client(self, who: Who) -> Client:
        """With the rights of that person, and never with more."""
        ours = self._view.client.connection
        if who.token:
            return Client(ours.with_token(who.token), connections=CONNECTIONS)
        return Client(ours.acting_as(who.name, who.groups), connections=CONNECTIONS)

    async def _open(self, who: Who) -> Seat:
        is_other = bool(who.token or who.is_named)
        client = self._client(who) if is_other else self._view.client
        view = View(client, self._view.namespace, self._view.home, keeper=self._view.client)
        cluster = Cluster(view, self._setup)
        board = Board(self._setup.clock, cluster.overview, lambda _: self._wake(news))

        def read() -> None:
            self._loop.call_soon_threadsafe(board.read)

        news = Streams(lambda: board.version, read)
        listing = asyncio.create_task(self._list(board, client if is_other else None))
        self._tasks.add(listing)
        listing.add_done_callback(self._tasks.discard)

        def end() -> None:
            with suppress(RuntimeError):  # The loop has ended, and the listing with it.
                self._loop.call_soon_threadsafe(listing.cancel)

        return Seat(who, Desk(cluster, board, self._loop), news, Shelf(), end)

    async def _list(self, board: Board, client: Client | None) -> None:
        """Until cancelled. What breaks for one of many is no reason to end for all."""
        try:
            while True:
                try:
                    await board.run()
                except Exception as error:  # noqa: BLE001  it is told, and logged
                    if self._setup.keeper is None:
                        if not self.broken.done():
                            self.broken.set_exception(error)
                        return
                    _log.exception("bug: the cluster could not be listed for somebody")
                    board.problem = f"this is a bug of the dashboard ({type(error).__name__})"
                await asyncio.sleep(PAUSE)
        finally:
            if client is not None:
                await client.__aexit__(None, None, None)
