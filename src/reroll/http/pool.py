"""Connections to one server, kept for the next request.

No retries but one: a connection that was kept may be closed by the server just as it is used again,
and then what only reads is asked once more on a new one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Iterable

from reroll.http.connection import Connection
from reroll.http.dial import Address, dial, proxy_credentials
from reroll.http.errors import Closed, HttpError

KEEP_SECONDS = 15.0
AT_ONCE = 4
"""So many connections are made at the same time. Whoever comes meanwhile mostly finds one that
another request is done with: a burst needs a few then, and each costs a millisecond and 75 KB."""
_REPEATABLE = frozenset(("GET", "HEAD"))
Headers = Iterable[tuple[str, str]]


class Pool:
    def __init__(self, to: Address, *, always: Headers = ()) -> None:
        """`always`: headers of every request."""
        self._to = to
        self._common = [("Host", to.authority), *always]
        self._idle: deque[tuple[Connection, ssl.SSLContext | None]] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._dialling = 0
        self._waiting: deque[asyncio.Future[bool]] = deque()
        """For a connection to come back, or for the turn to make one; `True`: to make one now."""
        self._closed = False

    async def ask(
        self,
        method: str,
        target: str,
        headers: Headers = (),
        body: bytes | None = None,
        *,
        trust: ssl.SSLContext | None = None,
        urgent: bool = False,
    ) -> Connection:
        """The connection with the head of the answer; give it back with `keep`, or `drop` it.

        `urgent`: if there is none, make one, whatever others wait for.
        """
        request = self._encoded(method, target, headers, body, trust)
        kept = self._kept(trust)
        while kept is None and not urgent and self._dialling >= AT_ONCE:
            if await self._turn():
                break
            kept = self._kept(trust)
        if kept is not None:
            try:
                return await _asked(kept, request)
            except Closed:
                if method not in _REPEATABLE or not kept.unanswered:
                    raise
        return await _asked(await self._made(trust), request)

    def keep(self, used: Connection, trust: ssl.SSLContext | None) -> None:
        """Whoever has read an answer to its end gives the connection back."""
        if self._closed or not used.is_reusable:
            used.drop()
            return
        loop = asyncio.get_running_loop()
        used.idle_since = loop.time()
        self._idle.append((used, trust))
        self._wake()
        if self._sweep is None:
            self._sweep = loop.call_later(KEEP_SECONDS, self._drop_old)

    def close(self) -> None:
        """For good: answers that are still on their way are the last of their connections."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        while self._idle:
            self._idle.pop()[0].drop()

    async def _made(self, trust: ssl.SSLContext | None) -> Connection:
        self._dialling += 1
        try:
            return await dial(self._to, trust)
        except HttpError:
            # Nobody waits for the turn of others at a server that does not answer them.
            while self._waiting:
                self._wake(dial_now=True)
            raise
        finally:
            self._dialling -= 1
            self._wake()

    async def _turn(self) -> bool:
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake(dial_now=turn.result())
            raise

    def _wake(self, *, dial_now: bool = False) -> None:
        """The one that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(dial_now)
                return

    def _kept(self, trust: ssl.SSLContext | None) -> Connection | None:
        """The one used last, so that those not needed any more grow old."""
        while self._idle:
            connection, trusted = self._idle.pop()
            if trusted is trust and connection.is_reusable:
                return connection
            connection.drop()
        return None

    def _drop_old(self) -> None:
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0][0].idle_since <= loop.time() - KEEP_SECONDS:
            self._idle.popleft()[0].drop()
        self._sweep = None
        if self._idle:
            due = self._idle[0][0].idle_since + KEEP_SECONDS
            self._sweep = loop.call_at(due, self._drop_old)

    def _encoded(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | None,
        trust: ssl.SSLContext | None,
    ) -> bytes:
        common, proxy = self._common, self._to.proxy
        if proxy and trust is None:
            # There is no tunnel: the proxy has to read where the request goes, and who asks.
            target = f"http://{self._to.authority}{target}"
            if credentials := proxy_credentials(proxy):
                common = [*common, ("Proxy-Authorization", credentials)]
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (*common, *headers)]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
            raise ValueError("a line break in the head of a request")
        return f"{head}\r\n\r\n".encode("latin-1") + (body or b"")


async def _asked(connection: Connection, request: bytes) -> Connection:
    try:
        await connection.ask(request)
    except BaseException:
        connection.drop()
        raise
    return connection
