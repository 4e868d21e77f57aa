"""The past, put together from records, copies and Events: from plain values."""

from datetime import UTC, datetime, timedelta

from reroll.answers.history.history import (
    RecordCopy,
    beside,
    history,
    keys_of,
    source_of,
    sources_of,
)
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.provenance import Write, Writes
from reroll.core.tables.reasons import Reason
from reroll.engine.our_events import ReportedEvent

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
    assert sources_of(found) == {APP, Key("Secret", "shop", "db")}


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


def test_a_manager_that_wrote_before_what_is_known_is_not_blamed() -> None:
    """Made by `kubectl apply`, then patched twice: the first patch has left no trace."""
    applied = Write("kubectl-client-side-apply", at(0), frozenset(("other",)), True)
    patched = Write("kubectl-patch", at(7), frozenset(("level",)), True)
    copies = [
        RecordCopy(WEB, rolled(2, 5, "configmap/app"), "web-1"),
        RecordCopy(WEB, rolled(3, 8, "configmap/app"), "web-2"),
    ]

    second, first = history(copies, [], {APP: Writes(at(0), (applied, patched))})

    assert (second.parts[0].by, first.parts[0].by) == ("kubectl-patch", "")


def test_a_manager_is_named_for_a_key_that_it_alone_owns() -> None:
    wide = Write("helm", at(4), frozenset(("level", "other")), False)
    labels = Write("labeller", at(6), frozenset(("other",)), False)
    key = rolled(2, 5, "configmap/app#level")

    [found] = history([RecordCopy(WEB, key)], [], {APP: Writes(at(0), (wide, labels))})
    assert found.parts[0].by == "helm"
    whole = rolled(2, 5, "configmap/app")
    [found] = history([RecordCopy(WEB, whole)], [], {APP: Writes(at(0), (wide, labels))})
    assert found.parts[0].by == ""


def test_the_keys_of_older_rows_are_those_of_their_events() -> None:
    events = [
        ReportedEvent(WEB, at(1), "ConfigChanged", "configmap/app, secret/db changed (a, b)"),
        ReportedEvent(
            WEB, at(2), "ConfigChanged", "started Job nightly-1f: configmap/app#level changed"
        ),
        ReportedEvent(WEB, at(3), "Held", f"{Reason.HELD.sentence} (incident 42)"),
    ]

    held, one_key, several = history([], events, {})

    assert (several.keys, several.message) == (("a", "b"), "")
    assert [part.entry for part in several.parts] == ["configmap/app", "secret/db"]
    assert one_key.keys == ("level",)
    assert held.message == "(incident 42)"


def test_a_restart_is_shown_with_its_reason() -> None:
    restarted = Record(2, at(5), "Restarted", {}, rolled=at(5))
    said = ReportedEvent(WEB, at(5), "Restarted", f"{Reason.RESTARTED.sentence}: new kernel")

    [found] = history([RecordCopy(WEB, restarted)], [said], {})

    assert (found.message, found.origin) == ("new kernel", "record")


def test_keys_that_are_shown_are_not_named_twice() -> None:
    assert beside(["configmap/app#level"], ["level"]) == "configmap/app"
    assert beside(["configmap/app#level", "secret/db"], ["level"]) == "configmap/app, secret/db"
    assert beside(["configmap/app#a", "configmap/app#b"], ["a", "b"]) == "configmap/app"
    assert beside(["configmap/app#level"], []) == "configmap/app#level"
    assert beside(["configmap/app#!level"], ["level"]) == "configmap/app#!level"


def test_entries_of_records_are_read_back() -> None:
    assert source_of("configmap/app", "shop") == APP
    assert source_of("secret/vault/db#password", "shop") == Key("Secret", "vault", "db")
    assert source_of("thing/x", "shop") is None
    assert source_of("configmap/", "shop") is None
    assert keys_of("configmap/app") is None
    assert keys_of("configmap/app#!comment") is None
    assert keys_of("configmap/app#a,b") == {"a", "b"}
