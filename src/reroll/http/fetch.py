"""One request to any address, and nothing kept.

`send` is for addresses that people wrote into a configuration, `fetch` for those that a command or
the cluster gave, whose callers judge them themselves. Neither follows a redirect.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from reroll import __version__
from reroll.http import proxy
from reroll.http.dial import Address
from reroll.http.errors import BadRoute, Closed, Garbled, HttpError, NoAnswer
from reroll.http.pool import Headers, Pool
from reroll.http.trust import trusting

LARGEST = 4 * 1024 * 1024
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:[0-9]*)?")
"""Host and port. What else is before the first slash may be a secret, and errors name it."""
_BODILESS = frozenset(("GET", "HEAD", "DELETE"))
_ALWAYS = (
    ("User-Agent", f"reroll/{__version__}"),
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent; nothing of it but the host gets into an error or a log."""

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """How it gets there. `env` names the proxies; without `ca_file` the system says whom to trust.

    The file is read for each request, so one that was replaced counts at once.
    """

    env: Mapping[str, str] = field(repr=False)
    ca_file: Path | None = None
    seconds: float = 10.0
    largest: int = LARGEST


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    is_whole: bool = True
    """False if there was more than `Route.largest`, which is not read."""


async def send(request: Outgoing, route: Route) -> Answer:
    """The answer, whatever its status. Raises `HttpError`, a sentence that names the host alone.

    Where a cloud gives credentials away is refused, also if a name leads there.
    """
    parts = _parts(request.url)
    if parts is None or parts.username is not None:
        raise BadRoute("not an http:// or https:// URL without a user in it")
    host = parts.netloc
    try:
        via = proxy.from_environment(f"{parts.scheme}://{host}", route.env)
        trust = _trust(route.ca_file) if parts.scheme == "https" else None
    except ValueError as problem:
        raise BadRoute(f"{host} cannot be asked: {problem}") from None
    pool = Pool(Address.of(request.url, proxy=via, is_checked=True), always=_ALWAYS)
    try:
        async with asyncio.timeout(route.seconds):
            return await _exchange(pool, request, trust, route.largest)
    except TimeoutError:
        raise NoAnswer(f"no answer from {host} within {route.seconds:g} s") from None
    except (Closed, Garbled) as problem:  # The others name whom they speak of.
        raise NoAnswer(f"{host}: {problem}") from problem
    except HttpError:
        raise
    except ValueError:
        raise BadRoute(f"{host} cannot be asked: no header or address may hold that") from None
    except OSError as problem:
        raise NoAnswer(f"{host}: {problem.strerror or type(problem).__name__}") from problem


async def fetch(
    method: str, url: str, *, seconds: float, largest: int = LARGEST
) -> tuple[int, bytes]:
    """The status and body of the answer. No proxy; the system says whom to trust.

    Raises `OSError`, `TimeoutError`, or `ValueError` for what is no URL.
    """
    parts = _parts(url)
    if parts is None:
        raise ValueError(f"{url} is not an http:// or https:// URL")
    trust = trusting() if parts.scheme == "https" else None
    pool = Pool(Address.of(url), always=_ALWAYS)
    async with asyncio.timeout(seconds):
        answer = await _exchange(pool, Outgoing(method, url), trust, largest)
    return answer.status, answer.body


async def _exchange(
    pool: Pool, request: Outgoing, trust: ssl.SSLContext | None, largest: int
) -> Answer:
    headers: Headers = request.headers
    answer = await pool.ask(
        request.method, _target(request.url), headers, _body(request), trust=trust
    )
    try:
        body = await answer.body(largest + 1)
        whole = len(body) <= largest
        return Answer(answer.status, dict(answer.headers), body[:largest], is_whole=whole)
    finally:
        answer.drop()


def _parts(url: str) -> SplitResult | None:
    """None for what cannot be asked."""
    try:
        parts = urlsplit(url)
        asked = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        place = parts.netloc.rpartition("@")[2]
    except ValueError:
        return None
    return parts if asked and _PLACE.fullmatch(place) else None


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _body(request: Outgoing) -> bytes | None:
    if request.body is None and request.method not in _BODILESS:
        return b""
    return request.body


def _trust(ca_file: Path | None) -> ssl.SSLContext:
    if ca_file is None:
        return trusting()
    try:
        return trusting(ca_file.read_bytes())
    except OSError as problem:
        raise ValueError(f"{ca_file} cannot be read: {problem.strerror}") from None
    except ValueError:
        raise ValueError(f"{ca_file} holds no PEM certificate") from None
