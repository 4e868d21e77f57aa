"""TLS towards the API server: from the certificates a kubeconfig names to an `ssl.SSLContext`.

Inline keys go through a file that only we can read and that is gone at once: the `ssl` module reads
keys from files only. Encrypted keys are refused, because `ssl` would ask the terminal for a
passphrase.
"""

import ssl
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from reroll.clock import Clock
from reroll.http.trust import trusting
from reroll.kube.errors import ConfigError

REREAD_SECONDS = 60.0


class Pem(msgspec.Struct, frozen=True):
    """A certificate or key, in a file or inline; `label` says whose it is, for errors."""

    label: str
    path: Path | None = None
    data: bytes = b""

    def __repr__(self) -> str:
        return f"Pem({self.label!r}, {self.path!r})"

    def read(self) -> bytes:
        if self.path is None:
            return self.data
        try:
            return self.path.read_bytes()
        except OSError as problem:
            raise ConfigError(
                f"{self.label} cannot be read from {self.path}: {problem.strerror}"
            ) from None

    def signature(self) -> tuple[int, int, int]:
        """Changes when the file does."""
        try:
            stat = self.path.stat() if self.path else None
        except OSError:
            return (0, 0, 0)
        return (stat.st_mtime_ns, stat.st_ino, stat.st_size) if stat else (0, 0, 0)


class Tls(msgspec.Struct, frozen=True):
    """What one connection trusts and shows."""

    authority: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None
    insecure: bool = False

    def signature(self) -> tuple[tuple[int, int, int], ...]:
        pems = (self.authority, self.certificate, self.key)
        return tuple(pem.signature() for pem in pems if pem)


def context(tls: Tls) -> ssl.SSLContext:
    """A new context; raises `ConfigError`."""
    made = _trusting(tls)
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if tls.certificate and tls.key:
        _show(made, tls.certificate, tls.key)
    return made


def _trusting(tls: Tls) -> ssl.SSLContext:
    if tls.insecure or tls.authority is None:
        return trusting()
    try:
        return trusting(tls.authority.read())
    except ValueError:
        raise ConfigError(f"{tls.authority.label} holds no PEM certificate") from None


def _show(made: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    import tempfile  # Most have a token, and no key to hand over.

    with tempfile.NamedTemporaryFile(prefix="reroll-") as pair:
        pair.write(certificate.read() + b"\n" + key.read() + b"\n")
        pair.flush()

        def passphrase() -> str:
            raise ConfigError(f"{key.label} is encrypted; use a key without a passphrase")

        try:
            made.load_cert_chain(pair.name, password=passphrase)
        except ssl.SSLError as problem:
            raise ConfigError(
                f"{certificate.label} and {key.label} are not a certificate and its key in PEM "
                f"form: {problem.reason or 'unreadable'}"
            ) from None


class Contexts:
    """The context of one connection: the same as long as neither files nor credentials change.

    A new context means new connections, so it is not made without need. Files are looked at once
    a minute; while they are half replaced, the last good context stays.
    """

    def __init__(self, tls: Tls, clock: Clock) -> None:
        self._tls = tls
        self._clock = clock
        self._pair = (b"", b"")
        self._signature = tls.signature()
        self._looked_at = clock.monotonic()
        self._last: ssl.SSLContext | None = None

    def without_certificate(self) -> "Contexts":
        """The same trust, for somebody who shows no certificate of ours."""
        return Contexts(replace(self._tls, certificate=None, key=None), self._clock)

    def current(self, certificate: bytes = b"", key: bytes = b"") -> ssl.SSLContext:
        """The context to use now; `certificate` and `key` stand in for those of the settings."""
        if self._last is None or self._pair != (certificate, key):
            self._last = context(self._with(certificate, key))
            self._pair = (certificate, key)
        elif self._files_changed():
            with suppress(ConfigError):
                self._last = context(self._with(certificate, key))
        return self._last

    def _with(self, certificate: bytes, key: bytes) -> Tls:
        if not certificate:
            return self._tls
        return replace(
            self._tls,
            certificate=Pem("the exec plugin's certificate", data=certificate),
            key=Pem("the exec plugin's key", data=key),
        )

    def _files_changed(self) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at < REREAD_SECONDS:
            return False
        self._looked_at = now
        before, self._signature = self._signature, self._tls.signature()
        return before != self._signature
