"""Secrets whose key is rotated or lost, globs, and sources that pods themselves report."""

import msgspec
import pytest
from tests.core.build import NOW, configmap, content, reference, secret, snapshot

from reroll.core.decide.case import REWRITE
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.content import Content
from reroll.core.model.digest import ABSENT, reference_digest
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, Keys
from reroll.core.tables.reasons import Reason

DB, APP = reference(secret("db")), reference(configmap("app"))
K1, K2 = {"k1": b"1"}, {"k2": b"2"}
ON_K2 = Keys("k2", frozenset(("k1", "k2")))


def held(value: str, **hmac: bytes) -> Content:
    return content({"password": value}, Moment(200, 201), hmac=dict(hmac))


def record(ref: Reference, then: Content, key_id: str) -> Record:
    digest = reference_digest(ref, then, key_id) or ""
    return Record(5, NOW, "Adopted", {ref.entry("shop"): digest}, k=key_id)


def after_rotation(now: Content, then: str = "old") -> Plan:
    """The record was made with k1, and k2 is the key to write with."""
    old = record(DB, held(then, **K1), "k1")
    return decide(snapshot({DB: now}, old, keys=ON_K2), NOW)


def test_a_rotated_key_is_carried_along_without_a_roll() -> None:
    both = held("old", **K1, **K2)

    found = after_rotation(both)

    assert found.reason is Reason.KEY_ROTATED
    assert found.record is not None
    assert found.record.k == "k2"
    assert found.record.s == {"secret/db": reference_digest(DB, both, "k2")}


def test_a_secret_that_changed_while_its_key_was_rotated_rolls() -> None:
    assert after_rotation(held("new", **K1, **K2)).reason is Reason.CONFIG_CHANGED


def test_a_secret_not_yet_read_with_the_new_key_is_waited_for() -> None:
    """It must not be recorded as absent: it would roll as soon as it is read."""
    assert after_rotation(held("old", **K1)).reason is Reason.WAITING


def test_a_lost_key_hides_no_change_of_another_source() -> None:
    old = msgspec.structs.replace(
        record(DB, held("old", **K1), "k1"),
        s={"secret/db": "old", "configmap/app": "old"},
        rv=201,
    )
    now = {DB: held("new", **K2), APP: content({"a": "new"}, Moment(200, 201))}

    found = decide(snapshot(now, old, keys=ON_K2), NOW)

    assert [change.entry for change in found.changes] == ["configmap/app"]
    assert found.strategy


@pytest.mark.parametrize("keys", [Keys("k1"), ON_K2], ids=["same key", "another key"])
def test_the_key_does_not_matter_to_what_is_not_keyed(keys: Keys) -> None:
    now = content({"a": "1"})

    found = decide(snapshot({APP: now}, record(APP, now, "k1"), keys=keys), NOW)

    assert found.reason is Reason.UP_TO_DATE


def test_a_key_that_only_a_config_map_was_recorded_with_is_not_missed() -> None:
    """The record names a key that is gone, but no Secret was ever recorded with it."""
    now = content({"a": "1"})
    old = record(APP, now, "k1")
    seen = snapshot({APP: now, DB: held("x", **K2)}, old, keys=Keys("k2"))

    assert decide(seen, NOW + REWRITE).reason is Reason.RECORDED


# Globs

PATTERN = "configmap/ca-*"


def found_by_glob(name: str) -> Reference:
    return Reference(configmap(name), added=True, pattern=PATTERN)


def globbed(*names: str, known: tuple[str, ...], pattern: bool = True) -> Plan:
    now = content({"a": "1"}, Moment(200, 201))
    entries = {
        f"configmap/{name}": reference_digest(found_by_glob(name), now, "") or "" for name in known
    }
    old = Record(5, NOW, "Adopted", entries | ({PATTERN: "*"} if pattern else {}))
    sources: dict[Reference, Content | Absence] = {found_by_glob(name): now for name in names}
    return decide(
        snapshot(sources, old, patterns=(PATTERN,), changes={"template": Moment(by=80)}), NOW
    )


def test_a_glob_that_means_the_same_as_before_rolls_nothing() -> None:
    assert globbed("ca-1", "ca-2", known=("ca-1", "ca-2")).reason is Reason.UP_TO_DATE


def test_one_more_match_of_a_glob_rolls() -> None:
    found = globbed("ca-1", "ca-2", known=("ca-1",))

    assert found.message == "configmap/ca-2 changed"
    assert found.strategy
    assert globbed("ca-1", known=()).strategy


def test_one_match_less_is_only_recorded() -> None:
    found = globbed("ca-1", known=("ca-1", "ca-2"))

    assert found.reason is Reason.RECORDED
    assert found.record is not None
    assert set(found.record.s) == {PATTERN, "configmap/ca-1"}


def test_a_glob_that_is_new_is_recorded_with_all_its_matches() -> None:
    found = globbed("ca-1", "ca-2", known=(), pattern=False)

    assert found.reason is Reason.RECORDED
    assert found.record is not None
    assert set(found.record.s) == {PATTERN, "configmap/ca-1", "configmap/ca-2"}


def test_a_source_that_an_annotation_adds_is_recorded_whenever_it_changed() -> None:
    ref = Reference(configmap("extra"), added=True)
    late = content({"a": "1"}, Moment(200, 201, NOW))

    found = decide(snapshot({ref: late}, Record(5, NOW, "Adopted", {})), NOW)

    assert found.reason is Reason.RECORDED


# What pods report

VAULT = Reference(Key("SecretProviderClass", "shop", "vault"))


def vault(version: str) -> Content:
    return content({"db": version}, Moment(200, 201))


@pytest.mark.parametrize("before", [None, {}, {"secretproviderclass/vault": ABSENT}])
def test_what_pods_report_to_have_mounted_first_is_no_news(before: dict[str, str] | None) -> None:
    old = None if before is None else Record(5, NOW, "Adopted", before)

    found = decide(snapshot({VAULT: vault("1")}, old), NOW)

    assert found.reason in {Reason.ADOPTED, Reason.RECORDED}


def test_a_version_that_the_driver_rotated_rolls() -> None:
    old = record(VAULT, vault("1"), "")

    assert decide(snapshot({VAULT: vault("2")}, old), NOW).reason is Reason.CONFIG_CHANGED


def test_a_class_that_no_pod_reports_holds_nothing() -> None:
    old = Record(5, NOW, "Adopted", {"configmap/app": "old"})
    now = {APP: content({"a": "new"}, Moment(200, 201)), VAULT: Absence.MISSING}

    assert decide(snapshot(now, old), NOW).reason is Reason.CONFIG_CHANGED


# What may not be read


def test_a_source_that_may_not_be_read_stays_as_it_was_recorded() -> None:
    """Also through a roll for another source, so that reading it again is no news."""
    old = Record(5, NOW, "Adopted", {"configmap/app": "old", "configmap/x": "d"})
    hidden = Reference(configmap("x"))
    now = {APP: content({"a": "new"}, Moment(200, 201)), hidden: Absence.FORBIDDEN}

    found = decide(snapshot(now, old), NOW)

    assert found.record is not None
    assert found.record.s["configmap/x"] == "d"


def test_a_source_that_could_never_be_read_is_not_recorded() -> None:
    found = decide(snapshot({APP: Absence.FORBIDDEN}), NOW)

    assert found.record is not None
    assert found.record.s == {}
