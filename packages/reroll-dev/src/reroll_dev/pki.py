"""The cluster's certificate authority and what it signs, see `reroll.pki`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reroll.pki import Pair, Purpose, Span, issue, new_key, pem
from reroll.pki import new_authority as authority_called

LIFETIME = timedelta(days=365)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "::1")


def new_authority() -> Pair:
    """A certificate authority trusted only where its certificate is given."""
    return authority_called("reroll development cluster", _span())


def server_certificate(authority: Pair, addresses: Sequence[str] = ()) -> Pair:
    """For the API server, under every name by which a client on this machine calls it."""
    hosts = (*SERVER_NAMES, *SERVER_ADDRESSES, *addresses)
    return issue(authority, "kube-apiserver", Purpose.SERVER, _span(), hosts=hosts)


def kubelet_certificate(authority: Pair, user: str, address: str) -> Pair:
    """With which a kubelet answers at its node's address."""
    return issue(authority, user, Purpose.SERVER, _span(), hosts=(address,))


def client_certificate(authority: Pair, user: str, groups: Sequence[str] = ()) -> Pair:
    """With which a client is `user`, a member of `groups`."""
    return issue(authority, user, Purpose.CLIENT, _span(), groups=groups)


def signing_key() -> tuple[bytes, bytes]:
    """The private and the public key of service-account tokens, as PEM."""
    from cryptography.hazmat.primitives import serialization

    key = new_key()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return pem(key), public


def write_private(path: Path, content: bytes) -> None:
    """Write what only its owner may read."""
    path.touch(mode=0o600)
    path.write_bytes(content)


def _span() -> Span:
    return Span.of(datetime.now(UTC), LIFETIME)
