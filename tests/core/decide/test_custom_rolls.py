"""Rolls and health of kinds whose row tells where to write and what to look at."""

from datetime import timedelta
from typing import Any

import pytest
from tests.core.build import (
    HOME,
    NOW,
    Document,
    at_path,
    configmap,
    content,
    edits,
    patched,
    reference,
    workload,
)
from tests.core.build import decoded as manifest_of
from tests.scenarios.custom import EXAMPLE_KINDS, SAMPLES

from reroll.core.decide.actions import Edit, Restart, SetMarks, WriteRecord
from reroll.core.decide.chains import decide
from reroll.core.dialects.rows import PolicyInput
from reroll.core.dialects.table import ALL
from reroll.core.model.marks import Mark, own_mark
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, write
from reroll.core.observe.health import State, health
from reroll.core.observe.snapshot import History, Snapshot
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STAMP, STATE
from reroll.core.tables.custom import tables
from reroll.core.tables.kinds import Kind
from reroll.core.write.patches import patch, writes_template

AT = "2026-03-01T12:00:00.000000Z"
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def kind(**row: Any) -> Kind:
    base = {"group": "example.com", "version": "v1", "kind": "Machine", "resource": "machines"}
    found, problems = tables([{**base, **row}], None)
    assert problems == []
    return found.kinds[-1]


def document(annotations: dict[str, str] | None = None, **fields: Any) -> Document:
    metadata: Document = {"name": "m", "namespace": HOME, "uid": "u", "generation": 3}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {"metadata": metadata, **fields}


IN_SPEC = {"stamp": {"annotations": "spec.pods.metadata.annotations"}}
ITS_OWN = {"stamp": {"annotations": "metadata.annotations", "name": "x.io/roll", "value": "time"}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"pods": None},
        {"pods": {"size": 3}},
        {"pods": {"metadata": {"labels": {}}}},
        {"pods": {"metadata": {"annotations": {"other": "stays"}}}},
    ],
)
def test_a_stamp_is_written_at_the_path_of_the_row_whatever_of_it_is_there(spec: Document) -> None:
    row = kind(**IN_SPEC)
    before = document(None, spec=spec)
    found = workload(row, before)
    record = WriteRecord(Record(1, NOW, "", {}), unless_held=True)

    operations = patch(found, row, [record, SetMarks((Mark("reroll.dev/config-hash", "abc"),))])
    after = patched(before, operations)

    written = after["spec"]["pods"]["metadata"]["annotations"]
    assert written["reroll.dev/config-hash"] == "abc"
    assert STATE in after["metadata"]["annotations"]
    assert writes_template(row, operations)
    old = ((spec.get("pods") or {}).get("metadata") or {}).get("annotations") or {}
    assert old.items() <= written.items()


@pytest.mark.parametrize("annotations", [None, {}, {"other": "stays"}])
@pytest.mark.parametrize("recorded", [True, False])
def test_an_annotation_of_its_own_is_written_with_a_record_and_without(
    annotations: dict[str, str] | None, *, recorded: bool
) -> None:
    row = kind(**ITS_OWN)
    before = document(annotations, spec={})
    record = WriteRecord(Record(1, NOW, "", {}), unless_held=True)
    restart: list[Edit] = [*([record] if recorded else []), Restart(NOW)]

    operations = patch(workload(row, before), row, restart)
    written = patched(before, operations)["metadata"]["annotations"]

    assert written["x.io/roll"] == AT
    assert (STATE in written) is recorded
    assert not writes_template(row, operations)


def test_a_restart_of_a_kind_that_has_its_hash_in_the_spec_is_the_annotation_of_kubectl() -> None:
    row = kind(**IN_SPEC)
    before = document({}, spec={})

    after = patched(before, patch(workload(row, before), row, [Restart(NOW)]))

    assert after["spec"]["pods"]["metadata"]["annotations"] == {RESTARTED_AT: AT}


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ({}, Mark("reroll.dev/config-hash", "abc")),
        ({"name": "x.io/roll"}, Mark("x.io/roll", "abc")),
        ({"name": "x.io/roll", "value": "time"}, Mark("x.io/roll", AT)),
        ({"name": "x.io/roll", "value": "true"}, Mark("x.io/roll", "true")),
    ],
)
def test_a_mark_is_a_hash_a_time_or_a_text(given: Document, mark: Mark) -> None:
    place = kind(stamp={"annotations": "metadata.annotations", **given}).stamp
    assert place is not None

    assert own_mark(place, "abc", NOW) == mark


def test_pods_are_those_with_a_label_or_of_a_selector_in_the_spec() -> None:
    of = document(
        {}, spec={"labels": {"b": "2", "a": "1"}, "selector": {"matchLabels": {"c": "3"}}}
    )

    by_label = workload(kind(pods={"label": "x.io/name"}), of)
    by_path = workload(kind(pods={"selector": "spec.labels"}), of)
    usual = workload(kind(template="spec.template"), of)

    assert by_label.selector == (("x.io/name", "m"),)
    assert by_path.selector == (("a", "1"), ("b", "2"))
    assert usual.selector == (("c", "3"),)


def test_a_template_that_is_not_there_is_a_problem() -> None:
    (problem,) = workload(kind(template="spec.pod"), document({}, spec={})).problems

    assert problem.sentence == "spec.pod of Machine.example.com shop/m is not there"


def test_names_beside_a_template_count_too() -> None:
    pod = {"containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "db"}}]}]}
    row = kind(
        template="spec.pod",
        references=[
            {"source": "configmap", "path": "spec.files[*]"},
            {"source": "secret", "path": "status.login"},
        ],
    )
    of = document({}, spec={"pod": {"spec": pod}, "files": ["a"]}, status={"login": "b"})

    assert [use.name for use in workload(row, of).uses] == ["db", "a", "b"]


def test_a_condition_that_ends_a_job_ends_no_other_kind() -> None:
    status = {"conditions": [{"type": "Failed", "status": "True"}]}

    assert not workload(kind(), document({}, spec={}, status=status)).ended


READY = {"condition": {"type": "Ready"}}
SEEN = {"observedGeneration": 3}


def ready(status: str = "True", **more: Any) -> Document:
    return {
        "conditions": [
            {"type": "Other", "status": "False"},
            {"type": "Ready", "status": status, **more},
        ]
    }


@pytest.mark.parametrize(
    ("row", "status", "state", "told"),
    [
        pytest.param({}, {}, State.DONE, "", id="nothing to look at"),
        pytest.param(
            {"observedGeneration": True}, {}, State.GOES_ON, "not been noticed", id="unobserved"
        ),
        pytest.param({"observedGeneration": True}, SEEN, State.DONE, "", id="observed"),
        pytest.param(READY, {}, State.GOES_ON, "has no condition Ready yet", id="no condition"),
        pytest.param(READY, ready(), State.DONE, "", id="a condition"),
        pytest.param(
            READY, ready("False", reason="Busy", message="two to go"), State.GOES_ON,
            "Ready is False (Busy: two to go)", id="a condition that says no",
        ),
        pytest.param(
            READY, ready(observedGeneration=2), State.GOES_ON, "not been noticed",
            id="a condition of an earlier generation",
        ),
        pytest.param(READY, ready(observedGeneration=3), State.DONE, "", id="of this generation"),
        pytest.param(
            {**READY, "observedGeneration": True}, {**ready(), "observedGeneration": 2},
            State.GOES_ON, "not been noticed", id="a status of an earlier generation",
        ),
        pytest.param(
            {**READY, "observedGeneration": True}, {**ready(), **SEEN}, State.DONE, "",
            id="a status of this generation",
        ),
        pytest.param(
            {"condition": {"type": "Ready", "status": "Yes"}}, ready(), State.GOES_ON,
            "Ready is True", id="another word",
        ),
    ],
)  # fmt: skip
def test_health_is_what_a_condition_says(
    row: Document, status: Document, state: State, told: str
) -> None:
    manifest = manifest_of(document({}, spec={}, status=status))

    found = health(kind(health=row), manifest)

    assert found.state is state
    assert told in found.message


def test_health_counts_pods_and_asks_for_the_condition_after_that() -> None:
    counts = {"current": "status.all", "updated": "status.new", "available": "status.ok"}
    row = kind(health={**counts, "replicas": "spec.size", **READY})

    def of(**status: Any) -> str:
        body = document({}, spec={"size": 2}, status={**ready("False"), **status})
        manifest = manifest_of(body)
        return health(row, manifest).message

    assert of(all=2, new=1, ok=2) == "1 of 2 pods are new"
    assert of(all=2, new=2, ok=1) == "1 of 2 pods are ready"
    assert of(all=2, new=2, ok=2) == "Ready is False"


OPTED_IN = {
    "reroll": {"reroll.dev/enabled": "true"},
    "reloader": {"reloader.stakater.com/auto": "true"},
    "wave": {"wave.pusher.com/update-on-config-change": "true"},
    "all": {"reloader.stakater.com/auto": "true", "reroll.dev/enabled": "true"},
}


@pytest.mark.parametrize("row", EXAMPLE_KINDS, ids=lambda row: row.name)
@pytest.mark.parametrize("annotations", OPTED_IN.values(), ids=OPTED_IN.keys())
def test_whoever_opted_a_custom_kind_in_its_roll_is_one_patch_that_holds(
    row: Kind, annotations: dict[str, str]
) -> None:
    entry, key = "configmap/app", configmap("app")
    record = Record(7, NOW - timedelta(hours=1), "x", {entry: "old"})
    notes = {**annotations, STATE: write(record)}
    before = document(notes, spec=dict(SAMPLES[row.name].spec))
    found = workload(row, before)
    told = PolicyInput(found.key, row, notes, {}, {}, Policy(debounce=timedelta()))
    policy = ALL.policy(told)
    used = reference(key, terms=tuple(claim.term for claim in policy.claims))
    hashes = (("reloader", "f" * 40), ("wave", "f" * 64))
    held = content({"level": "new"}, Moment(200, 201), hashes=hashes)

    seen = Snapshot(found, row, policy, (used,), {key: held}, history=History())
    decided = decide(seen, NOW)
    operations = patch(found, row, edits(decided))
    after = patched(before, operations)

    assert policy.problems == ()
    assert decided.strategy in row.strategies
    if row.stamp:
        written = at_path(after, row.stamp.path).keys() - notes.keys()
        assert written == {row.stamp.name or STAMP}
    elif not ALL.of_values(policy.by, decided.strategy):
        assert writes_template(row, operations)
