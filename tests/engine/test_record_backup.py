"""The records a second time: what fits, what is read of it, and whom it concerns."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.build import DEPLOYMENT, NOW, document, workload
from tests.fuzz.bench import Answers

from reroll.clock import SystemClock
from reroll.controller import bugs
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.record import Record, write
from reroll.core.observe.workload import Workload, recalled
from reroll.core.policy.policy import Policy
from reroll.core.revisions.copies import is_our_own
from reroll.core.tables.annotations import RECORDS, STATE
from reroll.engine import record_backup
from reroll.engine.record_backup import Entry, RecordBackup, entries_of, fitting
from reroll.engine.scope import Scope
from reroll.engine.tracked import Tracked
from reroll.engine.world import World
from reroll.kube.errors import Invalid
from reroll.kube.wire import Request


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


def of(namespace: str, name: str, age: int, why: str = "Adopted") -> Workload:
    record = msgspec.structs.replace(numbered(1, age), why=why)
    manifest = document(
        DEPLOYMENT, name=name, namespace=namespace, annotations={STATE: write(record)}
    )
    return workload(DEPLOYMENT, manifest)


def test_a_namespace_that_fills_the_backup_leaves_out_its_own_records_only() -> None:
    """Anybody can write a record on a workload of theirs: a long one, of whatever time."""
    long = "x" * 200_000
    hostile = {f"h-{n}": of("hostile", f"h-{n}", -9_999, long) for n in range(40)}
    quiet = {f"q-{n}": of("quiet", f"q-{n}", 900 + n) for n in range(100)}

    kept = fitting({**quiet, **hostile})

    assert kept.keys() >= quiet.keys()
    assert 3 <= len(kept.keys() & hostile.keys()) <= 4


def test_the_room_of_the_backup_is_in_bytes_of_what_is_written() -> None:
    """Four bytes to a character, and a record that is not on the workload any more."""
    wide = of("hostile", "wide", 1, "\N{GRINNING FACE}" * 60_000)
    lost = workload(DEPLOYMENT, document(DEPLOYMENT, namespace="hostile", version=101), wide)
    assert lost.record_text is None

    for one in (wide, lost):
        assert len(fitting({f"0-{n}": one for n in range(9)})) == 3


def test_a_shard_that_is_refused_keeps_no_other_from_being_written() -> None:
    first, other = (msgspec.structs.replace(recorded(1), uid=f"{digit}-a") for digit in "0f")
    backup, world, answers = backed_up(first)
    world.workloads[Key("Deployment", "shop", "other")] = Tracked(other, Policy())
    answers.everything = b'{"metadata":{"name":"x"},"items":[]}'
    usual = answers.send

    async def send(request: Request, **how: Any) -> bytes:
        if request.method == "PATCH" and request.path.endswith("records-0"):
            raise Invalid("it is too long", status=422)
        return await usual(request, **how)

    answers.send = send  # type: ignore[method-assign]
    asyncio.run(backup.flush())

    assert [one.path[-1] for one in answers.sent if one.method == "PATCH"] == ["f"]


def test_what_goes_wrong_with_the_backup_does_not_end_the_work_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_backup, "EVERY", 0.0)
    backup, _, _ = backed_up()
    tries: list[int] = []
    monkeypatch.setattr(bugs, "report", lambda *_, **__: tries.append(1))

    async def broken() -> None:
        raise TypeError

    monkeypatch.setattr(backup, "flush", broken)

    async def goes_on() -> None:
        running = asyncio.create_task(backup.run())
        while len(tries) < 3:
            await asyncio.sleep(0)
            assert not running.done()
        running.cancel()

    asyncio.run(goes_on())


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


# What is written and read


def backed_up(*workloads: Workload) -> tuple[RecordBackup, World, Answers]:
    """A backup of a world with these workloads, and an API server without any ConfigMap."""
    answers = Answers()
    scope, keys = Scope(Policy()), Key("Secret", "reroll", "keys")
    world = World(SystemClock(), scope, keys, wake=lambda *_: None, want=lambda _: None)
    for one in workloads:
        world.workloads[one.key] = Tracked(one, Policy())
    place = ("reroll", "reroll")
    backup = RecordBackup(answers.client, SystemClock(), world, place, lambda *_: None)
    return backup, world, answers


@pytest.mark.parametrize("has_record", [True, False])
def test_an_empty_backup_is_complete_only_where_no_workload_has_a_record(has_record: bool) -> None:
    bare = workload(DEPLOYMENT, document(DEPLOYMENT, name="bare"))
    backup, world, answers = backed_up(bare, *([recorded(1)] if has_record else []))
    answers.everything = b'{"metadata":{"name":"x"},"items":[]}'

    asyncio.run(backup.load())

    assert world.records_known is not has_record


def test_a_record_whose_loss_was_watched_is_backed_up() -> None:
    there = recorded(1)
    gone = workload(DEPLOYMENT, document(DEPLOYMENT, version=101), there)
    assert (gone.record, gone.last, gone.blind_after) == (None, there.record, None)
    gone = msgspec.structs.replace(gone, uid="0-a")
    backup, _, answers = backed_up(gone)
    answers.everything = b'{"metadata":{"name":"x"},"items":[]}'

    asyncio.run(backup.flush())

    sent = [msgspec.json.decode(one.body) for one in answers.sent if one.method == "PATCH"]
    assert [list(entries_of(body["data"])) for body in sent] == [
        [Entry("0-a", 101, numbered(1, 1))]
    ]


def test_a_loss_that_was_not_watched_leaves_the_entry_as_it_was() -> None:
    doubted = msgspec.structs.replace(recalled(recorded(1), numbered(9), 50), uid="0-a")
    backup, _, answers = backed_up(doubted)
    answers.everything = b'{"metadata":{"name":"x"},"items":[]}'

    asyncio.run(backup.flush())

    assert [one for one in answers.sent if one.method == "PATCH"] == []


@pytest.mark.parametrize(("kind", "soon"), [("StatefulSet", True), ("Deployment", False)])
def test_the_first_record_of_what_no_revision_tells_is_written_at_once(
    kind: str, soon: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_backup, "SOON", 0.0)
    backup, _, answers = backed_up(msgspec.structs.replace(recorded(1), uid="0-a"))
    answers.everything = b'{"metadata":{"name":"x"},"items":[]}'

    async def work() -> None:
        running = asyncio.create_task(backup.run())
        backup.adopted(Key(kind, "shop", "web"))
        assert backup._adopted.is_set() is soon
        while soon and not any(one.method == "PATCH" for one in answers.sent):
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(work())
