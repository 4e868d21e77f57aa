"""The whole application in this process, over a cluster of `tests.dashboard.sample`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple

import httpx
from tests.dashboard.sample import COOKIE, PORT, URL, SampleCluster, shop

from reroll.dashboard.app import About, Dashboard
from reroll.dashboard.board import Board
from reroll.dashboard.desk import Desk
from reroll.dashboard.doors.local import LocalDoor
from reroll.dashboard.hosts import Hosts
from reroll.dashboard.overview import Overview
from reroll.dashboard.people import Who
from reroll.dashboard.seats import Seat, Seats
from reroll.dashboard.sessions import Sessions
from reroll.dashboard.shelf import Shelf
from reroll.dashboard.streams import Streams


class Site:
    """The whole application in this process, as a browser with a session sees it."""

    def __init__(self, one: "Running", client: httpx.AsyncClient) -> None:
        self.cluster, self.client, self.sessions = one.cluster, client, one.sessions
        self.dashboard = one.dashboard

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Waits for a page until it is made, however busy this machine is."""
        return await self.client.get(path, headers={"Reroll-Patient": "yes", **headers})

    async def open(self, path: str) -> httpx.Response:
        """As somebody opens a page, who is told at once that it takes longer."""
        return await self.client.get(path)

    @property
    def form_token(self) -> str:
        token: str = self.sessions.form_token(self.client.cookies[COOKIE])
        return token

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        """As a form of a page of ours sends it, but for what is said."""
        said = {"Origin": URL, "Sec-Fetch-Site": "same-origin", **headers}
        whole = {"form_token": self.form_token, **fields}
        return await self.client.post(path, data=whole, headers=said)


class Running(NamedTuple):
    """The whole application."""

    app: Any
    cluster: SampleCluster
    board: Board
    sessions: Sessions
    dashboard: Dashboard


@asynccontextmanager
async def running(
    seen: Overview | None = None,
    *,
    port: int = PORT,
    read_only: bool = False,
    door: Callable[[Sessions], Any] | None = None,
    hosts: Hosts | None = None,
    kind: "type[SampleCluster] | None" = None,
) -> AsyncIterator[Running]:
    """In this loop, on no socket."""
    cluster: Any = (kind or SampleCluster)(seen or shop())
    numbers = count()
    sessions = Sessions(lambda: f"token-{next(numbers)}")
    news = Streams(lambda: board.version, lambda: None)
    board = Board(cluster.clock, cluster.overview, lambda _: news.wake())
    desk = Desk(cluster, board, asyncio.get_running_loop())

    async def opened(who: Who) -> Seat:
        return Seat(who, desk, news, Shelf())

    made = (door or (lambda known: LocalDoor(known, f"reroll-{port}")))(sessions)
    about = About("1", "sample", read_only=read_only)
    dashboard = Dashboard(made, sessions, Seats(opened), about)
    dashboard.served.hosts = hosts or Hosts(frozenset((f"http://127.0.0.1:{port}",)))
    listing = asyncio.create_task(board.run())
    try:
        yield Running(dashboard.served, cluster, board, sessions, dashboard)
    finally:
        news.end()
        listing.cancel()
        await asyncio.gather(listing, return_exceptions=True)


@asynccontextmanager
async def site(
    seen: Overview | None = None, *, entered: bool = True, read_only: bool = False
) -> AsyncIterator[Site]:
    """As a browser sees it that opened the address; or one that did not."""
    async with running(seen, read_only=read_only) as one:
        transport = httpx.ASGITransport(one.app)
        async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
            found = Site(one, client)
            if entered:
                answer = await found.get(f"/enter?token={one.sessions.token}")
                assert answer.status_code == 303, answer.text
            yield found
