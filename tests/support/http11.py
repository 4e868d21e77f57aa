"""Just enough HTTP/1.1 to relay it byte by byte: heads, bodies, chunks.

Knows nothing of Kubernetes or of faults. No upgrades, no pipelining, no trailers.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from http import HTTPStatus

PIECE = 64 * 1024
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The first line and the headers of a request or an answer, as they came."""

    line: str
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.get("transfer-encoding").lower()

    def encode(self) -> bytes:
        lines = [self.line, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def with_length(self, body: bytes) -> bytes:
        """The whole message, its body in one piece even if it came in chunks."""
        if not self.is_chunked:
            return self.encode() + body
        kept = tuple(pair for pair in self.headers if pair[0].lower() != "transfer-encoding")
        return replace(self, headers=(*kept, ("Content-Length", str(len(body))))).encode() + body


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next head, or None if the other side closed the connection instead."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *rest = raw.decode("latin-1").split("\r\n")
    pairs = (header.split(":", 1) for header in rest if header)
    return Head(line, tuple((name, value.strip()) for name, value in pairs))


async def read_body(
    reader: asyncio.StreamReader, head: Head, *, of: str = ""
) -> AsyncIterator[bytes]:
    """The pieces of a body without their framing; a connection lost half way is an error.

    `of` is the method of the request, if this is an answer: a HEAD has a length and no body.
    """
    if of == "HEAD":
        return
    if head.is_chunked:
        while size := int(await reader.readline() or b"!", 16):
            async for piece in _exactly(reader, size):
                yield piece
            await reader.readexactly(2)
        await reader.readline()
    elif length := head.get("content-length"):
        async for piece in _exactly(reader, int(length)):
            yield piece


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size:
        piece = await reader.read(min(size, PIECE))
        if not piece:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(piece)
        yield piece


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A whole answer with a JSON body."""
    fixed = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return (
        Head(f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", (*fixed, *headers)).encode() + body
    )
