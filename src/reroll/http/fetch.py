"""One request to any address, and nothing kept."""

import asyncio
import ssl
from urllib.parse import urlsplit

from reroll.http.dial import Address
from reroll.http.pool import Pool

LARGEST = 4 * 1024 * 1024


async def fetch(
    method: str, url: str, *, seconds: float, largest: int = LARGEST
) -> tuple[int, bytes]:
    """The status and body of the answer. No redirects, no proxy; the system says whom to trust.

    Raises `OSError`, `TimeoutError`, or `ValueError` for what is no URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url} is no http:// or https:// URL")
    trust = ssl.create_default_context() if parts.scheme == "https" else None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    pool = Pool(Address.of(url), always=[("Connection", "close")])
    async with asyncio.timeout(seconds):
        answer = await pool.ask(method, target, body=_body(method), trust=trust)
        try:
            return answer.status, await answer.body(largest)
        finally:
            answer.drop()


def _body(method: str) -> bytes | None:
    return None if method in {"GET", "HEAD", "DELETE"} else b""
