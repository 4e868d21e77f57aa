"""Accepts TLS connections: few handshakes at once, and each address gets its share of them.

A handshake costs more than all that is asked afterwards, and it comes before anyone is known. So
connections wait for theirs in turn by address, and one that takes long makes room for others.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

HANDSHAKE = 5.0
"""Seconds until TLS stands."""
HANDSHAKES = 32
"""At once; with one more, the handshake that has taken longest is given up."""
OF_ONE = 4
"""At once, from one address; more of its connections wait."""
WAITING = 256
"""Connections that wait; with one more, the address with most of them loses its oldest."""
FULL = 1.0
"""Seconds until the next try, when no connection can be accepted: the process has no files left."""


class Acceptor:
    """`factory()` makes a protocol, which is told of its connection when TLS stands."""

    def __init__(
        self, factory: Callable[[], asyncio.Protocol], context: Callable[[], ssl.SSLContext]
    ) -> None:
        self._factory, self._context = factory, context
        self._listeners: list[socket.socket] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[str, deque[socket.socket]] = {}
        """By address, in the order in which they get their turn."""
        self._running: dict[asyncio.Task[None], str] = {}
        """In the order in which they began."""

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def start(self, host: str | None, port: int) -> int:
        """Listen, and answer with the port; raises `OSError` if the address is taken."""
        loop = asyncio.get_running_loop()
        bound = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
        self._listeners = [one.dup() for one in bound.sockets]
        bound.close()
        for one in self._listeners:
            one.setblocking(False)
            one.listen(WAITING)
            self._tasks.append(asyncio.create_task(self._accept(one)))
        number: int = self._listeners[0].getsockname()[1]
        return number

    async def stop(self) -> None:
        waiting = [one for queue in self._waiting.values() for one in queue]
        self._waiting.clear()
        tasks = (*self._tasks, *self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in (*self._listeners, *waiting):
            one.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listener)
            except ConnectionError:
                continue
            except OSError:
                await asyncio.sleep(FULL)
                continue
            self._enter(connection, address[0])
            await asyncio.sleep(0)  # one in each turn of the loop, however many there are

    def _enter(self, connection: socket.socket, peer: str) -> None:
        self._waiting.setdefault(peer, deque()).append(connection)
        if self.waiting > WAITING:
            most = max(self._waiting, key=lambda each: len(self._waiting[each]))
            self._take(most).close()
        self._begin()

    def _take(self, peer: str) -> socket.socket:
        """The oldest of an address that waits; the others of it come after all other addresses."""
        queue = self._waiting.pop(peer)
        connection = queue.popleft()
        if queue:
            self._waiting[peer] = queue
        return connection

    def _begin(self) -> None:
        running = list(self._running.values())
        for peer in [each for each in self._waiting if running.count(each) < OF_ONE]:
            if len(self._running) >= HANDSHAKES:
                oldest = next(iter(self._running))
                del self._running[oldest]
                oldest.cancel()
            connection = self._take(peer)
            task = asyncio.create_task(self._shake_hands(connection))
            self._running[task] = peer
            task.add_done_callback(partial(self._ended, connection))

    def _ended(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        if task.cancelled():
            connection.close()  # it may have been given up before it began
        self._begin()

    async def _shake_hands(self, connection: socket.socket) -> None:
        with suppress(OSError):  # no TLS, no certificate, or not in time: the caller sees it
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory,
                connection,
                ssl=self._context(),
                ssl_handshake_timeout=HANDSHAKE,
            )
