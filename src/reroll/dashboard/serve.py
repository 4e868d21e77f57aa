"""The process: a socket, a thread that serves pages, and a loop that looks.

The cluster is asked in the loop that was there; pages are made in a thread with a loop of its own,
so that a long listing delays no page.
"""

import asyncio
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import uvicorn

from reroll.dashboard.app import About, Dashboard
from reroll.dashboard.doors.door import Door
from reroll.dashboard.doors.local import ENTER, LocalDoor
from reroll.dashboard.doors.nobody import NobodyDoor
from reroll.dashboard.doors.proxy import ProxyDoor, Trust
from reroll.dashboard.doors.token import TokenDoor
from reroll.dashboard.hall import Hall
from reroll.dashboard.hosts import Hosts
from reroll.dashboard.protocol import LONGEST_HEAD, Patient
from reroll.dashboard.rendering import sign_in_page
from reroll.dashboard.seats import Seats
from reroll.dashboard.sessions import Sessions
from reroll.dashboard.standpoint import Setup
from reroll.dashboard.streams import Streams
from reroll.kube.view import View

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")
LOCAL, TOKEN, PROXY, NONE = "local", "token", "proxy", "none"
AUTHS = (LOCAL, TOKEN, PROXY, NONE)
MOST_CONNECTIONS = 512
END_WITHIN = 5.0
TURN = 0.001
"""Seconds after which the thread that lists lets the one that serves pages go on."""


class How(NamedTuple):
    """Where it listens, and for whom."""

    auth: str = LOCAL
    host: str = LOOPBACK
    """Empty: every address of the machine."""
    port: int = 0
    public: frozenset[str] = frozenset()
    """The origins under which people reach it."""
    trust: Trust = Trust(())
    """With `proxy`."""
    certificate: tuple[str, str] | None = None
    """Files with a certificate and its key."""

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"


class Address(NamedTuple):
    base: str
    token: str = ""

    @property
    def url(self) -> str:
        """With a token: good for one browser, once."""
        return f"{self.base}{ENTER}?token={self.token}" if self.token else self.base


async def serve(
    view: View, setup: Setup, about: About, how: How, ready: Callable[[Address], None]
) -> None:
    """Serve until the process is told to end; `ready` is called when pages can be asked for."""
    sessions, web = Sessions(lambda: secrets.token_urlsafe(32)), _Web()
    hall = Hall(view, setup, web.wake)
    with _listening(how.host, how.port) as listening:
        port = listening.getsockname()[1]
        dashboard = Dashboard(_door(how, port, sessions, hall), sessions, Seats(hall.open), about)
        dashboard.served.hosts = _hosts(how, port)
        is_local = how.auth == LOCAL
        web.start(_config(dashboard, how), listening, dashboard, at_once=is_local)
        try:
            base = f"{how.scheme}://{how.host or LOOPBACK}:{port}"
            ready(Address(base, sessions.token if is_local else ""))
            await _ended(hall)
        finally:
            await hall.end()
            await asyncio.to_thread(web.end)


def _door(how: How, port: int, sessions: Sessions, hall: Hall) -> Door:
    if how.auth == TOKEN:
        return TokenDoor(sessions, hall.introduce, sign_in_page)
    if how.auth == PROXY:
        return ProxyDoor(sessions, how.trust)
    return NobodyDoor(sessions) if how.auth == NONE else LocalDoor(sessions, f"reroll-{port}")


def _hosts(how: How, port: int) -> Hosts:
    if how.auth != LOCAL:
        return Hosts(how.public, how.scheme, is_forwarded=True)
    return Hosts(how.public | {f"{how.scheme}://{name}:{port}" for name in NAMES}, how.scheme)


def _config(dashboard: Dashboard, how: How) -> uvicorn.Config:
    certificate, key = how.certificate or (None, None)
    return uvicorn.Config(
        dashboard.served, loop="asyncio", http=Patient, ws="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, date_header=False, proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=15, timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LONGEST_HEAD, ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip


def _listening(host: str, port: int) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128
            )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=128)


async def _ended(hall: Hall) -> None:
    """Until somebody ends it, or the listing breaks, which is raised."""
    told = asyncio.Event()
    with suppress(NotImplementedError, RuntimeError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    hall.broken.add_done_callback(lambda _: told.set())
    await told.wait()
    if hall.broken.done():
        hall.broken.result()


class _Web:
    """The thread that serves pages."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._dashboard: Dashboard | None = None

    def wake(self, streams: Streams) -> None:
        """From the other loop: there is something new to see."""
        if self._loop is not None:
            with suppress(RuntimeError):  # It has ended.
                self._loop.call_soon_threadsafe(streams.wake)

    def start(
        self,
        config: uvicorn.Config,
        listening: socket.socket,
        dashboard: Dashboard,
        *,
        at_once: bool,
    ) -> None:
        """`at_once`: look before somebody asks."""
        self._server = server = uvicorn.Server(config)
        self._dashboard = dashboard
        sys.setswitchinterval(TURN)

        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            if at_once:
                await dashboard.begin()
            await server.serve([listening])

        self._thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        self._thread.start()

    def end(self) -> None:
        if self._server is None or self._thread is None or self._loop is None:
            return
        self._server.should_exit = True
        if self._dashboard is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._dashboard.end)
        self._thread.join(END_WITHIN)
