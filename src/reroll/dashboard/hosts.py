"""The names under which the dashboard answers; a name that somebody's DNS turns to it is none."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_HERE = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
"""As a browser names the machine that it runs on: a dashboard behind `kubectl port-forward`."""


class HostError(ValueError):
    """An address that cannot be that of the dashboard."""


class Hosts(NamedTuple):
    origins: frozenset[str]
    """Scheme, name and port, as browsers write them."""
    scheme: str = "http"
    """Of the socket itself."""
    is_forwarded: bool = False
    """The browser's own machine may stand for it, on any port."""

    def address_for(self, host: str) -> str | None:
        """What a browser calls the origin of the pages that it gets under this name."""
        name = host.lower()
        for scheme in ("https", "http"):
            if f"{scheme}://{name}" in self.origins:
                return f"{scheme}://{name}"
        if self.is_forwarded and _HERE.fullmatch(name):
            return f"{self.scheme}://{name}"
        return None


def public(urls: Iterable[str]) -> frozenset[str]:
    """The origins of addresses that people use."""
    return frozenset(map(_origin, urls))


def _origin(url: str) -> str:
    parts = urlsplit(url.strip())
    try:
        port = parts.port
    except ValueError:
        port = -1
    is_bare = parts.path in {"", "/"} and not (parts.query or parts.fragment or parts.username)
    if parts.scheme not in _PORTS or not parts.hostname or port == -1 or not is_bare:
        raise HostError(
            f"{url!r} is not the address of a dashboard; write it as https://reroll.example.com, "
            "without a path"
        )
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_usual = port is None or port == _PORTS[parts.scheme]
    return f"{parts.scheme}://{name.lower()}" + ("" if is_usual else f":{port}")
