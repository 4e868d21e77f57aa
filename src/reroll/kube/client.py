"""The only sockets to the API server: a `wire.Request` goes out, bytes or an `ApiError` come back.

The one place with timeouts, TLS and connection limits. No retries but one: credentials that were
refused are got anew and the request is sent once more. No redirects, no cookies, no environment.
"""

import asyncio
import asyncio.sslproto
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from yarl import URL

from reroll import __version__
from reroll.kube.auth import Access, Connection
from reroll.kube.decode import LineSplitter
from reroll.kube.errors import SILENCE, ApiError, AuthError, Unauthorized, Unavailable, from_answer
from reroll.kube.lean import aiohttp
from reroll.kube.wire import Request

TLS_BUFFER = 16 * 1024
LONGEST_ERROR = 64 * 1024
KEEP_IDLE_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Call:
    """One request and how it was answered, for metrics."""

    request: Request
    status: int | None
    """`None`: no answer came."""
    seconds: float
    """Until the answer began."""


class Batches:
    """The lines of a stream as they come: a list for each piece that the network gave."""

    def __init__(self, response: aiohttp.ClientResponse, request: Request) -> None:
        self._content = response.content
        self._request = request
        self._splitter = LineSplitter()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        while True:
            try:
                chunk = await self._content.readany()
            except TimeoutError:
                raise _silent(self._request) from None
            except (aiohttp.ClientError, OSError) as problem:
                raise _unavailable(problem, self._request) from None
            if not chunk:
                raise StopAsyncIteration
            if lines := self._splitter.feed(chunk):
                return lines


class _Connector(aiohttp.TCPConnector):
    """Drops a connection that ends in the middle of an answer at once.

    Otherwise asyncio keeps it for half a minute, waiting for a server that may be dead to say
    good-bye in TLS. `_release` is where every such connection passes; a test tells when it does
    not any more.
    """

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        if should_close:
            protocol.abort()
        super()._release(key, protocol, should_close=should_close)


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
        # A server without TLS may still be behind a proxy with it, whom the system vouches for.
        proxied = (connection.route.proxy or "").startswith("https:")
        self._without_tls = ssl.create_default_context() if proxied else True
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        shrink_tls_buffers()
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=0, keepalive_timeout=KEEP_IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            # Compression costs both sides more time than the network inside a cluster does.
            headers={"User-Agent": f"reroll/{__version__}", "Accept-Encoding": "identity"},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def send(self, request: Request, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  becomes the HTTP client's own
        """Send one request and return the body of the answer."""
        limit = aiohttp.ClientTimeout(total=timeout or self._timeout)
        async with self._slots:
            response = await self._open(request, limit)
            try:
                return await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as problem:
                raise _unavailable(problem, request) from None
            finally:
                response.release()

    @asynccontextmanager
    async def lines(self, request: Request, *, read_timeout: float) -> AsyncIterator[Batches]:
        """Open a stream; `read_timeout` is how long it may be silent."""
        limit = aiohttp.ClientTimeout(
            total=None, sock_connect=self._timeout, sock_read=read_timeout
        )
        response = await self._open(request, limit)
        try:
            yield Batches(response, request)
        finally:
            response.close()

    async def _open(self, request: Request, limit: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """An answer that began well: its status is 2xx, its body not yet read."""
        access = await self._access(request)
        try:
            return await self._once(request, access, limit)
        except Unauthorized:
            fresh = await self._access(request, rejected=access)
            if fresh is access:
                raise
            return await self._once(request, fresh, limit)

    async def _access(self, request: Request, rejected: Access | None = None) -> Access:
        try:
            return await self.connection.access(rejected=rejected)
        except AuthError as problem:
            raise Unauthorized(
                str(problem), reason="Credentials", method=request.method, path=request.path
            ) from problem

    async def _once(
        self, request: Request, access: Access, limit: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        started = asyncio.get_running_loop().time()
        headers = [*access.headers, ("Accept", request.accept)]
        if request.body is not None:
            headers.append(("Content-Type", request.content_type))
        status = None
        try:
            response = await self._session.request(
                request.method,
                URL(self.connection.route.server + request.target, encoded=True),
                data=request.body,
                headers=headers,
                timeout=limit,
                allow_redirects=False,
                ssl=access.ssl if access.ssl is not None else self._without_tls,
                server_hostname=self.connection.route.tls_server_name,
                proxy=self.connection.route.proxy,
            )
            status = response.status
            if status >= 300:
                raise await _refused(response, request)
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise _unavailable(problem, request) from None
        finally:
            if self._on_call:
                seconds = asyncio.get_running_loop().time() - started
                self._on_call(Call(request, status, seconds))
        return response


def shrink_tls_buffers() -> None:
    """Make asyncio's buffer of each TLS connection as small as a TLS record.

    asyncio takes 256 KiB and keeps it as long as the connection, and a controller has two dozen
    open. The attribute is undocumented; a test tells when it has no effect any more.
    """
    asyncio.sslproto.SSLProtocol.max_size = TLS_BUFFER


async def _refused(response: aiohttp.ClientResponse, request: Request) -> ApiError:
    body = b""
    try:
        while len(body) < LONGEST_ERROR and (chunk := await response.content.readany()):
            body += chunk
    finally:
        response.release()
    return from_answer(
        response.status,
        body,
        method=request.method,
        path=request.path,
        retry_after=response.headers.get("Retry-After"),
    )


def _silent(request: Request) -> Unavailable:
    message = "the stream was silent for too long"
    return Unavailable(message, reason=SILENCE, method=request.method, path=request.path)


def _unavailable(problem: Exception, request: Request) -> Unavailable:
    reason, message = _explained(problem)
    return Unavailable(message, reason=reason, method=request.method, path=request.path)


def _explained(problem: Exception) -> tuple[str, str]:
    """A short reason and a sentence, without anything of the answer's body."""
    match problem:
        case TimeoutError():
            return "Timeout", "the API server did not answer in time"
        case aiohttp.ClientConnectorCertificateError():
            cause = problem.certificate_error
            told = (
                cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else cause
            )
            return "Certificate", (
                f"the certificate of {problem.host}:{problem.port} is not trusted: {told}; "
                "check certificate-authority in the kubeconfig"
            )
        case aiohttp.ClientHttpProxyError():
            return "Proxy", f"the proxy refused with status {problem.status}"
        case aiohttp.ClientProxyConnectionError():
            return "Proxy", f"cannot connect to the proxy: {problem.strerror}"
        case aiohttp.ClientConnectorError():
            where = f"{problem.host}:{problem.port}"
            return "Connection", f"cannot connect to {where}: {problem.strerror}"
        case aiohttp.ClientPayloadError():
            return "Connection", "the answer was cut short"
        case aiohttp.ServerDisconnectedError():
            return "Connection", "the API server closed the connection without an answer"
        case OSError():
            return (
                "Connection",
                f"the connection broke: {problem.strerror or type(problem).__name__}",
            )
        case _:
            return "Connection", f"the request failed: {type(problem).__name__}"
