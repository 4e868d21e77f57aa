"""`--auth proxy`: a proxy that signs people in says who they are, and the dashboard acts as them.

Headers are believed from the addresses that were named, and from nobody else; who comes from
another address gets nothing at all, whatever the headers say. Names that mean something to
Kubernetes itself are never taken from a header.
"""

import hmac
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from reroll.dashboard.doors.door import Call, OpenDoor
from reroll.dashboard.people import Who
from reroll.dashboard.sessions import Sessions

LONGEST_NAME = 256
MOST_GROUPS = 200
RESERVED = "system:"
Network = IPv4Network | IPv6Network


class Trust(NamedTuple):
    """Which proxies are believed, and where they say what."""

    proxies: tuple[Network, ...]
    user: str = "X-Forwarded-User"
    groups: str = "X-Forwarded-Groups"
    only: frozenset[str] = frozenset()
    """Groups that are passed on; without any, all are."""
    secret: Path | None = None
    """A file with a word that the proxy sends along."""
    secret_header: str = "X-Reroll-Proxy-Secret"  # noqa: S105  the name of a header


class TrustError(ValueError):
    """Headers of which no name can be made."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Addresses, or networks of them."""
    found = []
    for text in texts:
        try:
            found.append(ip_network(text.strip(), strict=False))
        except ValueError:
            raise TrustError(
                f"{text!r} is neither an address nor a network; write e.g. 10.0.0.7 or 10.0.0.0/24"
            ) from None
    return tuple(found)


class ProxyDoor(OpenDoor):
    def __init__(self, sessions: Sessions, trust: Trust) -> None:
        self._sessions, self._trust = sessions, trust

    async def session(self, call: Call) -> str | Response:
        if not self._is_proxy(call):
            return PlainTextResponse("This dashboard is reached through its proxy only.", 403)
        try:
            who = named(call.headers, self._trust)
        except TrustError as error:
            return PlainTextResponse(f"{error}.", 403)
        session = self._sessions.lent(who)
        return session if self._sessions.knows(session) else self._sessions.lend(who)

    def _is_proxy(self, call: Call) -> bool:
        client = call.scope.get("client")
        try:
            address = ip_address(client[0].partition("%")[0]) if client else None
        except ValueError:
            address = None
        mapped = getattr(address, "ipv4_mapped", None)
        is_there = address is not None and any(
            (mapped or address) in one for one in self._trust.proxies
        )
        return is_there and self._has_secret(call.headers)

    def _has_secret(self, headers: Headers) -> bool:
        if self._trust.secret is None:
            return True
        try:
            expected = self._trust.secret.read_bytes().strip()
        except OSError:
            return False
        shown = headers.getlist(self._trust.secret_header)
        is_same = len(shown) == 1 and hmac.compare_digest(shown[0].encode("latin-1"), expected)
        return is_same and bool(expected)


def named(headers: Headers, trust: Trust) -> Who:
    """Who that is; raises `TrustError` with a sentence."""
    users = headers.getlist(trust.user)
    if len(users) != 1 or not users[0].strip():
        raise TrustError(f"The proxy did not say who you are: it sends no header {trust.user}")
    user = _checked(users[0].strip(), "user")
    parts = [part.strip() for text in headers.getlist(trust.groups) for part in text.split(",")]
    groups = tuple(dict.fromkeys(_checked(one, "group") for one in parts if one))
    if len(groups) > MOST_GROUPS:
        raise TrustError(f"The proxy names {len(groups)} groups of yours; {MOST_GROUPS} is most")
    kept = tuple(one for one in groups if not trust.only or one in trust.only)
    return Who(user, kept, is_named=True)


def _checked(name: str, what: str) -> str:
    if len(name) > LONGEST_NAME or not name.isascii() or not name.isprintable():
        raise TrustError(f"The proxy names a {what} that is too long, or not in plain letters")
    if name.lower().startswith(RESERVED):
        raise TrustError(
            f"The proxy names the {what} {name}, and names that begin with {RESERVED} belong to "
            "Kubernetes: nobody gets them from a header"
        )
    return name
