"""A small HTTP server: a function from a request to a reply.

For probes, metrics and admission: short questions from few callers, answered without waiting for
anything. What is too large, too slow or no HTTP is turned away.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import httptools

from reroll.http.connection import LONGEST_HEAD
from reroll.http.room import Room
from reroll.http.tls import Acceptor

PATIENCE = 75.0
"""Seconds that a caller may be silent before its first request, and after each."""
DEADLINE = 15.0
"""Seconds from the first byte of a request to its last; bytes in between do not renew them."""
MOST = 256
"""Connections at once, see `Room`. With TLS, a connection counts as soon as that stands."""
BODIES = 4
"""So many of the largest bodies may be on their way at once, together; smaller ones are more.

With more, who has held one for longest has to go.
"""
BURST = 8
"""Requests that are answered in one go; who sends more before it listens has to connect again.

So has who asks on while its answers wait to be read.
"""


class Asked(NamedTuple):
    method: str
    path: str
    """Without the query."""
    body: bytes


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"


Handler = Callable[[Asked], Reply]


def routes(table: Mapping[tuple[str, str], Handler]) -> Handler:
    """One handler out of several, by method and path; who may be read with GET may with HEAD."""
    paths = {path for _, path in table}

    def answer(asked: Asked) -> Reply:
        method = "GET" if asked.method == "HEAD" else asked.method
        handler = table.get((method, asked.path))
        if handler is not None:
            return handler(asked)
        status = HTTPStatus.METHOD_NOT_ALLOWED if asked.path in paths else HTTPStatus.NOT_FOUND
        return _plain(status)

    return answer


class Server:
    """`address` is `host:port`, `:port` for every address of the machine; port 0: any free one."""

    def __init__(
        self,
        address: str,
        answer: Handler,
        *,
        trust: Callable[[], ssl.SSLContext] | None = None,
        largest: int = 64 * 1024,
        most: int = MOST,
    ) -> None:
        """`trust()` is asked for each connection."""
        host, _, port = address.rpartition(":")
        self._host, self.port = host.strip("[]") or None, int(port)
        self._answer = answer
        self._room = Room(largest, most)
        self._server: asyncio.Server | None = None
        self._acceptor = Acceptor(self._caller, trust) if trust else None

    def _caller(self) -> "_Caller":
        return _Caller(self._answer, self._room)

    async def start(self) -> None:
        """Listen; raises `OSError` if the address is taken."""
        if self._acceptor is not None:
            self.port = await self._acceptor.start(self._host, self.port)
            return
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._caller, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._acceptor is not None:
            await self._acceptor.stop()
        if self._server is not None:
            self._server.close()
        for caller in tuple(self._room.callers):
            caller.drop()
        if self._server is not None:
            await self._server.wait_closed()


class _Caller(asyncio.Protocol):
    """One connection; its requests are answered in the order in which they come."""

    def __init__(self, answer: Handler, room: Room) -> None:
        self._answer, self._room = answer, room
        self.peer = ""
        self._url, self._body = b"", bytearray()
        self._around = 0
        """Bytes since the last complete head or piece of a body."""
        self._answered = 0
        """Requests in what came last."""
        self._is_behind = False
        """It does not read its answers as fast as they are written."""
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def _forget(self) -> None:
        """What has come of a request."""
        self._room.held -= len(self._body)
        self._room.holders.pop(self, None)
        self._url, self._body = b"", bytearray()

    def refuse(self, status: HTTPStatus) -> None:
        self._forget()
        if not self._transport.is_closing():
            self._write(_plain(status), lasts=False)

    def drop(self) -> None:
        self._room.leave(self)
        if self._transport is not None:
            self._transport.abort()

    # What the event loop tells

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.peer = (transport.get_extra_info("peername") or ("",))[0]
        self._room.enter(self)
        self._wait(PATIENCE)

    def connection_lost(self, _problem: Exception | None) -> None:
        self._forget()
        self._room.leave(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._around += len(data)
        self._answered = 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as problem:
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise problem.__context__ or problem from None  # the event loop tells of it
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            self.refuse(HTTPStatus.BAD_REQUEST)
        if self._around > LONGEST_HEAD:
            self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def pause_writing(self) -> None:
        """Who asks and does not read what we say is left alone."""
        self._is_behind = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_behind = False
        self._transport.resume_reading()

    # What httptools tells

    def on_message_begin(self) -> None:
        self._room.ask(self)
        self._wait(DEADLINE)

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        self._around = 0

    def on_body(self, piece: bytes) -> None:
        self._around = 0
        if self._transport.is_closing():
            return
        if len(self._body) + len(piece) > self._room.largest:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        self._body += piece
        self._room.held += len(piece)
        self._room.holders.setdefault(self)
        while self._room.held > BODIES * self._room.largest:
            next(iter(self._room.holders)).refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def on_message_complete(self) -> None:
        self._around = 0
        if self._transport.is_closing():
            return
        method = self._parser.get_method().decode("latin-1")
        path = self._url.decode("latin-1").partition("?")[0]
        body = bytes(self._body)
        self._forget()
        self._wait(PATIENCE)
        reply = self._answer(Asked(method, path, body))
        self._answered += 1
        lasts = self._parser.should_keep_alive() and self._answered < BURST and not self._is_behind
        self._write(reply, lasts=lasts, with_body=method != "HEAD")

    def _write(self, reply: Reply, *, lasts: bool, with_body: bool = True) -> None:
        head = (
            f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
            f"Content-Type: {reply.content_type}\r\nContent-Length: {len(reply.body)}\r\n"
        )
        if not lasts:
            head += "Connection: close\r\n"
        body = reply.body if with_body else b""
        self._transport.write(f"{head}\r\n".encode("latin-1") + body)
        if not lasts:
            self._transport.close()

    def _wait(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)


def _plain(status: HTTPStatus) -> Reply:
    return Reply(status, f"{status.phrase}\n".encode())
