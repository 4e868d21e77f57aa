"""People who go back, pause, or remove what we wrote: their decisions stand."""

import copy

import pytest
from tests.core.build import NOW, content, reference, snapshot, template
from tests.core.cluster import APP, MAYBE, NOTHING, ROLLED, USES, Cluster, adopted, reasons

from reroll.core.decide.chains import decide
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import History
from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.reasons import Reason


@pytest.mark.parametrize("down", [False, True], ids=["watched", "while nobody watched"])
def test_an_undo_is_declined_and_only_a_further_change_rolls_again(down: bool) -> None:
    cluster = adopted()
    for value in ("2", "3"):
        cluster.put(APP, a=value)
        reasons(cluster)
    if down:
        cluster.stop()
    assert cluster.undo()
    cluster.reconnect()

    assert reasons(cluster) == [Reason.UNDONE]
    assert reasons(cluster) == NOTHING
    cluster.put(APP, a="4")
    assert reasons(cluster) == ROLLED


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_lower_number_is_an_undo_only_where_records_come_back_with_one(kind: Kind) -> None:
    used = reference(APP)
    old = Record(5, NOW, "Adopted", {"configmap/app": "old"})
    held = content({"a": "new"}, Moment(200, 201))

    later = Record(6, NOW, "ConfigChanged", {"configmap/app": reference_digest(used, held, "")})
    for more in (
        {"changes": {"last": later, "reverted": True}},
        {"history": History(latest=later, left=True)},
    ):
        found = decide(snapshot({used: held}, old, kind=kind, **more), NOW)
        assert (found.reason is Reason.UNDONE) is kind.copies_record


def test_a_source_that_changes_after_the_undo_rolls_even_if_nobody_watched_either() -> None:
    cluster = adopted()
    for value in ("2", "3"):
        cluster.put(APP, a=value)
        reasons(cluster)
    cluster.stop()
    assert cluster.undo()
    cluster.tick()
    cluster.put(APP, a="4")
    cluster.reconnect()

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


def test_what_the_last_roll_was_stays_in_the_record() -> None:
    cluster = adopted()
    cluster.put(APP, a="2")
    reasons(cluster)
    cluster.delete(MAYBE)
    cluster.edit(image="web:2")
    assert reasons(cluster) == [Reason.RECORDED]

    assert cluster.seen is not None
    assert isinstance(cluster.seen.record, Record)
    assert cluster.seen.record.by == ["configmap/app"]
    assert cluster.seen.record.keys is None
    assert cluster.seen.record.rolled == cluster.rolls[-1].record.rolled


def test_an_undo_to_the_time_before_adoption_rolls_nothing() -> None:
    cluster = Cluster(template(envFrom=copy.deepcopy(USES)))
    cluster.edit(image="web:2")
    cluster.put(APP, a="1")
    cluster.settle()
    cluster.tick()
    assert cluster.undo()

    assert reasons(cluster) == [Reason.RECORD_RESTORED]
    assert cluster.rolls == []


def test_a_record_lost_while_nobody_watched_makes_no_later_change_look_like_an_undo() -> None:
    """Its ReplicaSets still have copies of the old records, with their numbers."""
    cluster = adopted()
    for value in ("2", "3", "4"):
        cluster.put(APP, a=value)
        reasons(cluster)
    cluster.stop()
    cluster.remove_record()
    cluster.reconnect()
    assert reasons(cluster) == [Reason.RECORD_RESTORED]
    cluster.stop()
    cluster.put(APP, a="5")
    cluster.reconnect()

    assert reasons(cluster) == ROLLED


# Pauses


def test_a_paused_workload_rolls_when_the_pause_ends() -> None:
    cluster = adopted()
    cluster.pause(True)
    cluster.put(APP, a="2")
    assert reasons(cluster) == NOTHING
    assert cluster.decide().reason is Reason.PAUSED
    cluster.pause(False)

    assert reasons(cluster) == ROLLED


def test_a_template_changed_during_the_pause_takes_the_content_along_at_its_end() -> None:
    cluster = adopted()
    cluster.pause(True)
    cluster.edit(image="web:2")
    cluster.put(APP, a="2")
    cluster.pause(False)

    assert reasons(cluster) == [Reason.ROLLED_ELSEWHERE]
    assert cluster.stale() == set()
