"""What is shown to the API server, and where it comes from: a fixed value or a file that rotates.

The third source, exec plugins, is `kube.plugin`. Neither `repr` nor any error shows a credential.
"""

from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from reroll.clock import Clock
from reroll.kube.errors import AuthError

REREAD_SECONDS = 60.0


class Credential(msgspec.Struct, frozen=True):
    """A bearer token, or a certificate with its key (PEM), or both, or nothing."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None

    def __repr__(self) -> str:
        return f"Credential(expires={self.expires!r})"


class Source(Protocol):
    """Where credentials come from."""

    async def credential(self, rejected: Credential | None = None) -> Credential:
        """The one to use now; the object `rejected` again only if no other can be had."""


class Fixed:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def credential(self, rejected: Credential | None = None) -> Credential:  # noqa: ARG002  it has no other
        return self._credential


class TokenFile:
    """A token in a file that is rewritten before it expires, as the kubelet does.

    Read at most once a minute, and at once when the server refused the last token.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._last: Credential | None = None
        self._read_at = 0.0

    async def credential(self, rejected: Credential | None = None) -> Credential:
        now = self._clock.monotonic()
        last = self._last
        if last is None or last is rejected or now - self._read_at >= REREAD_SECONDS:
            token = self._read()
            self._read_at = now
            if last is None or token != last.token:
                self._last = last = Credential(token)
        return last

    def _read(self) -> str:
        problem = "it is empty"
        try:
            if token := self._path.read_text(encoding="utf-8").strip():
                return token
        except OSError as error:
            problem = error.strerror or "it cannot be read"
        except UnicodeDecodeError:
            problem = "it is not text"
        if self._last is not None:  # being replaced this moment; the old token is good for a while
            return self._last.token
        raise AuthError(f"token file {self._path} cannot be used: {problem}")
