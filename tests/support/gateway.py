"""The inside of the fault proxy: connections, requests, and which fault is for which.

Belongs to one event loop and knows nothing of threads; `faultproxy.py` is its outside. A client's
connection has a connection to the server of its own, so what happens to one concerns no other.
"""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.faults import (
    Answer,
    DropResponse,
    Fault,
    Injection,
    Late,
    Request,
    status_object,
    strikes_streams,
)
from tests.support.http11 import Head, answer, read_body, read_head
from tests.support.relay import ClosedError, Stream, end

LIMIT = 1024 * 1024


class Connection:
    """A client's connection, and the one to the server that belongs to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.gone = asyncio.ensure_future(self._closed())
        self._link: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def certificate(self) -> bytes | None:
        """The client's own, if it showed one."""
        shown: bytes | None = self.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return shown

    async def ask(
        self, server: tuple[str, int], context: ssl.SSLContext, request: bytes
    ) -> tuple[Head, asyncio.StreamReader]:
        """Send a request to the server, over the connection that is open or a new one."""
        if self._link is None or self._link[0].at_eof():
            self.unlink()
            self._link = await asyncio.open_connection(*server, ssl=context, limit=LIMIT)
        reader, writer = self._link
        writer.write(request)
        await writer.drain()
        head = await read_head(reader)
        if head is None:
            raise ConnectionResetError("the API server closed the connection instead of answering")
        return head, reader

    def unlink(self) -> None:
        """Close the connection to the server: it may have more to say that nobody wants."""
        if self._link:
            self._link[1].transport.abort()
            self._link = None

    async def _closed(self) -> None:
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


@dataclass(eq=False)
class Gateway:
    server: tuple[str, int]
    port: int
    tls: ssl.SSLContext
    """With which clients are met."""
    logins: dict[bytes | None, ssl.SSLContext]
    """With which the server is called, by the certificate that the client showed."""
    note: Callable[[Request, Fault | str], None]
    _injections: list[Injection] = field(default_factory=list)
    _streams: list[Stream] = field(default_factory=list)
    _connections: dict[Connection, asyncio.Task[None]] = field(default_factory=dict)
    _listener: socket.socket | None = None
    _guests: set[asyncio.Task[None]] = field(default_factory=set)
    """Whoever came, from before the handshake on."""

    async def inject(self, injection: Injection) -> None:
        if strikes_streams(injection.fault):
            for stream in self._streams:
                if not stream.has_fault and injection.take(stream.request):
                    stream.inject(injection.fault)
        self._injections.append(injection)

    async def clear(self) -> None:
        self._injections.clear()
        for stream in self._streams:
            stream.clear()

    async def accept(self) -> None:
        if not self._listener:
            self._listener = bound(self.port)
            self._listener.setblocking(False)
            self._listener.listen(100)
            asyncio.get_running_loop().add_reader(self._listener, self._meet, self._listener)

    async def refuse(self) -> None:
        """Nobody is left, not even in the middle of a handshake; `asyncio.Server` loses those."""
        if self._listener:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for connection in self._connections:
            connection.unlink()
            end(connection.writer, "rst")
        await asyncio.sleep(0)  # A task that never began would close nothing.
        for task in self._guests.difference(self._connections.values()):
            task.cancel()
        if self._guests:
            await asyncio.wait(self._guests)

    def _meet(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        task = asyncio.ensure_future(self._welcome(sock))
        self._guests.add(task)
        task.add_done_callback(self._guests.discard)

    async def _welcome(self, sock: socket.socket) -> None:
        reader = asyncio.StreamReader(limit=LIMIT)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, sock, ssl=self.tls, ssl_shutdown_timeout=1
            )
        except OSError:
            return
        await self._serve(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        task = asyncio.current_task()
        assert task
        self._connections[connection] = task
        try:
            # A handshake may end after the port was closed.
            while self._listener and (head := await read_head(reader)):
                await self._exchange(connection, head)
        except (ClosedError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            connection.unlink()
            end(writer, "fin")
            await connection.gone
            del self._connections[connection]

    async def _exchange(self, connection: Connection, head: Head) -> None:
        content = b"".join([piece async for piece in read_body(connection.reader, head)])
        request = Request.parse(head.line, head.get("accept"))
        fault = next((i.fault for i in self._injections if i.take(request)), None)
        if isinstance(fault, Answer):
            self.note(request, fault)
            connection.writer.write(_refusal(fault))
            await connection.writer.drain()
            return
        if isinstance(fault, Late):
            self.note(request, fault)
            await asyncio.sleep(fault.seconds)
            fault = None
        stream = Stream(request, connection.writer, self.note)
        if fault and not isinstance(fault, DropResponse):
            stream.inject(fault)
        self._streams.append(stream)
        connection.gone.add_done_callback(stream.client_is_gone)
        try:
            await self._pass(connection, stream, head.with_length(content), fault)
        finally:
            connection.gone.remove_done_callback(stream.client_is_gone)
            self._streams.remove(stream)

    async def _pass(
        self, connection: Connection, stream: Stream, request: bytes, fault: Fault | None
    ) -> None:
        login = self.logins.get(connection.certificate, self.logins[None])
        try:
            head, reader = await connection.ask(self.server, login, request)
        except OSError:
            self.note(stream.request, "unreachable")
            raise
        self.note(stream.request, "passed")
        pieces = read_body(reader, head, of=stream.request.method)
        if isinstance(fault, DropResponse):
            async for _ in pieces:
                pass
            self.note(stream.request, fault)
            end(connection.writer, fault.how)
            raise ClosedError
        if not await stream.run(head, pieces):
            connection.unlink()


def bound(port: int) -> socket.socket:
    """A socket that shares its port with the others bound here, so that the port is never lost."""
    # With its protocol named, asyncio sets TCP_NODELAY: a reset would take back what Nagle holds.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind(("127.0.0.1", port))
    return sock


def _refusal(fault: Answer) -> bytes:
    wait = fault.retry_after
    headers = (("Retry-After", str(wait)),) if wait is not None else ()
    return answer(fault.status, json.dumps(status_object(fault.status, wait)).encode(), headers)
