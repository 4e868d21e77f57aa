"""What the engine promises, sentence by sentence, on a workload that people work with."""

import copy

import pytest
from tests.core.build import configmap, env, env_from, template
from tests.core.cluster import APP, MAYBE, NOTHING, ROLLED, Cluster, adopted, reasons

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.reasons import Reason


def test_adopting_never_rolls() -> None:
    cluster = adopted()

    assert cluster.rolls == []
    assert len(cluster.sets) == 1


def test_a_change_rolls_once() -> None:
    cluster = adopted()
    cluster.put(APP, a="2")

    assert reasons(cluster) == ROLLED
    assert reasons(cluster) == NOTHING
    assert cluster.stale() == set()
    assert len(cluster.sets) == 2


def test_ten_changes_are_one_roll() -> None:
    cluster = adopted()
    for number in range(10):
        cluster.put(APP, a=str(number))
        cluster.put(MAYBE, a=str(number))

    assert reasons(cluster) == ROLLED


def test_a_write_that_changes_nothing_rolls_nothing() -> None:
    cluster = adopted()
    cluster.put(APP, a="1")

    assert reasons(cluster) == NOTHING


def test_a_key_that_is_not_used_rolls_nothing() -> None:
    cluster = Cluster(template(env=[env("app", "used")]))
    cluster.put(APP, used="1", other="1")
    cluster.settle()
    cluster.put(APP, other="2")

    assert reasons(cluster) == NOTHING


def test_a_change_while_the_controller_was_down_rolls_when_it_comes_back() -> None:
    cluster = adopted()
    cluster.stop()
    cluster.put(APP, a="2")
    cluster.reconnect()

    assert reasons(cluster) == ROLLED


def test_a_change_while_the_watch_was_cut_rolls_when_it_comes_back() -> None:
    cluster = adopted()
    cluster.cut()
    cluster.put(APP, a="2")
    cluster.reconnect()

    assert reasons(cluster) == ROLLED


def test_content_that_comes_back_returns_to_its_replica_set() -> None:
    cluster = adopted()
    stamps = []
    for value in ("2", "3", "2"):
        cluster.put(APP, a=value)
        reasons(cluster)
        stamps.append(cluster.rolls[-1].stamp)

    assert stamps[0] == stamps[2] != stamps[1]
    assert len(cluster.sets) == 3


def test_the_same_stamp_with_other_pods_is_made_another() -> None:
    """A deploy between took the content along: the template still has the stamp of the first."""
    cluster = adopted()
    cluster.put(APP, a="2")
    reasons(cluster)
    cluster.put(APP, a="3")
    cluster.edit(image="web:2")
    assert reasons(cluster) == [Reason.ROLLED_ELSEWHERE]
    cluster.put(APP, a="2")

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()
    assert cluster.rolls[-1].stamp.startswith(cluster.rolls[0].stamp + "-")


def test_a_stamp_that_somebody_removed_causes_no_second_roll() -> None:
    cluster = adopted()
    cluster.put(APP, a="2")
    reasons(cluster)
    replaced = copy.deepcopy(cluster.document)
    del replaced["spec"]["template"]["metadata"]["annotations"][STAMP]
    cluster.write(replaced)

    assert reasons(cluster) == NOTHING


# Sources that come and go


def test_a_deleted_source_rolls_nothing() -> None:
    cluster = adopted()
    for source in (APP, MAYBE):
        cluster.delete(source)

    assert reasons(cluster) == NOTHING


@pytest.mark.parametrize("source", [APP, MAYBE], ids=["required", "optional"])
@pytest.mark.parametrize("down", [False, True], ids=["watched", "while nobody watched"])
def test_a_source_that_comes_back_rolls_only_if_it_is_different(source: Key, down: bool) -> None:
    cluster = adopted()
    for value, expected in (("1", NOTHING), ("2", ROLLED)):
        if down:
            cluster.stop()
        cluster.delete(source)
        cluster.tick()
        cluster.put(source, a=value)
        cluster.reconnect()
        assert reasons(cluster) == expected
    assert cluster.stale() == set()


def test_an_optional_source_that_appears_rolls() -> None:
    cluster = adopted(APP)
    cluster.put(MAYBE, a="1")

    assert reasons(cluster) == ROLLED


@pytest.mark.parametrize("ours", [True, False], ids=["by us", "by somebody else"])
def test_an_optional_source_that_pods_started_without_rolls_when_it_comes_back(ours: bool) -> None:
    cluster = adopted()
    cluster.delete(MAYBE)
    reasons(cluster)
    if ours:
        cluster.put(APP, a="2")
    else:
        cluster.edit(image="web:2")
    assert reasons(cluster) == (ROLLED if ours else [Reason.RECORDED])
    cluster.put(MAYBE, a="1")

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


def test_a_required_source_that_a_deploy_waits_for_comes_back_without_a_roll() -> None:
    cluster = adopted()
    cluster.delete(APP)
    cluster.edit(image="web:2")
    assert reasons(cluster) == [Reason.RECORDED]
    cluster.put(APP, a="2")

    assert reasons(cluster) == [Reason.RECORDED]
    assert cluster.stale() == set()


def test_a_required_source_that_appears_for_the_first_time_is_recorded() -> None:
    cluster = adopted(MAYBE)
    cluster.put(APP, a="1")

    assert reasons(cluster) == [Reason.RECORDED]
    assert cluster.stale() == set()


def test_a_required_source_that_appears_and_changes_before_anybody_looks_rolls() -> None:
    """Pods started with its first content."""
    cluster = adopted(MAYBE)
    cluster.put(APP, a="1")
    cluster.tick()
    cluster.put(APP, a="2")

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


def test_a_source_that_became_optional_rolls_when_it_appears() -> None:
    cluster = adopted(MAYBE)
    cluster.edit(envFrom=env_from(configmap="app", optional=True))
    reasons(cluster)
    cluster.put(APP, a="1")

    assert reasons(cluster) == ROLLED
    assert cluster.stale() == set()


def test_a_required_source_that_is_missing_holds_the_roll_until_it_is_back() -> None:
    cluster = adopted()
    cluster.delete(APP)
    cluster.put(MAYBE, a="2")

    assert reasons(cluster) == NOTHING
    assert cluster.decide().reason is Reason.SOURCE_MISSING
    cluster.put(APP, a="1")
    assert reasons(cluster) == ROLLED


# References that come and go


def test_a_new_reference_is_recorded_and_an_old_one_forgotten() -> None:
    cluster = adopted()
    cluster.put(configmap("more"), a="1")
    cluster.edit(envFrom=env_from(configmap="more"))

    assert reasons(cluster) == [Reason.RECORDED]
    assert cluster.seen is not None
    assert isinstance(cluster.seen.record, Record)
    assert set(cluster.seen.record.s) == {"configmap/more"}


def test_a_new_reference_whose_content_changed_after_the_pods_started_rolls() -> None:
    cluster = adopted()
    cluster.put(configmap("more"), a="1")
    cluster.edit(envFrom=env_from(configmap="more"))
    cluster.tick()
    cluster.put(configmap("more"), a="2")

    assert reasons(cluster) == ROLLED


def test_a_new_reference_to_a_source_that_comes_after_it_is_recorded() -> None:
    cluster = adopted()
    cluster.edit(envFrom=env_from(configmap="more"))
    cluster.tick()
    cluster.put(configmap("more"), a="1")

    assert reasons(cluster) == [Reason.RECORDED]
    assert cluster.stale() == set()
