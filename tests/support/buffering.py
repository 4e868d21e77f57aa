"""A proxy that holds answers back until they are whole, as some do; or that can be told not to."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from urllib.parse import urlsplit


class _Proxy:
    def __init__(self, target: str, *, obeys: bool) -> None:
        self._host, self._port = urlsplit(target).hostname, urlsplit(target).port
        self._obeys = obeys
        """Whether `X-Accel-Buffering: no` counts."""

    async def serve(self, down: asyncio.StreamReader, up: asyncio.StreamWriter) -> None:
        """One request for each connection, which is closed after it."""
        try:
            head = await down.readuntil(b"\r\n\r\n")
            reader, writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, asyncio.IncompleteReadError):
            up.close()
            return
        try:
            writer.write(self._as_ours(head))
            length = _number(head, b"content-length")
            writer.write(await down.readexactly(length))
            await self._answer(reader, up)
        except (OSError, asyncio.IncompleteReadError):
            pass  # One side is gone, and so is the other.
        finally:
            writer.close()
            up.close()

    def _as_ours(self, head: bytes) -> bytes:
        """With the host and origin of what is behind, and no further request."""
        ours = f"{self._host}:{self._port}".encode()
        lines = []
        for line in head.rstrip(b"\r\n").split(b"\r\n"):
            name = line.partition(b":")[0].lower()
            if name == b"host":
                lines.append(b"Host: " + ours)
            elif name == b"origin":
                lines.append(b"Origin: http://" + ours)
            elif name != b"connection":
                lines.append(line)
        return b"\r\n".join([*lines, b"Connection: close", b"", b""])

    async def _answer(self, reader: asyncio.StreamReader, up: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        flows = self._obeys and b"x-accel-buffering: no" in head.lower()
        held = [head]
        while chunk := await reader.read(65536):
            held.append(chunk)
            if flows:
                up.write(b"".join(held))
                await up.drain()
                held.clear()
        up.write(b"".join(held))
        await up.drain()


def _number(head: bytes, name: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(name + b":"):
            return int(line.partition(b":")[2])
    return 0


@contextmanager
def buffering(target: str, *, obeys: bool = False) -> Iterator[str]:
    """Its address; it runs in a thread of its own."""
    proxy, ended = _Proxy(target, obeys=obeys), threading.Event()
    address: Queue[str] = Queue()

    async def run() -> None:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        address.put(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await asyncio.to_thread(ended.wait)
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield address.get(timeout=10)
    finally:
        ended.set()
        thread.join(10)
