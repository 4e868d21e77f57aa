"""Certificate authorities and what they sign, of this program's own making.

Keys are elliptic (P-256): made in a millisecond. `cryptography` costs 26 MB to import, so it is
imported inside the functions, and the controller runs this module as a short-lived process:
`python -m reroll.pki` takes an order on standard input and writes the pair, both as JSON.
"""

import ipaddress
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LACKING = 3
"""Exit code of the process where `cryptography` is not installed."""


class Purpose(Enum):
    SERVER = "serverAuth"
    CLIENT = "clientAuth"


class Span(NamedTuple):
    """From when to when a certificate holds."""

    begins: datetime
    ends: datetime

    @classmethod
    def of(cls, now: datetime, lifetime: timedelta) -> "Span":
        # A clock that is stepped back a little must not make a new certificate one of the future.
        return cls(now - timedelta(hours=1), now + lifetime)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Pair(…)"


def new_authority(name: str, span: Span) -> Pair:
    """A certificate authority that nobody trusts but who is given its certificate."""
    from cryptography import x509

    key = new_key()
    own = _name(name)
    builder = (
        _builder(own, own, key, span)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, key, key)


def issue(
    authority: Pair,
    name: str,
    purpose: Purpose,
    span: Span,
    *,
    groups: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Pair:
    """A certificate for a server that is called by these names and addresses, or for a client."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is not an elliptic one")
    key = new_key()
    # Python 3.13 and newer refuse a chain without key identifiers and usages.
    builder = (
        _builder(_name(name, groups), issuer.subject, key, span)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(_extended(purpose), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return _signed(builder, key, issuer_key)


def new_key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _host(text: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _name(common: str, organizations: Sequence[str] = ()) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _extended(purpose: Purpose) -> "x509.ExtendedKeyUsage":
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    server = purpose is Purpose.SERVER
    return x509.ExtendedKeyUsage(
        [ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH]
    )


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
    subject: "x509.Name", issuer: "x509.Name", key: "EllipticCurvePrivateKey", span: Span
) -> "x509.CertificateBuilder":
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(span.begins)
        .not_valid_after(span.ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _signed(
    builder: "x509.CertificateBuilder",
    key: "EllipticCurvePrivateKey",
    issuer_key: "EllipticCurvePrivateKey",
) -> Pair:
    from cryptography.hazmat.primitives import hashes, serialization

    certificate = builder.sign(issuer_key, hashes.SHA256())
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), pem(key))


def main() -> int:
    """An authority, or with one a server's certificate, as the order on standard input says."""
    order = json.load(sys.stdin)
    span = Span(datetime.fromisoformat(order["begins"]), datetime.fromisoformat(order["ends"]))
    try:
        if order["authority"] is None:
            made = new_authority(order["name"], span)
        else:
            authority = Pair(*(text.encode() for text in order["authority"]))
            made = issue(authority, order["name"], Purpose.SERVER, span, hosts=order["hosts"])
    except ImportError:
        return LACKING
    json.dump([made.certificate.decode(), made.key.decode()], sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
