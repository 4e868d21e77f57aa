"""The records a second time: what fits, what is read of it, and whom it concerns."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.build import DEPLOYMENT, NOW, document, workload

from reroll.core.model.metadata import Metadata
from reroll.core.model.record import Record, write
from reroll.core.observe.workload import Workload
from reroll.core.revisions.copies import is_our_own
from reroll.core.tables.annotations import RECORDS, STATE
from reroll.engine.record_backup import Entry, entries_of, fitting


def numbered(number: int, age: int = 0) -> Record:
    return Record(number, NOW - timedelta(days=age), "Adopted", {"configmap/app": "d"})


def recorded(age: int) -> Workload:
    return workload(DEPLOYMENT, document(DEPLOYMENT, annotations={STATE: write(numbered(1, age))}))


def test_what_has_no_room_is_left_out_the_oldest_first() -> None:
    all_of_them = {f"uid-{age}": recorded(age) for age in (2, 9, 5, 1)}
    one = len(write(numbered(1))) + 64

    assert fitting(all_of_them) is all_of_them
    assert fitting(all_of_them, 4 * one) is all_of_them
    assert set(fitting(all_of_them, 3 * one)) == {"uid-2", "uid-5", "uid-1"}
    assert set(fitting(all_of_them, one)) == {"uid-1"}
    assert fitting(all_of_them, one - 1) == {}


def test_an_entry_is_a_version_and_a_record() -> None:
    assert list(entries_of({"u": f"12 {write(numbered(4))}"})) == [Entry("u", 12, numbered(4))]


@given(st.dictionaries(st.text(), st.text() | st.text().map(lambda end: f"1 {end}")))
@example({"u": f"{'1' * 5000} {write(numbered(4))}"})
@example({"u": '1 {"n":1,"at":"2026-03-01T12:00:00Z","why":"x","s":{},"v":9}'})
def test_what_is_no_entry_is_left_alone(data: dict[str, str]) -> None:
    assert list(entries_of(data)) == []


@pytest.mark.parametrize(("labels", "ours"), [({RECORDS: "reroll"}, True), ({}, False)])
def test_no_glob_of_a_workload_means_the_backup(labels: dict[str, str], ours: bool) -> None:
    assert is_our_own(Metadata("reroll-records-0", labels=labels)) is ours
