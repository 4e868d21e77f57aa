"""ConfigMaps of other namespaces: their digests are keyed, so nobody can guess what they hold."""

import pytest
from tests.core.build import NOW, configmap, content, reference, snapshot

from reroll.core.decide.chains import decide
from reroll.core.model.content import Content, Whole
from reroll.core.model.digest import content_digest, reference_digest, sealed
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Keys
from reroll.core.tables.reasons import Reason

SHARED = reference(configmap("shared", "vault"))
ENTRY = "configmap/vault/shared"
RING = {"k1": b"one", "k2": b"two"}
KEYS = Keys("k1", frozenset(RING))


def shared(value: str = "a") -> Content:
    return sealed(content({"key": value}), RING)


def plain(value: str = "a") -> str:
    return reference_digest(SHARED, content({"key": value}), "") or ""


def record(digest: str, key_id: str = "k1") -> Record:
    return Record(n=5, at=NOW, why="Adopted", s={ENTRY: digest}, k=key_id)


def test_no_digest_of_it_is_plain() -> None:
    found = decide(snapshot({SHARED: shared()}, keys=KEYS), NOW)

    assert found.reason is Reason.ADOPTED
    assert found.record is not None
    assert found.record.s[ENTRY] not in {"", plain()}
    assert found.record.s[ENTRY] == reference_digest(SHARED, shared(), "k1")


@pytest.mark.parametrize("key_id", ["k1", "k2"])
def test_a_record_with_a_keyed_digest_tells_whether_it_changed(key_id: str) -> None:
    before = record(reference_digest(SHARED, shared(), key_id) or "", key_id)
    same = decide(snapshot({SHARED: shared()}, before, keys=KEYS), NOW)
    other = compare(snapshot({SHARED: shared("b")}, before, keys=KEYS))

    assert same.reason is (Reason.UP_TO_DATE if key_id == "k1" else Reason.KEY_ROTATED)
    assert other.changes


@pytest.mark.parametrize("key_id", ["k1", "k2", "lost"])
def test_a_record_of_an_older_release_is_written_with_the_key_and_rolls_nothing(
    key_id: str,
) -> None:
    found = decide(snapshot({SHARED: shared()}, record(plain(), key_id), keys=KEYS), NOW)

    assert not found.changes
    assert found.strategy is None
    assert compare(snapshot({SHARED: shared("b")}, record(plain()), keys=KEYS)).changes


def test_very_many_keys_are_sealed_as_a_whole() -> None:
    whole = Whole("d" * 32, "c" * 32)
    many = Content({"": {}}, wholes={"": whole})
    found = {reference_digest(SHARED, sealed(many, RING), key_id) for key_id in RING}

    assert len(found) == 2
    assert whole.data not in found
    assert reference_digest(SHARED, sealed(many, RING), "lost") is None


def test_one_change_has_one_name_for_all_who_use_the_source() -> None:
    source = SHARED.source
    assert content_digest(source, shared(), "k1") == content_digest(
        source, content({"key": "a"}), "k1"
    )


def test_what_has_a_key_already_stays_as_it_is() -> None:
    secret = content({"key": "a"}, hmac={"k1": b"one"})
    assert sealed(secret, RING) is secret
