"""From an address to a connection: directly, or through a proxy, with or without TLS."""

import asyncio
import base64
import os
import re
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from reroll.http.addresses import is_forbidden
from reroll.http.connection import LONGEST_HEAD, Connection
from reroll.http.errors import (
    Forbidden,
    Garbled,
    HttpError,
    NoProxy,
    NoServer,
    ProxyRefused,
    Untrusted,
)

TIMEOUT = 10.0
"""Seconds within which a connection is made, or cannot be made."""
_PORTS = {"http": 80, "https": 443}
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")


class Address(NamedTuple):
    """Where a server is, and by which name it shows itself in TLS."""

    host: str
    port: int
    tls_name: str = ""
    proxy: str | None = None
    is_checked: bool = False
    """Whether it must not lead to one of the forbidden addresses, by whatever name."""

    @classmethod
    def of(
        cls, url: str, *, tls_name: str = "", proxy: str | None = None, is_checked: bool = False
    ) -> Self:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        return cls(parts.hostname or "", port, tls_name, proxy, is_checked)

    @property
    def name(self) -> str:
        """What its certificate has to say."""
        return self.tls_name or self.host

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def dial(to: Address, trust: ssl.SSLContext | None) -> Connection:
    """A new connection, with TLS if there is somebody to `trust`."""
    try:
        async with asyncio.timeout(TIMEOUT) as limit:
            return await _dialled(to, trust)
    except TimeoutError as problem:
        if not limit.expired():
            raise
        raise NoServer(f"cannot connect to {to.authority}: no answer in {TIMEOUT:g} s") from problem


async def _dialled(to: Address, trust: ssl.SSLContext | None) -> Connection:
    made = Connection()
    if to.is_checked and is_forbidden(to.host):
        raise Forbidden(to.authority)
    if to.proxy is None:
        await (_open_checked if to.is_checked else _open)(to, made, trust)
    elif trust is None:
        await _to_proxy(to.proxy, made)
    else:
        await _tunnel(to, to.proxy, made, trust)
    return made


async def _open(
    to: Address, protocol: asyncio.Protocol, trust: ssl.SSLContext | None, at: str = ""
) -> Any:
    """The transport; a server with several addresses is tried at all of them, or `at` one."""
    host = at or to.host
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: protocol,
            host,
            to.port,
            ssl=trust,
            server_hostname=_shown(to.name) if trust else None,
            # Of several addresses the first that answers; a single one is not raced with itself,
            # because a race that is cancelled in its last moment leaves its socket open.
            happy_eyeballs_delay=None if _is_address(host) else 0.25,
        )
    except ssl.SSLCertVerificationError as problem:
        raise Untrusted(to.authority, problem.verify_message) from problem
    except TimeoutError:
        raise
    except OSError as problem:
        raise NoServer(f"cannot connect to {to.authority}: {_why(problem)}") from problem
    return transport


async def _open_checked(
    to: Address, protocol: asyncio.Protocol, trust: ssl.SSLContext | None
) -> Any:
    """Connect to what was looked up and found good; a name may lead elsewhere a moment later."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            to.host, to.port, type=socket.SOCK_STREAM
        )
    except OSError as problem:
        raise NoServer(f"cannot connect to {to.authority}: {_why(problem)}") from problem
    hosts = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not hosts or any(map(is_forbidden, hosts)):
        raise Forbidden(to.authority)
    for host in hosts[:-1]:
        with suppress(NoServer):
            return await _open(to, protocol, trust, host)
    return await _open(to, protocol, trust, hosts[-1])


def _shown(name: str) -> Any:
    """A name for TLS, as bytes if it can be: text goes through IDNA, whose tables are 0.4 MB."""
    return name.encode() if name.isascii() else name


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _why(problem: OSError) -> str:
    """What the system calls it: asyncio says the address once more instead."""
    if isinstance(problem, ssl.SSLError):
        # Its `errno` is OpenSSL's, and means something else.
        return "TLS failed: " + (problem.reason or str(problem)).replace("_", " ").lower()
    if problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return problem.strerror or str(problem) or type(problem).__name__


async def _to_proxy(proxy: str, protocol: asyncio.Protocol) -> Any:
    # The system vouches for a proxy: nobody else is named for it.
    trust = ssl.create_default_context() if proxy.startswith("https:") else None
    try:
        return await _open(Address.of(proxy), protocol, trust)
    except HttpError as problem:
        raise NoProxy(f"cannot connect to the proxy: {problem}") from problem


async def _tunnel(to: Address, proxy: str, made: Connection, trust: ssl.SSLContext) -> None:
    """Let a proxy connect us, then speak TLS with the server behind it."""
    greeting = _Greeting()
    transport = await _to_proxy(proxy, greeting)
    try:
        lines = [f"CONNECT {to.authority} HTTP/1.1", f"Host: {to.authority}"]
        if credentials := proxy_credentials(proxy):
            lines.append(f"Proxy-Authorization: {credentials}")
        transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await greeting.welcome
        made.transport = await asyncio.get_running_loop().start_tls(
            transport, made, trust, server_hostname=_shown(to.name)
        )
    except ssl.SSLCertVerificationError as problem:
        transport.abort()
        raise Untrusted(to.authority, problem.verify_message) from problem
    except BaseException:
        transport.abort()
        raise


def proxy_credentials(proxy: str) -> str:
    """The value of Proxy-Authorization for the user named in a proxy's URL, if one is."""
    parts = urlsplit(proxy)
    if not parts.username:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


class _Greeting(asyncio.Protocol):
    """The head of a proxy's answer; what follows it is the server's."""

    def __init__(self) -> None:
        self.welcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if self.welcome.done():
            return
        if b"\r\n\r\n" in self._seen:
            match = _STATUS.match(self._seen)
            if match is None:
                self.welcome.set_exception(Garbled("the proxy does not speak HTTP"))
            elif match[1].startswith(b"2"):
                self.welcome.set_result(None)
            else:
                self.welcome.set_exception(ProxyRefused(int(match[1])))
        elif len(self._seen) > LONGEST_HEAD:
            self.welcome.set_exception(Garbled("the head of the proxy's answer is too long"))

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.welcome.done():
            closed = NoProxy("the proxy closed the connection without an answer")
            closed.__cause__ = problem
            self.welcome.set_exception(closed)
