"""The record on a workload: it reads back as written, and whatever else stands there is safe."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import NOW

from reroll.core.model.record import LAST, VERSION, Record, Todo, Unreadable, read, successor, write

GOOD = {"n": 3, "at": "2026-03-01T12:00:00Z", "why": "Adopted", "s": {"configmap/app": "d1"}}

times = st.datetimes(
    min_value=datetime(1970, 1, 2),  # noqa: DTZ001 (hypothesis adds the zone)
    max_value=datetime(2999, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
texts = st.text(st.characters(codec="utf-8"))
records = st.builds(
    Record,
    n=st.integers(0, 2**53),
    at=times,
    why=texts,
    s=st.dictionaries(texts, texts),
    k=texts,
    rolled=st.none() | times,
    by=st.none() | st.lists(texts),
    keys=st.none() | st.lists(texts),
    todo=st.none() | st.builds(Todo, do=texts, since=times),
)


@given(records)
def test_a_record_reads_back_as_it_was_written(record: Record) -> None:
    assert read(write(record)) == record


def test_a_record_is_compact_and_says_nothing_that_is_default() -> None:
    record = Record(n=1, at=NOW, why="Adopted", s={"configmap/app": "d1"})

    assert (
        write(record)
        == '{"n":1,"at":"2026-03-01T12:00:00Z","why":"Adopted","s":{"configmap/app":"d1"}}'
    )


def test_no_annotation_is_no_record() -> None:
    assert read(None) is None


GARBAGE: dict[str, Any] = {
    "an empty text": "",
    "no JSON": "not json",
    "JSON cut short": json.dumps(GOOD)[:-3],
    "JSON of another shape": "[]",
    "a field missing": json.dumps({k: v for k, v in GOOD.items() if k != "s"}),
    "a negative number": json.dumps(GOOD | {"n": -1}),
    "a number that is none": json.dumps(GOOD | {"n": "3"}),
    "a number longer than any": json.dumps(GOOD).replace("3", "3" * 5000, 1),
    "a time without a zone, which could not be compared": json.dumps(
        GOOD | {"at": "2026-03-01T12:00:00"}
    ),
    "a time without a zone in the work to do": json.dumps(
        GOOD | {"todo": {"do": "evict", "since": "2026-03-01T12:00:00"}}
    ),
    "a digest that is not text": json.dumps(GOOD | {"s": {"configmap/app": 1}}),
    "brackets nested deeper than the stack": "[" * 100_000,
    "deep nesting in an unknown field": json.dumps(GOOD)[:-1] + ',"x":' + "[" * 50_000,
    "half a surrogate pair": '{"n":"\ud800"}',
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_unreadable_and_no_exception(text: str) -> None:
    assert read(text) == Unreadable("it is not the JSON that was written")


def test_a_record_of_another_version_is_unreadable_and_names_both() -> None:
    found = read(json.dumps(GOOD | {"v": 2}))

    assert found == Unreadable(f"its version is 2, this program writes version {VERSION}")


def test_fields_that_a_later_version_adds_are_passed_over() -> None:
    found = read(json.dumps(GOOD | {"later": {"a": [1]}}))

    assert isinstance(found, Record)
    assert found.n == 3


@given(st.text() | st.builds(json.dumps, st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*GOOD, "v", "todo"]), inner),
)))  # fmt: skip
def test_arbitrary_text_never_raises(text: str) -> None:
    assert isinstance(read(text), Record | Unreadable)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.just(good) | st.integers() | st.text() | st.none()
            for name, good in (GOOD | {"v": 1, "rolled": GOOD["at"], "by": [], "k": ""}).items()
        },
    )
)
def test_almost_a_record_can_always_be_followed_and_written(parts: dict[str, Any]) -> None:
    found = read(json.dumps(parts))

    if isinstance(found, Record):
        after = successor(found, 0, at=found.at + timedelta(0), why="x")
        assert read(write(after)) == after


@pytest.mark.parametrize(
    ("number", "seen", "after"),
    [
        pytest.param(None, 0, 1, id="the first record of all"),
        pytest.param(4, 0, 5, id="one more than the record"),
        pytest.param(4, 9, 10, id="one more than the highest number ever seen"),
        pytest.param(None, 9, 10, id="a first record after others that were lost"),
        pytest.param(LAST, 9, LAST, id="there is none after the last number"),
        pytest.param(4, LAST, LAST, id="nor after the last number ever seen"),
    ],
)
def test_sequence_numbers_only_grow(number: int | None, seen: int, after: int) -> None:
    record = None if number is None else Record(n=number, at=NOW, why="", s={"a": "b"}, k="k1")

    found = successor(record, seen, at=NOW, why="Recorded", s={})

    assert (found.n, found.why, found.s) == (after, "Recorded", {})
    assert found.k == ("k1" if record else "")


def test_a_record_is_not_of_the_failure_before_it_if_it_declines_something_else() -> None:
    failed = Record(n=1, at=NOW, why="Undone", s={}, declined=["configmap/app"], failed=True)
    assert successor(failed, 1, at=NOW, why="KeyRotated").failed
    assert not successor(failed, 1, at=NOW, why="ConfigChanged", declined=None).failed
    assert not successor(failed, 1, at=NOW, why="Undone", held=NOW).failed
    assert successor(failed, 1, at=NOW, why="Undone", held=NOW, failed=True).failed
