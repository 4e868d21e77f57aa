"""Subject and validity out of a certificate, and nothing out of anything else."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import example, given
from hypothesis import strategies as st

from reroll.x509 import certificates

BEGINS = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())


def der(*attributes: tuple[x509.ObjectIdentifier, str], ends: datetime, dns: str = "") -> bytes:
    name = x509.Name([x509.NameAttribute(*one) for one in attributes])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the issuer")]))
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(BEGINS)
        .not_valid_after(ends)
    )
    if dns:
        names = x509.SubjectAlternativeName([x509.DNSName(dns)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def secret(**values: bytes) -> dict[str, str]:
    return {key.replace("_", "."): base64.b64encode(v).decode() for key, v in values.items()}


@pytest.mark.parametrize(
    "ends", [BEGINS + timedelta(days=90), datetime(2060, 1, 1, tzinfo=UTC)], ids=["soon", "2060"]
)
def test_the_common_name_and_the_end_are_read(ends: datetime) -> None:
    names = ((NameOID.ORGANIZATION_NAME, "Shop"), (NameOID.COMMON_NAME, "shop.example"))
    [found] = certificates(secret(tls_crt=der(*names, ends=ends), tls_key=b"never looked at"))
    assert found == ("tls.crt", "CN=shop.example", BEGINS, ends)


def test_without_a_subject_the_first_name_tells() -> None:
    pem = der(ends=BEGINS + timedelta(days=90), dns="web.shop.svc")
    assert [one.subject for one in certificates(secret(tls_crt=pem))] == ["web.shop.svc"]


def test_of_a_chain_the_first_is_the_owners_and_each_key_is_read() -> None:
    first = der((NameOID.COMMON_NAME, "leaf"), ends=BEGINS + timedelta(days=1))
    second = der((NameOID.COMMON_NAME, "authority"), ends=BEGINS + timedelta(days=2))
    found = certificates(secret(tls_crt=first + second, ca_crt=second))
    assert [(one.key, one.subject) for one in found] == [
        ("tls.crt", "CN=leaf"),
        ("ca.crt", "CN=authority"),
    ]


def test_a_name_cannot_write_to_the_terminal() -> None:
    pem = der((NameOID.COMMON_NAME, "a\x1b[2Jb\n"), ends=BEGINS + timedelta(days=1))
    assert [one.subject for one in certificates(secret(tls_crt=pem))] == ["CN=a[2Jb"]


WHOLE = der((NameOID.COMMON_NAME, "x"), ends=BEGINS + timedelta(days=1), dns="y")
BODY = base64.b64decode(b"".join(WHOLE.splitlines()[1:-1]))


@given(st.binary() | st.integers(0, len(BODY)).map(lambda n: BODY[:n]))
@example(b"\0\0")
def test_what_is_no_certificate_is_none(content: bytes) -> None:
    pem = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----" % base64.b64encode(content)
    assert len(list(certificates(secret(tls_crt=pem)))) == (content == BODY)


@given(st.integers(0, len(BODY) - 1), st.integers(0, 255))
def test_a_spoilt_certificate_is_no_crash(place: int, value: int) -> None:
    spoilt = BODY[:place] + bytes((value,)) + BODY[place + 1 :]
    pem = b"-----BEGIN CERTIFICATE-----%s-----END CERTIFICATE-----" % base64.b64encode(spoilt)
    list(certificates(secret(tls_crt=pem, ca_crt=b"")))
    list(certificates({"tls.crt": "no base64!"}))
