"""One answer on its way from the API server to the client, and what faults do to it.

Bytes from the server, its end, faults injected meanwhile and the client's going away come through
one queue, so their order is certain. A watch is relayed by whole events: a fault strikes between
two of them, and never inside one unless it is asked to.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from enum import Enum, auto

from tests.support.faults import Cut, Delay, Fault, How, Request, Silence, WatchError, error_event
from tests.support.http11 import LAST_CHUNK, Head, chunk


class Signal(Enum):
    """What can happen to an answer besides bytes and faults."""

    END = auto()
    """The server has sent all of it."""
    LOST = auto()
    """The server broke off."""
    GONE = auto()
    """The client closed the connection."""


Item = bytes | Head | Signal | Fault


class ClosedError(Exception):
    """The connection to the client is over, and so is what runs on it."""


def end(writer: asyncio.StreamWriter, how: How) -> None:
    """Close politely (FIN), or so that the other side gets a reset (RST).

    Closed once only: the second `close()` of a TLS transport leaves it unable to abort.
    """
    if how == "rst":
        if not writer.is_closing():
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    elif not writer.is_closing():
        writer.close()


async def whole_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


class Stream:
    """The relay of one answer; all its methods belong to the proxy's event loop."""

    def __init__(
        self,
        request: Request,
        client: asyncio.StreamWriter,
        struck: Callable[[Request, Fault], None],
    ) -> None:
        self.request = request
        self.has_fault = False
        self._client = client
        self._struck = struck
        self._inbox: asyncio.Queue[Item] = asyncio.Queue()
        self._fault: Fault | None = None
        self._silence: Silence | None = None
        self._held: list[Item] = []
        self._woken = asyncio.Event()
        self._is_chunked = False
        self._bytes = self._events = 0

    def inject(self, fault: Fault) -> None:
        self.has_fault = True
        self._inbox.put_nowait(fault)

    def clear(self) -> None:
        """Forget faults, and let go what was held; a stream that lost bytes stays silent."""
        if self._silence and not self._silence.hold:
            return
        waiting = [item for item in self._drained() if not isinstance(item, Fault)]
        for item in (*self._held, *waiting):
            self._inbox.put_nowait(item)
        self._held.clear()
        self._fault = self._silence = None
        self.has_fault = False
        self._woken.set()

    def client_is_gone(self, _: object = None) -> None:
        self._inbox.put_nowait(Signal.GONE)
        self._woken.set()

    async def run(self, head: Head, pieces: AsyncIterator[bytes]) -> bool:
        """Relay to the end; False if a fault ended it, so that the server may have more to say.

        Raises ClosedError if the client's connection ended first.
        """
        early = self._drained()
        for item in (*early, head) if self._comes_before_head(early) else (head, *early):
            self._inbox.put_nowait(item)
        pump = asyncio.create_task(self._pump(pieces))
        try:
            return await self._relay()
        finally:
            pump.cancel()
            await asyncio.wait([pump])

    def _drained(self) -> list[Item]:
        return [self._inbox.get_nowait() for _ in range(self._inbox.qsize())]

    def _comes_before_head(self, early: list[Item]) -> bool:
        match early:
            case [Delay(each_chunk=False), *_]:
                return True
            case [Silence(), *_]:
                # The head of a watch says that it is open; for anything else, silence is silence.
                return not self.request.is_watch
        return False

    async def _pump(self, pieces: AsyncIterator[bytes]) -> None:
        try:
            async for piece in whole_lines(pieces) if self.request.is_watch else pieces:
                self._inbox.put_nowait(piece)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            self._inbox.put_nowait(Signal.LOST)
        else:
            self._inbox.put_nowait(Signal.END)

    async def _relay(self) -> bool:
        while True:
            item = await self._inbox.get()
            if item is Signal.GONE:
                raise ClosedError
            if self._silence:
                self._held += [item] if self._silence.hold else []
                continue
            if item is Signal.END:
                await self._write(LAST_CHUNK if self._is_chunked else b"")
                return True
            await self._take(item)
            if self._is_due() and await self._strike():
                return False

    async def _take(self, item: Item) -> None:
        if item is Signal.LOST:
            end(self._client, "rst")
            raise ClosedError
        if isinstance(item, Head):
            self._is_chunked = item.is_chunked
            await self._write(item.encode())
        elif isinstance(item, bytes):
            await self._pass(item)
        elif isinstance(item, Fault):
            await self._arm(item)

    async def _arm(self, fault: Fault) -> None:
        self._fault, self._bytes, self._events = fault, 0, 0
        if isinstance(fault, Delay):
            self._struck(self.request, fault)
            if not fault.each_chunk:
                await self._pause(fault.seconds)
                self._fault, self.has_fault = None, False

    async def _pass(self, piece: bytes) -> None:
        """Write a piece of the body, or as much of it as the fault leaves."""
        match self._fault:
            case Delay(seconds=seconds):
                await self._pause(seconds)
            case Cut(after_bytes=int(limit)):
                piece = piece[: limit - self._bytes]
            case Cut(in_event=int(last)) if last == self._events + 1:
                piece = piece[: len(piece) // 2]
        self._bytes += len(piece)
        self._events += 1
        await self._write(chunk(piece) if self._is_chunked else piece)

    def _is_due(self) -> bool:
        match self._fault:
            case Cut(after_bytes=int(limit)):
                return self._bytes >= limit
            case Cut(in_event=int(last)):
                return self._events >= last
            case Silence(after_events=passed) | WatchError(after_events=passed):
                return self._events >= passed
        return False

    async def _strike(self) -> bool:
        """Do what the fault is for; True if the answer ends with it.

        It is noted first: what a client has seen stands in the log already.
        """
        fault, self._fault = self._fault, None
        if fault:
            self._struck(self.request, fault)
        match fault:
            case Silence():
                self._silence = fault
            case WatchError(status=status):
                await self._write(chunk(error_event(status)) + LAST_CHUNK)
                return True
            case Cut(how=how):
                end(self._client, how)
                raise ClosedError
        return False

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the faults are cleared or the client goes away."""
        self._woken.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    async def _write(self, data: bytes) -> None:
        try:
            self._client.write(data)
            await self._client.drain()
        except OSError:
            raise ClosedError from None
