"""The webhook's certificates over the years: renewed in time, never unknown to the API server."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from reroll import pki
from reroll.features.admission.certificates import (
    AUTHORITY_LIFETIME,
    LIFETIME,
    Certificates,
    Pem,
    due,
    read,
    signer,
    write,
)

HOSTS = "reroll-webhook.reroll.svc"
START = datetime(2026, 11, 16, 4, tzinfo=UTC)
DAY = timedelta(days=1)


def pem(pair: pki.Pair) -> Pem:
    return Pem(pair.certificate.decode(), pair.key.decode())


def renewed(held: Certificates, now: datetime) -> Certificates:
    """What the controller does, without its process and its Secret."""
    needed = due(held, HOSTS, now)
    authorities, own = needed.authorities, held.own
    if needed.authority:
        span = pki.Span.of(now, AUTHORITY_LIFETIME)
        authorities = (*authorities, pem(pki.new_authority("reroll webhook", span)))
    if needed.certificate:
        by = signer(authorities, now)
        authority = pki.Pair(by.certificate.encode(), by.key.encode())
        span = pki.Span.of(now, LIFETIME)
        own = pem(pki.issue(authority, HOSTS, pki.Purpose.SERVER, span, hosts=[HOSTS]))
    return Certificates(authorities, own, HOSTS)


def test_over_ten_years_it_is_always_signed_by_an_authority_known_for_months() -> None:
    held, known = Certificates(), dict[str, datetime]()
    signers = set()
    for day in range(0, 3653, 11):
        now = START + day * DAY
        fresh = renewed(held, now)
        if fresh.own != held.own and held.authorities:
            by = signer(fresh.authorities, now)
            signers.add(by.certificate)
            assert now - known[by.certificate] > 90 * DAY or len(known) == 1
        held = fresh
        for one in held.authorities:
            known.setdefault(one.certificate, now)
        assert held.own
        assert held.own.ends
        assert held.own.ends - now > 20 * DAY
        assert all(one.ends and one.ends > now for one in held.authorities)
        assert 1 <= len(held.authorities) <= 2
        assert _verified(held)
    assert len(known) == 5
    assert len(signers) >= 4


def _verified(held: Certificates) -> bool:
    from cryptography import x509

    assert held.own
    own = x509.load_pem_x509_certificate(held.own.certificate.encode())
    for one in held.authorities:
        try:
            own.verify_directly_issued_by(x509.load_pem_x509_certificate(one.certificate.encode()))
        except Exception:  # noqa: BLE001  the library has several for it
            continue
        return True
    return False


def test_nothing_is_to_do_on_the_day_after() -> None:
    held = renewed(Certificates(), START)
    assert due(held, HOSTS, START + DAY).is_nothing


def test_what_is_written_to_the_secret_is_read_the_same() -> None:
    held = renewed(renewed(Certificates(), START), START + timedelta(days=800))
    assert len(held.authorities) == 2
    assert read(write(held), HOSTS) == held
    assert "PRIVATE" not in repr(held)


def test_another_name_or_a_spoilt_secret_asks_for_a_new_certificate() -> None:
    held = renewed(Certificates(), START)
    assert due(held, "other.svc", START) == (held.authorities, False, True)
    for data in ({}, {"tls.crt": "no base64!"}, {**write(held), "tls.crt": "bm90aGluZw=="}):
        assert due(read(data, HOSTS), HOSTS, START).certificate
    without_authority = {**write(held), "ca.crt": ""}
    assert due(read(without_authority, HOSTS), HOSTS, START) == ((), True, True)


def test_a_server_shows_a_new_certificate_without_a_restart() -> None:
    from reroll.features.admission.webhook import Server

    server = Server("127.0.0.1:0")
    held = renewed(Certificates(), START)
    assert held.own
    assert server.show(held.own)
    assert not server.show(held.own)
    other = renewed(Certificates(), START)
    assert other.own
    with pytest.raises(ssl.SSLError):
        server.show(Pem(other.own.certificate, held.own.key))
