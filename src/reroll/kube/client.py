"""The only sockets to the API server: a `wire.Request` goes out, bytes or an `ApiError` come back.

The one place with timeouts, TLS and connection limits. No retries but one: credentials that were
refused are renewed and the request is sent once more. No redirects, no cookies, no environment.
"""

import asyncio
import asyncio.sslproto
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from reroll import __version__
from reroll.http.connection import Connection as HttpConnection
from reroll.http.dial import Address
from reroll.http.errors import HttpError, NoProxy, NoServer, ProxyRefused, Untrusted
from reroll.http.pool import Pool
from reroll.kube.auth import Access, Connection
from reroll.kube.decode import LineSplitter
from reroll.kube.errors import (
    SILENCE,
    ApiError,
    AuthError,
    TooLarge,
    Unauthorized,
    Unavailable,
    from_answer,
)
from reroll.kube.outage import Outage
from reroll.kube.wire import Request

T = TypeVar("T")

TLS_BUFFER = 16 * 1024
LONGEST_ERROR = 512 * 1024
"""What is wrong with a long expression comes with the expression, once for each fault in it."""
_NOT_READY = frozenset((401, 403, 429))
"""What an API server that has just started may answer to anything; 5xx is no better."""


class Call(msgspec.Struct, frozen=True):
    """One request and how it was answered, for metrics."""

    request: Request
    status: int | None
    """`None`: no answer came."""
    seconds: float
    """Until the answer began."""


class Batches:
    """The lines of a stream as they come: a list for each piece that the network gave."""

    def __init__(self, answer: HttpConnection, request: Request, read_timeout: float) -> None:
        self._answer, self._request, self._timeout = answer, request, read_timeout
        self._splitter = LineSplitter()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    chunk = await self._answer.some()
            except TimeoutError:
                raise _silent(self._request) from None
            except OSError as problem:
                raise _unavailable(problem, self._request) from None
            if not chunk:
                raise StopAsyncIteration
            if lines := self._splitter.feed(chunk):
                return lines


class Client:
    """A pool of connections to one API server; use it as an async context manager."""

    def __init__(
        self,
        connection: Connection,
        *,
        connections: int = 32,
        on_call: Callable[[Call], None] | None = None,
        timeout: float = 30,
    ) -> None:
        self.connection = connection
        self._on_call = on_call
        self._timeout = timeout
        # Streams stand open and must not take the place of requests, so only those are counted.
        self._slots = asyncio.Semaphore(connections)
        route = connection.route
        self._pool = Pool(
            Address.of(route.server, tls_name=route.tls_server_name or "", proxy=route.proxy),
            # Compression costs both sides more time than the network inside a cluster does.
            always=[("User-Agent", f"reroll/{__version__}"), ("Accept-Encoding", "identity")],
        )
        self._prefix = urlsplit(route.server).path
        self.outage = Outage()

    async def __aenter__(self) -> Self:
        shrink_tls_buffers()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # the event loop closes the sockets in its next round

    async def send(
        self,
        request: Request,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  there is one for every request
        urgent: bool = False,
        largest: int | None = None,
    ) -> bytes:
        """Send one request and return the body of the answer; `urgent`: past all that wait.

        `largest`: an answer with more bytes is `TooLarge`, and not read further.
        """
        slot = nullcontext() if urgent else self._slots

        async def whole(access: Access) -> bytes:
            async with slot, asyncio.timeout(timeout or self._timeout):
                answer = await self._once(request, access, urgent=urgent)
                try:
                    body = await answer.body(None if largest is None else largest + 1)
                finally:
                    self._pool.keep(answer, access.ssl)
            if largest is not None and len(body) > largest:
                message = f"the answer has more than {largest} bytes"
                raise TooLarge(message, method=request.method, path=request.path)
            return body

        return await self._with_access(request, whole)

    @asynccontextmanager
    async def lines(self, request: Request, *, read_timeout: float) -> AsyncIterator[Batches]:
        """Open a stream; `read_timeout` is how long it may be silent."""

        async def opened(access: Access) -> HttpConnection:
            async with asyncio.timeout(max(self._timeout, read_timeout)):
                return await self._once(request, access)

        answer = await self._with_access(request, opened)
        try:
            yield Batches(answer, request, read_timeout)
        finally:
            answer.drop()

    async def _with_access(self, request: Request, ask: Callable[[Access], Awaitable[T]]) -> T:
        """Ask, and once more with a new credential if the first is refused.

        Making a credential has no timeout here: a person may have to log in first.
        """
        access = await self._access(request)
        try:
            try:
                return await ask(access)
            except Unauthorized:
                fresh = await self._access(request, rejected=access)
                if fresh is access:
                    raise
                return await ask(fresh)
        except OSError as problem:
            raise _unavailable(problem, request) from None

    async def _access(self, request: Request, rejected: Access | None = None) -> Access:
        try:
            return await self.connection.access(rejected=rejected)
        except AuthError as problem:
            raise Unauthorized(
                str(problem), reason="Credentials", method=request.method, path=request.path
            ) from problem

    async def _once(
        self, request: Request, access: Access, *, urgent: bool = False
    ) -> HttpConnection:
        """An answer that began well: its status is 2xx, its body not yet read."""
        started = asyncio.get_running_loop().time()
        headers = [*access.headers, ("Accept", request.accept)]
        if request.body is not None:
            headers.append(("Content-Type", request.content_type))
        status = None
        try:
            answer = await self._pool.ask(
                request.method,
                self._prefix + request.target,
                headers,
                request.body,
                trust=access.ssl,
                urgent=urgent,
            )
            status = answer.status
        except (NoServer, NoProxy, ProxyRefused):
            self.outage.began()
            raise
        finally:
            if self._on_call:
                seconds = asyncio.get_running_loop().time() - started
                self._on_call(Call(request, status, seconds))
        if status < 500 and status not in _NOT_READY:
            self.outage.ended()
        if status >= 300:
            try:
                body = await answer.body(LONGEST_ERROR)
            finally:
                self._pool.keep(answer, access.ssl)
            raise _refused(answer, body, request)
        return answer


def shrink_tls_buffers() -> None:
    """Make asyncio's buffer of each TLS connection as small as a TLS record.

    asyncio takes 256 KiB and keeps it as long as the connection, and a controller has two dozen
    open. The attribute is undocumented; a test tells when it has no effect any more.
    """
    asyncio.sslproto.SSLProtocol.max_size = TLS_BUFFER


def _refused(answer: HttpConnection, body: bytes, request: Request) -> ApiError:
    return from_answer(
        answer.status,
        body,
        method=request.method,
        path=request.path,
        retry_after=answer.headers.get("retry-after"),
    )


def _silent(request: Request) -> Unavailable:
    message = "the stream was silent for too long"
    return Unavailable(message, reason=SILENCE, method=request.method, path=request.path)


def _unavailable(problem: OSError, request: Request) -> Unavailable:
    reason, message = _explained(problem)
    return Unavailable(message, reason=reason, method=request.method, path=request.path)


def _explained(problem: OSError) -> tuple[str, str]:
    """A short reason and a sentence, without anything of the answer's body."""
    match problem:
        case TimeoutError():
            return "Timeout", "the API server did not answer in time"
        case Untrusted():
            return "Certificate", f"{problem}; check certificate-authority in the kubeconfig"
        case NoProxy() | ProxyRefused():
            return "Proxy", str(problem)
        case HttpError():
            return "Connection", str(problem)
        case _:
            told = problem.strerror or type(problem).__name__
            return "Connection", f"the connection broke: {told}"
