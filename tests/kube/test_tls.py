import ssl

import pytest
from cryptography.hazmat.primitives import serialization
from tests.kube.fakes import StillClock

from reroll.kube.errors import ConfigError
from reroll.kube.tls import Contexts, Pem, Tls, context
from reroll_dev import pki


@pytest.fixture(scope="module")
def authority():
    return pki.new_authority()


@pytest.fixture(scope="module")
def pair(authority):
    return pki.client_certificate(authority, "ann")


def client(authority, pair):
    return Tls(
        Pem("certificate-authority", data=authority.certificate),
        Pem("client-certificate", data=pair.certificate),
        Pem("client-key", data=pair.key),
    )


def test_only_the_named_authority_is_trusted(authority):
    made = context(Tls(Pem("certificate-authority", data=authority.certificate)))

    assert len(made.get_ca_certs()) == 1
    assert made.verify_mode is ssl.CERT_REQUIRED
    assert made.check_hostname


def test_authorities_of_older_clusters_are_not_refused_for_their_form(authority):
    made = context(Tls(Pem("certificate-authority", data=authority.certificate)))

    assert not made.verify_flags & ssl.VERIFY_X509_STRICT


def test_insecure_checks_nothing():
    made = context(Tls(insecure=True))

    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_NONE, False)


def test_inline_keys_leave_no_file_behind(authority, pair, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    context(client(authority, pair))

    assert list(tmp_path.iterdir()) == []


def test_a_key_with_a_passphrase_is_a_sentence_not_a_question(pair):
    key = serialization.load_pem_private_key(pair.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )
    tls = Tls(
        certificate=Pem("client-certificate", data=pair.certificate),
        key=Pem("client-key", data=locked),
    )

    with pytest.raises(ConfigError, match="client-key is encrypted"):
        context(tls)


@pytest.mark.parametrize(
    ("tls", "sentence"),
    [
        (Tls(Pem("certificate-authority-data", data=b"junk")), "authority-data holds no PEM cert"),
        (Tls(Pem("certificate-authority-data", data=b"\xff")), "authority-data holds no PEM cert"),
        (
            Tls(certificate=Pem("client-certificate", data=b"x"), key=Pem("client-key", data=b"y")),
            "client-certificate and client-key are not a certificate and its key",
        ),
    ],
)
def test_what_is_no_certificate_is_a_sentence(tls, sentence):
    with pytest.raises(ConfigError, match=sentence):
        context(tls)


def test_an_empty_authority_is_not_taken_for_all_there_are(tmp_path):
    empty = tmp_path / "ca.crt"
    empty.touch()

    with pytest.raises(ConfigError, match="holds no PEM cert"):
        context(Tls(Pem("certificate-authority", empty)))


def test_a_missing_file_is_a_sentence(tmp_path):
    missing = tmp_path / "ca.crt"

    with pytest.raises(ConfigError, match=f"cannot be read from {missing}: No such file"):
        context(Tls(Pem("certificate-authority", missing)))


def test_a_key_of_another_certificate_is_a_sentence(authority, pair):
    other = pki.client_certificate(authority, "bob")
    mixed = Tls(
        certificate=Pem("client-certificate", data=pair.certificate),
        key=Pem("client-key", data=other.key),
    )

    with pytest.raises(ConfigError, match="KEY_VALUES_MISMATCH"):
        context(mixed)


def test_a_context_is_kept_while_nothing_changes(authority, pair):
    clock = StillClock()
    contexts = Contexts(client(authority, pair), clock)

    first = contexts.current()
    clock.move(3600)

    assert contexts.current() is first


def test_a_rotated_file_makes_a_new_context_within_a_minute(authority, pair, tmp_path):
    path, clock = tmp_path / "ca.crt", StillClock()
    path.write_bytes(authority.certificate)
    contexts = Contexts(Tls(Pem("certificate-authority", path)), clock)
    first = contexts.current()
    path.write_bytes(authority.certificate + pki.new_authority().certificate)

    assert contexts.current() is first
    clock.move(60)
    assert len(contexts.current().get_ca_certs()) == 2


def test_a_half_written_file_does_not_cost_the_last_good_context(authority, tmp_path):
    path, clock = tmp_path / "ca.crt", StillClock()
    path.write_bytes(authority.certificate)
    contexts = Contexts(Tls(Pem("certificate-authority", path)), clock)
    first = contexts.current()

    path.write_bytes(b"-----BEGIN")
    clock.move(60)
    assert contexts.current() is first

    path.write_bytes(authority.certificate * 2)
    clock.move(60)
    assert contexts.current() is not first


def test_a_new_certificate_from_a_plugin_makes_a_new_context(authority, pair):
    contexts = Contexts(Tls(Pem("certificate-authority", data=authority.certificate)), StillClock())
    first = contexts.current()

    second = contexts.current(pair.certificate, pair.key)

    assert second is not first
    assert contexts.current(pair.certificate, pair.key) is second


def test_a_key_never_shows_itself(authority, pair):
    assert "PRIVATE" not in repr(client(authority, pair))
