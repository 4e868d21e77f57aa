"""The past, put together from records, copies and Events: from plain values."""

from datetime import UTC, datetime, timedelta

from reroll.answers.history.history import (
    RecordCopy,
    ReportedEvent,
    entries,
    history,
    keys_of,
    source_of,
)
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.provenance import Write, Writes

START = datetime(2026, 5, 1, 10, 0, 0, 250_000, tzinfo=UTC)
WEB = Key("Deployment", "shop", "web")
APP = Key("ConfigMap", "shop", "app")


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def rolled(number: int, minutes: float, *by: str, keys: tuple[str, ...] = ()) -> Record:
    when = at(minutes)
    return Record(
        number, when, "ConfigChanged", {}, rolled=when, by=list(by), keys=list(keys) or None
    )


def test_each_revision_tells_the_roll_that_made_it() -> None:
    first, second = rolled(2, 1, "configmap/app"), rolled(3, 5, "secret/db#password")
    copies = [
        RecordCopy(WEB, first, "web-1"),
        RecordCopy(WEB, second, "web-2"),
        RecordCopy(WEB, second),
    ]

    found = history(copies, [], {})

    told = [(one.at, [part.entry for part in one.parts], one.revision) for one in found]
    assert told == [
        (at(5), ["secret/db#password"], "web-2"),
        (at(1), ["configmap/app"], "web-1"),
    ]
    assert entries(copies) == {APP, Key("Secret", "shop", "db")}


def test_a_record_that_was_written_later_tells_the_roll_before_it_too() -> None:
    later = Record(4, at(9), "Recorded", {}, rolled=at(5), by=["configmap/app"], keys=["level"])

    found = history([RecordCopy(WEB, later)], [], {})

    assert [(one.at, one.reason, one.keys) for one in found] == [
        (at(9), "Recorded", ()),
        (at(5), "ConfigChanged", ("level",)),
    ]


def test_a_restart_before_the_last_record_is_told_as_one() -> None:
    found = history([RecordCopy(WEB, Record(4, at(9), "Recorded", {}, rolled=at(5)))], [], {})
    assert [one.reason for one in found] == ["Recorded", "Restarted"]


def test_an_event_of_what_a_record_tells_is_told_once() -> None:
    events = [
        ReportedEvent(WEB, at(5) + timedelta(seconds=1), "ConfigChanged", "it changed"),
        ReportedEvent(WEB, at(7), "SourceMissing", "Secret shop/db does not exist"),
    ]

    found = history([RecordCopy(WEB, rolled(2, 5, "configmap/app"))], events, {})

    assert [(one.reason, one.origin) for one in found] == [
        ("SourceMissing", "event"),
        ("ConfigChanged", "record"),
    ]


def test_the_writer_is_told_only_where_it_is_still_known() -> None:
    writes = Writes(
        None,
        (
            Write("helm", at(4).replace(microsecond=0), frozenset(("level",)), True),
            Write("ops", at(4.5).replace(microsecond=0), frozenset(("other",)), True),
            Write("late", at(20), frozenset(("level",)), True),
        ),
    )
    copies = [
        RecordCopy(WEB, rolled(2, 1, "configmap/app#level"), "web-1"),
        RecordCopy(WEB, rolled(3, 5, "configmap/app#level"), "web-2"),
        RecordCopy(WEB, rolled(4, 6, "configmap/app#level"), "web-3"),
    ]

    found = history(copies, [], {APP: writes})

    assert [one.parts[0].by for one in found] == ["", "helm", ""]


def test_entries_of_records_are_read_back() -> None:
    assert source_of("configmap/app", "shop") == APP
    assert source_of("secret/vault/db#password", "shop") == Key("Secret", "vault", "db")
    assert source_of("thing/x", "shop") is None
    assert source_of("configmap/", "shop") is None
    assert keys_of("configmap/app") is None
    assert keys_of("configmap/app#!comment") is None
    assert keys_of("configmap/app#a,b") == {"a", "b"}
