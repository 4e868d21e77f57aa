"""The cluster's certificate authority and what it signs.

Keys are elliptic (P-256): made in a millisecond. `cryptography` is imported inside the functions:
it costs 26 MB, and most callers of this package sign nothing.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reroll.devcluster.errors import DevClusterError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LIFETIME = timedelta(days=365)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Pair(…)"


def new_authority() -> Pair:
    """A certificate authority that nobody trusts but who is given its certificate."""
    from cryptography import x509

    key = _new_key()
    name = _name("reroll development cluster")
    usage = _usage(signs_certificates=True)
    builder = (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return _signed(builder, key, key)


def server_certificate(authority: Pair) -> Pair:
    """For the API server, under every name by which a client on this machine calls it."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
    return _issue(
        authority,
        _name("kube-apiserver"),
        ExtendedKeyUsageOID.SERVER_AUTH,
        x509.SubjectAlternativeName(names),
    )


def client_certificate(authority: Pair, user: str, groups: Sequence[str] = ()) -> Pair:
    """With which a client is `user`, a member of `groups`."""
    from cryptography.x509.oid import ExtendedKeyUsageOID

    return _issue(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)


def signing_key() -> tuple[bytes, bytes]:
    """The private and the public key of service-account tokens, as PEM."""
    from cryptography.hazmat.primitives import serialization

    key = _new_key()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _pem(key), public


def write_private(path: Path, content: bytes) -> None:
    """Write what only its owner may read."""
    path.touch(mode=0o600)
    path.write_bytes(content)


def _new_key() -> "EllipticCurvePrivateKey":
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise DevClusterError(
            "the development cluster makes its certificates with `cryptography`, which is not"
            " installed; run: pip install 'reroll[dev]'"
        ) from None
    return ec.generate_private_key(ec.SECP256R1())


def _pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _name(common: str, organizations: Sequence[str] = ()) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, signs_certificates: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: "x509.Name", issuer: "x509.Name", key: "EllipticCurvePrivateKey"
) -> "x509.CertificateBuilder":
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A clock that is stepped back a little must not make a new certificate one of the future.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _issue(
    authority: Pair,
    subject: "x509.Name",
    purpose: "x509.ObjectIdentifier",
    names: "x509.SubjectAlternativeName | None" = None,
) -> Pair:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is not an elliptic one")
    key = _new_key()
    # Python 3.13 and newer refuse a chain without key identifiers and usages.
    builder = (
        _builder(subject, issuer.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if names:
        builder = builder.add_extension(names, critical=False)
    return _signed(builder, key, issuer_key)


def _signed(
    builder: "x509.CertificateBuilder",
    key: "EllipticCurvePrivateKey",
    issuer_key: "EllipticCurvePrivateKey",
) -> Pair:
    from cryptography.hazmat.primitives import hashes, serialization

    certificate = builder.sign(issuer_key, hashes.SHA256())
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))
