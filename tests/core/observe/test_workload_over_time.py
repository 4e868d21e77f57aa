"""What only the order of a workload's versions tells: when its pods changed, and its records."""

import copy
from typing import Any

import pytest
from tests.core.build import DEPLOYMENT, KIND, NOW, Document, decoded, document, template, workload

from reroll.core.dialects.table import ALL
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Unreadable, write
from reroll.core.observe.workload import Workload, recalled
from reroll.core.observe.workload import workload as read_workload
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import KINDS, Kind

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
RECORD = write(Record(n=4, at=NOW, why="Adopted", s={"configmap/app": "d1"}))


def next_version(before: Document, version: int, **spec: Any) -> Document:
    """The document after somebody changed its spec."""
    after = copy.deepcopy(before)
    after["metadata"]["resourceVersion"] = str(version)
    after["metadata"]["generation"] += 1
    after["spec"] |= spec
    return after


def set_at(document: Document, path: tuple[str, ...], value: Any) -> Document:
    here = document
    for step in path[:-1]:
        here = here.setdefault(step, {})
    here[path[-1]] = value
    return document


# When the pods' template took effect


def test_a_template_found_in_a_list_is_as_old_as_that_version_at_least() -> None:
    assert workload(DEPLOYMENT, document(DEPLOYMENT)).template == Moment(after=0, by=100)


@each_kind
def test_a_watched_change_of_the_template_is_known_to_the_version(kind: Kind) -> None:
    first = document(kind)
    after = set_at(next_version(first, 130), kind.template, template(image="web:2"))

    assert workload(kind, after, workload(kind, first)).template == Moment(after=129, by=130)


@each_kind
def test_empty_fields_that_a_controller_adds_or_takes_are_no_change_of_the_template(
    kind: Kind,
) -> None:
    said = template(image="web:1")
    first = set_at(document(kind), kind.template, said)
    tidied = copy.deepcopy(said)
    tidied["metadata"]["annotations"] = {}
    tidied["spec"]["containers"][0] |= {"resources": {}, "env": [], "lifecycle": None}
    after = set_at(next_version(first, 130), kind.template, tidied)

    before = workload(kind, first)
    # The API server's own kinds come in one form: there, a difference is one.
    changed = workload(kind, after, before).template != before.template
    assert changed is not kind.loose


@each_kind
def test_a_change_that_was_only_found_lies_somewhere_since_the_last_look(kind: Kind) -> None:
    first = document(kind)
    after = set_at(next_version(first, 130), kind.template, template(image="web:2"))

    found = read_workload(
        kind, decoded(after), workload(kind, first), words=ALL.words, watched=False
    )

    assert found.template == Moment(after=100, by=130)


@each_kind
def test_a_change_beside_the_template_is_none_of_it(kind: Kind) -> None:
    first = document(kind)
    after = next_version(first, 130, replicas=3)

    assert workload(kind, after, workload(kind, first)).template == Moment(by=100)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.still], ids=lambda kind: kind.name)
def test_a_template_changed_during_a_pause_takes_effect_at_its_end(kind: Kind) -> None:
    first = document(kind)
    paused = set_at(next_version(first, 110), kind.still, True)
    changed = set_at(next_version(paused, 120), kind.template, template(image="web:2"))
    resumed = set_at(next_version(changed, 130), kind.still, False)
    seen = workload(kind, first)
    assert workload(kind, paused).still
    moments = []
    for step in (paused, changed, resumed):
        seen = workload(kind, step, seen)
        moments.append((seen.still, seen.template))

    assert moments == [
        (True, Moment(by=100)),
        (True, Moment(by=100)),
        (False, Moment(after=129, by=130)),
    ]


@pytest.mark.parametrize("kind", [k for k in KINDS if k.still], ids=lambda kind: kind.name)
def test_a_template_changed_and_changed_back_during_a_pause_never_took_effect(kind: Kind) -> None:
    first = document(kind)
    paused = set_at(next_version(first, 110), kind.still, True)
    changed = set_at(next_version(paused, 120), kind.template, template(image="web:2"))
    back = set_at(next_version(changed, 125), kind.template, template())
    seen = workload(kind, first)
    for step in (paused, changed, back, set_at(next_version(back, 130), kind.still, False)):
        seen = workload(kind, step, seen)

    assert seen.template == Moment(by=100)


@pytest.mark.parametrize(
    ("kind", "update", "replaces"),
    [
        ("Deployment", None, True),
        ("StatefulSet", "RollingUpdate", True),
        ("StatefulSet", "OnDelete", False),
        ("DaemonSet", "RollingUpdate", True),
        ("DaemonSet", "OnDelete", False),
        ("Rollout", None, True),
        ("CronJob", None, False),
    ],
)
def test_whether_a_changed_template_replaces_pods(
    kind: str, update: str | None, replaces: bool
) -> None:
    seen = document(KIND[kind])
    if update:
        seen["spec"]["updateStrategy"] = {"type": update}

    assert workload(KIND[kind], seen).replaces_pods is replaces


# Templates that come back

DONE = {"observedGeneration": 9, "replicas": 1, "updatedReplicas": 1}


def through(*images: str, status: Document | None = None, annotations: Any = None) -> Workload:
    """A recorded Deployment that somebody gave these images, one after the other."""
    step = document(DEPLOYMENT, template(image=images[0]), annotations={STATE: RECORD})
    seen = workload(DEPLOYMENT, step)
    for number, image in enumerate(images[1:], start=1):
        step = set_at(
            next_version(step, 100 + 10 * number), DEPLOYMENT.template, template(image=image)
        )
        step["metadata"]["annotations"] = annotations or step["metadata"]["annotations"]
        seen = workload(DEPLOYMENT, step, seen)
        if status and number < len(images) - 1:
            seen = workload(DEPLOYMENT, step | {"status": status}, seen)
    return seen


def test_a_template_that_comes_back_before_its_pods_were_replaced_is_known() -> None:
    found = through("a", "b", "a")

    assert found.back is not None
    assert (found.back.since, found.back.had) == (Moment(by=100), {"configmap/app": "d1"})
    assert found.template == Moment(119, 120)


def test_a_template_that_comes_back_after_a_finished_rollout_is_as_good_as_new() -> None:
    assert through("a", "b", "a", status=DONE).back is None
    assert through("a", "b", "a", status=DONE | {"updatedReplicas": 0}).back is not None


def test_a_new_template_is_no_way_back() -> None:
    found = through("a", "b", "c")

    assert found.back is None
    assert len(found.earlier) == 2


def test_not_every_template_of_a_rollout_that_never_ends_is_remembered() -> None:
    assert len(through(*map(str, range(20))).earlier) == 5


def test_the_oldest_pods_count_when_it_went_back_and_forth() -> None:
    found = through("a", "b", "a", "b", "a")

    assert found.back is not None
    assert found.back.since == Moment(by=100)


NEWER = write(Record(n=5, at=NOW, why="ConfigChanged", s={"configmap/app": "d2"}))


def rolled_and_back(record: str | None, status: Document | None = None) -> Workload:
    """A roll of ours, and somebody who writes the template before it, with this record."""
    step = document(DEPLOYMENT, template(image="a"), annotations={STATE: RECORD})
    seen = workload(DEPLOYMENT, step)
    for version, image, text in ((110, "b", NEWER), (120, "a", record)):
        step = set_at(next_version(step, version), DEPLOYMENT.template, template(image=image))
        step["metadata"]["annotations"] = {} if text is None else {STATE: text}
        seen = workload(DEPLOYMENT, step, seen)
        if status and image == "b":
            seen = workload(DEPLOYMENT, step | {"status": status}, seen)
    return seen


@pytest.mark.parametrize("record", [NEWER, RECORD], ids=["a removed stamp", "an undo"])
def test_what_we_rolled_ourselves_is_no_template_to_come_back_to(record: str) -> None:
    """The record decides: neither makes it roll again."""
    assert rolled_and_back(record).back is None


@pytest.mark.parametrize("record", [None, "garbage"], ids=["removed", "spoilt"])
def test_who_replaces_it_in_the_middle_of_our_rollout_keeps_pods_that_it_was_to_replace(
    record: str | None,
) -> None:
    found = rolled_and_back(record)

    assert found.back is not None
    assert (found.back.since, found.back.had) == (Moment(by=100), {"configmap/app": "d1"})
    assert rolled_and_back(record, DONE).back is None


@pytest.mark.parametrize("generation", [3, 4], ids=["metadata only", "with the spec"])
def test_a_way_back_is_settled_when_a_record_was_written_after_it(generation: int) -> None:
    back = through("a", "b", "a")
    newer = write(Record(n=5, at=NOW, why="ConfigChanged", s={}))
    later = document(
        DEPLOYMENT, template(image="a"), generation=generation, annotations={STATE: newer}
    )

    assert back.back is not None
    assert workload(DEPLOYMENT, later, back).back is None


def test_a_template_that_replaces_no_pods_leaves_none_behind() -> None:
    cron = KIND["CronJob"]
    first = document(cron, annotations={STATE: RECORD})
    second = set_at(next_version(first, 110), cron.template, template(image="web:2"))

    assert workload(cron, second, workload(cron, first)).earlier == ()


# Records over time


OLD = RECORD.replace('"n":4', '"n":2')


@each_kind
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "found"])
@pytest.mark.parametrize("left", [None, "garbage", OLD], ids=["removed", "spoilt", "set back"])
def test_a_record_that_another_writer_took_stays_known(
    kind: Kind, left: str | None, watched: bool
) -> None:
    first = document(kind, annotations={STATE: RECORD})
    seen = workload(kind, first)
    record = seen.record
    for version in (140, 150):
        later = document(kind, version=version, annotations={} if left is None else {STATE: left})
        seen = read_workload(kind, decoded(later), seen, words=ALL.words, watched=watched)

        assert (seen.last, seen.record_text, seen.reverted) == (record, left, False)
        assert seen.blind_after == (None if watched else 100)

    back = read_workload(kind, decoded(first), seen, words=ALL.words, watched=watched)
    assert (back.record, back.last, back.blind_after) == (record, None, None)


@each_kind
def test_only_a_record_set_back_with_another_template_looks_like_an_undo(kind: Kind) -> None:
    first = set_at(document(kind, annotations={STATE: RECORD}), kind.template, template())
    after = {STATE: OLD}
    for changes, annotations, reverted in (
        (template(image="web:0"), after, True),
        (template(image="web:0"), {}, False),
        (template(), after, False),
    ):
        later = set_at(next_version(first, 120), kind.template, changes)
        later["metadata"]["annotations"] = annotations
        found = workload(kind, later, workload(kind, first))
        assert found.reverted is reverted
        status = copy.deepcopy(later)
        status["metadata"]["resourceVersion"] = "130"
        assert workload(kind, status, found).reverted is reverted


def test_a_workload_of_another_uid_has_no_record_to_come_back() -> None:
    first = document(DEPLOYMENT, annotations={STATE: RECORD})
    other = document(DEPLOYMENT, version=120, uid="uid-2", annotations={})

    assert workload(DEPLOYMENT, other, workload(DEPLOYMENT, first)).last is None


@pytest.mark.parametrize(
    ("there", "remembered", "last"),
    [(None, 4, 4), (4, 4, None), (4, 3, None), (4, 5, 5)],
    ids=["gone", "the same", "newer than it", "older than it"],
)
def test_a_record_is_recalled_only_if_it_is_later_than_what_is_known(
    there: int | None, remembered: int, last: int | None
) -> None:
    def numbered(number: int) -> Record:
        return Record(n=number, at=NOW, why="Adopted", s={})

    annotations = {} if there is None else {STATE: write(numbered(there))}
    seen = workload(DEPLOYMENT, document(DEPLOYMENT, annotations=annotations))

    found = recalled(seen, numbered(remembered), 90)

    assert found.last == (None if last is None else numbered(last))
    assert found.blind_after == (None if last is None else 90)


@pytest.mark.parametrize("generation", [1, 2], ids=["metadata only", "with the spec"])
@pytest.mark.parametrize("left", [None, "garbage"], ids=["removed", "spoilt"])
def test_a_workload_that_lost_its_record_counts_as_first_seen_then(
    left: str | None, generation: int
) -> None:
    seen = workload(DEPLOYMENT, document(DEPLOYMENT, annotations={STATE: RECORD}))
    annotations = {} if left is None else {STATE: left}
    for version in (140, 150):
        later = document(
            DEPLOYMENT, version=version, generation=generation, annotations=annotations
        )
        seen = workload(DEPLOYMENT, later, seen)

    assert isinstance(seen.record, Unreadable | None)
    assert seen.seen == 140
