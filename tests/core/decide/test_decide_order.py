"""Which came first, content or template, where clocks disagree or versions are of two stores."""

from datetime import timedelta

import msgspec
import pytest
from tests.core.build import NOW, configmap, content, reference, secret, snapshot

from reroll.core.decide.actions import ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo
from reroll.core.observe.snapshot import Absence, History, Keys, Snapshot
from reroll.core.tables.reasons import Reason

APP = reference(configmap("app"))
OLD = Record(5, NOW - timedelta(hours=1), "Adopted", {"configmap/app": "old"})
SECOND = timedelta(seconds=1)


def look(template: Moment, changed: Moment, **more: object) -> Snapshot:
    return snapshot(
        {APP: content({"a": "new"}, changed)}, OLD, changes={"template": template}, **more
    )


# Clocks


def listed(revision: int, source: int) -> Reason:
    """Found in lists: the revision is a minute newer than the source by their times."""
    seen = look(Moment(0, 500), Moment(0, source, NOW))
    history = History(NOW + timedelta(minutes=1), version=revision)
    return decide(msgspec.structs.replace(seen, history=history), NOW).reason


def test_a_source_that_was_written_after_the_revision_rolls_whatever_the_clocks_say() -> None:
    assert listed(revision=300, source=301) is Reason.CONFIG_CHANGED


def test_a_revision_that_was_written_after_the_source_may_have_it_and_times_decide() -> None:
    assert listed(revision=301, source=300) is Reason.ROLLED_ELSEWHERE


def test_a_template_that_was_watched_after_the_source_needs_no_revision() -> None:
    seen = look(Moment(310, 311), Moment(0, 305, NOW), history=History(NOW, version=300))

    assert decide(seen, NOW).reason is Reason.ROLLED_ELSEWHERE


# Two stores


@pytest.mark.parametrize(
    ("template", "changed"),
    [(Moment(900, 901), Moment(10, 11)), (Moment(10, 11), Moment(900, 901))],
    ids=["workloads have higher versions", "sources have higher versions"],
)
def test_versions_of_two_stores_tell_no_order_and_times_do(
    template: Moment, changed: Moment
) -> None:
    changed = msgspec.structs.replace(changed, at=NOW)
    first = decide(look(template, changed, ordered=False), NOW)
    assert first.has(ReadHistory)

    for made, reason in (
        (NOW + SECOND, Reason.ROLLED_ELSEWHERE),
        (NOW, Reason.CONFIG_CHANGED),
        (NOW - SECOND, Reason.CONFIG_CHANGED),
    ):
        history = History(made, version=template.by)
        seen = look(template, changed, ordered=False, history=history)
        assert decide(seen, NOW).reason is reason


def test_a_source_that_went_away_in_another_store_is_still_remembered() -> None:
    """Its version says nothing about whether pods were replaced since."""
    gone = {APP.source: 11}
    changes = {"template": Moment(900, 901)}
    there = snapshot({APP: Absence.MISSING}, OLD, gone=gone, changes=changes, ordered=False)

    assert decide(there, NOW).reason is Reason.UP_TO_DATE


# Work that is not finished


def test_a_rotated_key_is_carried_along_only_when_the_work_of_a_roll_is_finished() -> None:
    """The time at which its record was written says which pods are old."""
    db = reference(secret("db"))
    now = content({"p": "1"}, hmac={"k1": b"1", "k2": b"2"})
    digest = reference_digest(db, now, "k1") or ""
    todo = Todo("evict", NOW)
    record = Record(5, NOW, "ConfigChanged", {"secret/db": digest}, k="k1", todo=todo)
    keys = Keys("k2", frozenset(("k1", "k2")))

    found = decide(snapshot({db: now}, record, keys=keys), NOW)
    assert found.reason is Reason.CONTINUED
    assert found.record is not None
    assert found.record.k == "k1"

    lost = content({"p": "1"}, hmac={"k3": b"3"})
    foreign = Keys("k3", frozenset(("k3",)))
    record = msgspec.structs.replace(record, rv=7, at=NOW - timedelta(hours=1))
    assert decide(snapshot({db: lost}, record, keys=foreign), NOW).reason is Reason.CONTINUED


def test_pods_that_a_template_replaced_are_left_out_of_the_work_of_an_earlier_roll() -> None:
    seen = look(Moment(210, 211), Moment(200, 201))
    record = msgspec.structs.replace(OLD, todo=Todo("evict", NOW))
    seen = msgspec.structs.replace(
        seen, workload=msgspec.structs.replace(seen.workload, record=record)
    )

    found = decide(seen, NOW)

    assert found.reason is Reason.ROLLED_ELSEWHERE
    assert found.record is not None
    assert found.record.todo is None
