"""One connection to a server: a request goes out, an answer comes back, one after the other.

The answer's body comes as it arrives. Who reads too slowly stops the server, not the memory.
"""

import asyncio
from typing import Any

import httptools

from reroll.http.errors import Closed, Garbled

HIGH = 256 * 1024
"""So many bytes may wait to be read before the server has to wait."""
LONGEST_HEAD = 64 * 1024
"""Bytes before a body, between two pieces of it, and after it."""
_FRAMED = ("content-length", "transfer-encoding")


class Connection(asyncio.Protocol):
    """`status` and `headers` (names in lower case) are those of the answer being read."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.status = 0
        self._fields: list[tuple[bytes, bytes]] = []
        self.idle_since = 0.0
        self._parser = httptools.HttpResponseParser(self)
        self._head: asyncio.Future[None] | None = None
        self._more: asyncio.Future[None] | None = None
        self._chunks: list[bytes] = []
        self._waiting = 0
        self._around = 0
        self._began = False
        self._complete = True
        self._lasts = True
        self._problem: Exception | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Of most answers nobody reads any."""
        return {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._fields
        }

    # What its user does

    async def ask(self, request: bytes) -> None:
        """Send a whole request, and wait until the answer's head is there."""
        if self._problem is not None:
            raise self._problem
        self._parser = httptools.HttpResponseParser(self)
        self._chunks, self._waiting, self._around = [], 0, 0
        self._began = self._complete = False
        self._head = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        try:
            await self._head
        finally:
            self._head = None

    async def some(self) -> bytes:
        """What has come of the body since; `b""` at its end."""
        while not self._chunks:
            if self._complete:
                return b""
            if self._problem is not None:
                raise self._problem
            self._more = asyncio.get_running_loop().create_future()
            try:
                await self._more
            finally:
                self._more = None
        piece = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        if self._waiting > HIGH:
            self.transport.resume_reading()
        self._waiting = 0
        return piece

    async def body(self, largest: int | None = None) -> bytes:
        """All of it, or its first `largest` bytes."""
        pieces, size = [], 0
        while piece := await self.some():
            pieces.append(piece)
            size += len(piece)
            if largest is not None and size >= largest:
                break
        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return whole if largest is None else whole[:largest]

    @property
    def unanswered(self) -> bool:
        """Whether not a byte of the answer has come."""
        return not self._began

    @property
    def is_reusable(self) -> bool:
        """Whether the last answer is read to its end, and the server lets us go on."""
        return self._complete and self._lasts and self._problem is None and not self._chunks

    def drop(self) -> None:
        """At once: a server that may be dead need not say good-bye."""
        if self._problem is None:
            self._problem = Closed("the connection was dropped")
        if self.transport is not None:
            self.transport.abort()

    # What the event loop tells

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._complete:
            # Nobody asked anything.
            self.drop()
            return
        self._began = True
        self._around += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(Garbled("the answer is not HTTP"))
            return
        if self._around > LONGEST_HEAD:
            self._fail(Garbled("the headers of the answer are too long"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        if self._ends_with_connection():
            self._complete = True
            self._problem = Closed("the server closed the connection")
            _wake(self._more)
            return
        if self._problem is None:
            without = "the server closed the connection without an answer"
            self._problem = Closed("the answer was cut short" if self._began else without)
            self._problem.__cause__ = problem
        self._tell(self._problem)

    # What httptools tells

    def on_message_begin(self) -> None:
        if self._complete:
            # An answer to what nobody asked: nothing more from here is to be trusted.
            self._lasts = False
        else:
            self._fields = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self._complete:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._around = 0
            _wake(self._head)

    def on_body(self, piece: bytes) -> None:
        if self._complete:
            return
        self._around = 0
        self._chunks.append(piece)
        before, self._waiting = self._waiting, self._waiting + len(piece)
        if before <= HIGH < self._waiting:
            self.transport.pause_reading()
        _wake(self._more)

    def on_message_complete(self) -> None:
        if self.status >= 200 and not self._complete:
            self._complete, self._lasts = True, self._parser.should_keep_alive()
            self._around = 0
            _wake(self._more)

    @property
    def _has_head(self) -> bool:
        return self._head is None or self._head.done()

    def _ends_with_connection(self) -> bool:
        """Whether the answer has no other end than that of the connection."""
        return (
            not self._complete
            and self._problem is None
            and self._began
            and self._has_head
            and not any(name in self.headers for name in _FRAMED)
        )

    def _fail(self, problem: Exception) -> None:
        self._problem = problem
        self._tell(problem)
        self.transport.abort()

    def _tell(self, problem: Exception) -> None:
        if self._head is not None and not self._head.done():
            self._head.set_exception(problem)
        _wake(self._more)


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
