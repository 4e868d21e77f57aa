"""A roll that somebody else made counts, as far as the order of things is known."""

from datetime import timedelta

import msgspec
import pytest
from tests.core.build import (
    DEPLOYMENT,
    KIND,
    NOW,
    configmap,
    content,
    env_from,
    reference,
    snapshot,
    template,
)
from tests.core.cluster import Cluster

from reroll.core.decide.actions import ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, History, Snapshot
from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.reasons import Reason

APP = configmap("app")
USED = reference(APP)
OLD = Record(5, NOW, "Adopted", {"configmap/app": "old"})
LATER = NOW + timedelta(seconds=1)
COUNTS = Reason.ROLLED_ELSEWHERE
ROLLS = Reason.CONFIG_CHANGED


def look(template_: Moment, changed: Moment, kind: Kind = DEPLOYMENT, **more: object) -> Snapshot:
    held = content({"a": "new"}, changed)
    return snapshot({USED: held}, OLD, kind=kind, changes={"template": template_}, **more)


VERSIONS = {
    "the template changed after the content": (Moment(210, 211), Moment(200, 201), COUNTS),
    "the content changed after the template": (Moment(200, 201), Moment(210, 211), ROLLS),
    "the template was found older than the content": (Moment(0, 200), Moment(210, 211), ROLLS),
    "the content was found older than the template": (Moment(210, 211), Moment(0, 200), COUNTS),
    "somewhere before": (Moment(100, 150), Moment(160, 161), ROLLS),
    "somewhere after": (Moment(170, 190), Moment(150, 170), COUNTS),
}


@pytest.mark.parametrize(("template_", "changed", "reason"), VERSIONS.values(), ids=VERSIONS)
def test_versions_tell_the_order_and_no_history_is_asked_for(
    template_: Moment, changed: Moment, reason: Reason
) -> None:
    assert decide(look(template_, changed), NOW).reason is reason


TIMES = {
    "the pods are newer by a second": (LATER, NOW, COUNTS),
    "the content is newer by a second": (NOW, LATER, ROLLS),
    "the same second: in doubt": (NOW, NOW, ROLLS),
    "no revision tells a time: in doubt": (None, NOW, ROLLS),
    "the content tells no time: in doubt": (NOW, None, ROLLS),
}


@pytest.mark.parametrize(("newest", "at", "reason"), TIMES.values(), ids=TIMES)
def test_times_tell_the_order_where_versions_cannot(
    newest: object, at: object, reason: Reason
) -> None:
    seen = look(Moment(0, 300), msgspec.structs.replace(Moment(0, 250), at=at))

    first = decide(seen, NOW)
    second = decide(msgspec.structs.replace(seen, history=History(newest)), NOW)

    assert (first.reason, first.has(ReadHistory)) == (Reason.LOOKING_BACK, True)
    assert (second.reason, second.has(ReadHistory)) == (reason, False)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_history_is_asked_for_only_where_there_is_one(kind: Kind) -> None:
    found = decide(look(Moment(0, 300), Moment(0, 250), kind), NOW)

    assert found.has(ReadHistory) is bool(kind.revisions)
    assert (found.reason is ROLLS) is not found.has(ReadHistory)


def test_a_template_that_replaces_no_pods_is_no_roll() -> None:
    """OnDelete, or a CronJob: whatever became of the template, the pods are the old ones."""
    seen = look(Moment(210, 211), Moment(200, 201), KIND["StatefulSet"])
    on_delete = msgspec.structs.replace(seen.workload, replaces_pods=False)

    assert decide(seen, NOW).reason is COUNTS
    assert decide(msgspec.structs.replace(seen, workload=on_delete), NOW).reason is ROLLS
    assert decide(look(Moment(210, 211), Moment(200, 201), KIND["CronJob"]), NOW).reason is ROLLS


def test_one_newer_content_is_enough_to_roll() -> None:
    other = reference(configmap("other"))
    contents = {
        USED: content({"a": "new"}, Moment(200, 201)),
        other: content({"a": "new"}, Moment(220, 221)),
    }
    record = msgspec.structs.replace(OLD, s={"configmap/app": "old", "configmap/other": "old"})
    seen = snapshot(contents, record, changes={"template": Moment(210, 211)})

    assert decide(seen, NOW).reason is ROLLS


def test_pods_that_were_made_while_a_source_was_away_have_it_no_more() -> None:
    """Unless nobody knows when it went, or no pods were made."""
    maybe = Reference(APP)
    for gone, template_, replaces, kept in (
        (200, Moment(210, 211), True, False),
        (211, Moment(210, 211), True, True),
        (0, Moment(210, 211), True, True),
        (200, Moment(210, 211), False, True),
    ):
        changes = {"template": template_, "replaces_pods": replaces}
        seen = snapshot({maybe: Absence.MISSING}, OLD, changes=changes, gone={APP: gone})
        assert decide(seen, NOW).reason is (Reason.UP_TO_DATE if kept else Reason.RECORDED)


NEW_REFERENCES = {
    "it changed after the template that refers to it": (Moment(210, 211, NOW), ROLLS),
    "it changed before that": (Moment(200, 201, NOW), Reason.RECORDED),
    "it changed before the record": (Moment(210, 211, NOW - timedelta(1)), Reason.RECORDED),
    "nobody knows when it changed": (Moment(210, 211), Reason.RECORDED),
}


@pytest.mark.parametrize(("changed", "reason"), NEW_REFERENCES.values(), ids=NEW_REFERENCES)
def test_what_becomes_of_a_new_reference(changed: Moment, reason: Reason) -> None:
    record = Record(5, NOW + timedelta(milliseconds=700), "Adopted", {})
    held = content({"a": "new"}, changed)

    found = decide(snapshot({USED: held}, record, changes={"template": Moment(205, 206)}), NOW)

    assert found.reason is reason


# With real documents


def running() -> Cluster:
    cluster = Cluster(template(envFrom=env_from(configmap="app")))
    cluster.put(APP, a="1")
    cluster.settle()
    cluster.tick()
    return cluster


@pytest.mark.parametrize("seconds", [0, 1], ids=["in one second", "a second apart"])
def test_an_upgrade_of_content_and_then_image_is_one_rollout(seconds: int) -> None:
    cluster = running()
    cluster.put(APP, a="2")
    cluster.tick(seconds)
    cluster.edit(image="web:2")

    assert [one.reason for one in cluster.settle()] == [COUNTS]
    assert cluster.stale() == set()
    assert len(cluster.sets) == 2


def test_the_reverse_order_ends_with_the_current_content_too() -> None:
    cluster = running()
    cluster.edit(image="web:2")
    cluster.put(APP, a="2")

    assert [one.reason for one in cluster.settle()] == [ROLLS]
    assert cluster.stale() == set()


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [pytest.param(1, COUNTS, id="a second apart"), pytest.param(0, ROLLS, id="in one second")],
)
def test_an_upgrade_while_nobody_watched(seconds: int, reason: Reason) -> None:
    cluster = running()
    cluster.stop()
    cluster.put(APP, a="2")
    cluster.tick(seconds)
    cluster.edit(image="web:2")
    cluster.tick()
    cluster.reconnect()

    assert [one.reason for one in cluster.settle()] == [reason]
    assert cluster.stale() == set()


def test_an_image_that_came_before_the_content_while_the_watch_was_cut_does_not_count() -> None:
    """After a list nobody knows when in between the template changed."""
    cluster = running()
    cluster.cut()
    cluster.edit(image="web:2")
    cluster.tick()
    cluster.put(APP, a="2")
    cluster.tick()
    cluster.write()
    cluster.reconnect()

    assert [one.reason for one in cluster.settle()] == [ROLLS]
    assert cluster.stale() == set()


def test_content_that_changed_while_our_own_patch_was_under_way_is_in_its_pods() -> None:
    cluster = running()
    cluster.put(APP, a="2")
    cluster.cut()
    cluster.put(APP, a="3")
    cluster.tick()
    cluster.step()
    cluster.tick()
    cluster.reconnect()

    assert COUNTS in [one.reason for one in cluster.settle()]
    assert cluster.stale() == set()
    assert len(cluster.rolls) == 1


def deploy_stuck(cluster: Cluster) -> None:
    """A deploy that cannot start pods: those of the template before are still there."""
    cluster.edit(envFrom=env_from(configmap="app") + env_from(configmap="never"))
    cluster.tick()


def undeploy(cluster: Cluster) -> None:
    cluster.tick()
    cluster.edit(envFrom=env_from(configmap="app"))


@pytest.mark.parametrize("looked", [True, False], ids=["after a look", "before anybody looked"])
def test_taking_back_a_deploy_that_got_stuck_does_not_take_new_content_along(looked: bool) -> None:
    cluster = running()
    cluster.put(APP, a="2")
    deploy_stuck(cluster)
    if looked:
        assert [one.reason for one in cluster.settle()] == [COUNTS]
    undeploy(cluster)

    assert [one.reason for one in cluster.settle()] == [ROLLS]
    assert cluster.stale() == set()


def test_taking_it_back_together_with_the_content_rolls_nothing() -> None:
    cluster = running()
    cluster.put(APP, a="2")
    deploy_stuck(cluster)
    cluster.settle()
    cluster.put(APP, a="1")
    undeploy(cluster)
    cluster.settle()

    assert cluster.rolls == []
    assert cluster.stale() == set()


def test_an_image_that_comes_back_after_its_rollout_takes_the_content_along() -> None:
    cluster = running()
    for number, image in enumerate(["web:2", "web:1", "web:2"]):
        cluster.put(APP, a=f"new {number}")
        cluster.edit(image=image)
        assert [one.reason for one in cluster.settle()] == [COUNTS]

    assert cluster.rolls == []
    assert cluster.stale() == set()
