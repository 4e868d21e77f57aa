"""The webhook's certificates over the years: renewed in time, never unknown to the API server."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from reroll import pki
from reroll.features.admission.certificates import (
    AUTHORITY_LIFETIME,
    LIFETIME,
    Kept,
    Pem,
    read,
    signer,
    todo,
    write,
)

HOSTS = "reroll-webhook.reroll.svc"
START = datetime(2026, 11, 16, 4, tzinfo=UTC)
DAY = timedelta(days=1)


def pem(pair: pki.Pair) -> Pem:
    return Pem(pair.certificate.decode(), pair.key.decode())


def renewed(kept: Kept, now: datetime) -> Kept:
    """What the controller does, without its process and its Secret."""
    needed = todo(kept, HOSTS, now)
    authorities, own = needed.kept, kept.own
    if needed.authority:
        span = pki.Span.of(now, AUTHORITY_LIFETIME)
        authorities = (*authorities, pem(pki.new_authority("reroll webhook", span)))
    if needed.certificate:
        by = signer(authorities, now)
        authority = pki.Pair(by.certificate.encode(), by.key.encode())
        span = pki.Span.of(now, LIFETIME)
        own = pem(pki.issue(authority, HOSTS, pki.Purpose.SERVER, span, hosts=[HOSTS]))
    return Kept(authorities, own, HOSTS)


def test_over_ten_years_it_is_always_signed_by_an_authority_known_for_months() -> None:
    kept, known = Kept(), dict[str, datetime]()
    signers = set()
    for day in range(0, 3653, 11):
        now = START + day * DAY
        fresh = renewed(kept, now)
        if fresh.own != kept.own and kept.authorities:
            by = signer(fresh.authorities, now)
            signers.add(by.certificate)
            assert now - known[by.certificate] > 90 * DAY or len(known) == 1
        kept = fresh
        for one in kept.authorities:
            known.setdefault(one.certificate, now)
        assert kept.own
        assert kept.own.ends
        assert kept.own.ends - now > 20 * DAY
        assert all(one.ends and one.ends > now for one in kept.authorities)
        assert 1 <= len(kept.authorities) <= 2
        assert _verified(kept)
    assert len(known) == 5
    assert len(signers) >= 4


def _verified(kept: Kept) -> bool:
    from cryptography import x509

    assert kept.own
    own = x509.load_pem_x509_certificate(kept.own.certificate.encode())
    for one in kept.authorities:
        try:
            own.verify_directly_issued_by(x509.load_pem_x509_certificate(one.certificate.encode()))
        except Exception:  # noqa: BLE001  the library has several for it
            continue
        return True
    return False


def test_nothing_is_to_do_on_the_day_after() -> None:
    kept = renewed(Kept(), START)
    assert todo(kept, HOSTS, START + DAY).is_nothing


def test_what_is_written_to_the_secret_is_read_the_same() -> None:
    kept = renewed(renewed(Kept(), START), START + timedelta(days=800))
    assert len(kept.authorities) == 2
    assert read(write(kept), HOSTS) == kept
    assert "PRIVATE" not in repr(kept)


def test_another_name_or_a_spoilt_secret_asks_for_a_new_certificate() -> None:
    kept = renewed(Kept(), START)
    assert todo(kept, "other.svc", START) == (kept.authorities, False, True)
    for data in ({}, {"tls.crt": "no base64!"}, {**write(kept), "tls.crt": "bm90aGluZw=="}):
        assert todo(read(data, HOSTS), HOSTS, START).certificate
    without_authority = {**write(kept), "ca.crt": ""}
    assert todo(read(without_authority, HOSTS), HOSTS, START) == ((), True, True)


def test_a_server_shows_a_new_certificate_without_a_restart() -> None:
    from reroll.features.admission.webhook import Server

    server = Server("127.0.0.1:0")
    kept = renewed(Kept(), START)
    assert kept.own
    assert server.show(kept.own)
    assert not server.show(kept.own)
    other = renewed(Kept(), START)
    assert other.own
    with pytest.raises(ssl.SSLError):
        server.show(Pem(other.own.certificate, kept.own.key))
