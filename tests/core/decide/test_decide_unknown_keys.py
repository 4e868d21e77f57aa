"""Records with a digest key that is not known here: lost, or that of another installation.

Digests of Secrets say nothing then, and versions do: what was written after the record rolls, and
the rest is trusted and rewritten at leisure.
"""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import NOW, configmap, content, document, reference, secret, snapshot

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import History, Keys
from reroll.core.tables.reasons import Reason

DB, APP = reference(secret("db")), reference(configmap("app"))
OURS = Keys("ours", frozenset(("ours",)))
THEIRS = {"secret/db": "digest-with-their-key"}
LONG_AGO = NOW - timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def db(version: int = 50, **more: Any) -> Content:
    """A Secret as it was found in a list, last written at this version."""
    return content({"password": "x"}, Moment(0, version, **more), hmac={"ours": b"0"})


def theirs(**more: Any) -> Record:
    fields = {"n": 5, "at": LONG_AGO, "why": "Adopted", "s": THEIRS, "k": "theirs", "rv": 50}
    return Record(**{**fields, **more})


def look(record: Record, now: Content, **more: Any) -> Plan:
    return decide(
        snapshot({DB: now}, record, keys=OURS, history=History(), secrets_at=50, **more), NOW
    )


def test_what_was_not_written_since_is_recorded_with_our_key_and_rolls_nothing() -> None:
    found = look(theirs(), db())

    assert found.reason is Reason.KEY_LOST
    assert found.strategy is None
    assert found.record is not None
    assert found.record.k == "ours"
    assert found.record.rv == 50
    assert found.record.s == {"secret/db": reference_digest(DB, db(), "ours")}


def test_a_secret_that_was_written_after_the_record_rolls() -> None:
    found = look(theirs(), db(51))

    assert found.reason is Reason.CONFIG_CHANGED
    assert [change.entry for change in found.changes] == ["secret/db"]


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(-1, Reason.KEY_LOST), (0, Reason.CONFIG_CHANGED), (1, Reason.CONFIG_CHANGED)],
)
def test_a_record_without_a_version_is_compared_by_time_and_in_doubt_it_rolls(
    seconds: int, reason: Reason
) -> None:
    at = LONG_AGO + timedelta(milliseconds=300)
    written = LONG_AGO + timedelta(seconds=seconds)

    assert look(theirs(rv=0, at=at), db(at=written)).reason is reason


def test_a_secret_that_is_later_than_the_workload_itself_rolls_whatever_the_clocks_say() -> None:
    changed = Moment(200, 201, LONG_AGO - timedelta(days=1))
    version = document.__kwdefaults__["version"]
    assert version < changed.after

    assert look(theirs(rv=0), msgspec.structs.replace(db(), changed=changed)).strategy


def test_a_young_record_is_trusted_and_looked_at_again_when_it_is_a_minute_old() -> None:
    young = theirs(at=NOW - timedelta(seconds=20))

    found = look(young, db())

    assert found.reason is Reason.UP_TO_DATE
    assert found.actions == ()
    assert found.look_at == young.at + MINUTE


def test_a_young_record_hides_no_change() -> None:
    assert look(theirs(at=NOW), db(51)).reason is Reason.CONFIG_CHANGED


def test_after_each_installation_had_its_say_the_record_stays() -> None:
    found = look(theirs(), db(), handovers=2)

    assert found.reason is Reason.UP_TO_DATE
    assert found.look_at is None
    assert look(theirs(), db(51), handovers=2).reason is Reason.CONFIG_CHANGED


def test_what_only_another_installation_counts_stays_in_the_record() -> None:
    """Each record would look incomplete to the other, and both would rewrite it for ever."""
    more = {**THEIRS, "configmap/more": "1"}

    assert look(theirs(s=more), db(), handovers=9).reason is Reason.UP_TO_DATE
    first = look(theirs(s=more), db()).record
    assert first
    assert first.s["configmap/more"] == "1"
    assert first.k == "ours"
    again = look(first, db(), handovers=1)
    assert again.reason is Reason.UP_TO_DATE


def test_what_a_record_of_another_installation_lacks_is_recorded_when_that_is_a_minute_old() -> (
    None
):
    nothing: dict[str, str] = {}
    assert look(theirs(s=nothing, at=NOW), db(), handovers=9).look_at == NOW + MINUTE
    found = look(theirs(s=nothing), db(), handovers=9).record
    assert found
    assert set(found.s) == {"secret/db"}


def test_configmaps_are_compared_whatever_key_the_record_has() -> None:
    now = content({"a": "1"})
    same = theirs(s={"configmap/app": reference_digest(APP, now, "")}, rv=0)

    found = decide(snapshot({APP: now}, same, keys=OURS, history=History()), NOW)

    assert found.reason is Reason.UP_TO_DATE
    assert found.look_at is None
    other = decide(snapshot({APP: content({"a": "2"})}, same, keys=OURS, history=History()), NOW)
    assert other.reason is Reason.CONFIG_CHANGED
