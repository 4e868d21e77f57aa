"""What is taken out of a workload's manifest, however odd that is."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import (
    DEPLOYMENT,
    KIND,
    NOW,
    at_path,
    decoded,
    document,
    env_from,
    template,
    workload,
)

from reroll.core.dialects.table import ALL
from reroll.core.model.key import Key
from reroll.core.model.marks import Carrier
from reroll.core.model.metadata import Manifest, Metadata, pick, replicas
from reroll.core.model.record import Record, write
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.observe.workload import workload as read_workload
from reroll.core.tables.annotations import STAMP, STAMP_ENV, STATE
from reroll.core.tables.kinds import KINDS, Kind

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
RECORD = write(Record(n=4, at=NOW, why="Adopted", s={}))


@each_kind
def test_the_template_is_found_at_the_path_of_its_kind(kind: Kind) -> None:
    pods = template(
        {STAMP: "s1", "other": "x"},
        envFrom=[{"configMapRef": {"name": "app"}}],
        env=[{"name": "A"}, {"name": STAMP_ENV, "value": "s2"}],
    )
    annotations = {STATE: RECORD, "reroll.dev/enabled": "true", "kubectl.kubernetes.io/x": "y"}

    found = workload(kind, document(kind, pods, annotations=annotations))

    assert found.key == Key(kind.name, "shop", "web")
    assert (found.uid, found.version, found.generation) == ("uid-1", 100, 1)
    assert [(use.kind, use.name) for use in found.uses] == [("ConfigMap", "app")]
    assert found.marks == {STAMP: "s1", STAMP_ENV: "s2"}
    assert found.containers == (Carrier("web", ("A", STAMP_ENV)),)
    assert found.has_template_metadata
    assert found.has_template_annotations
    assert found.annotations == {STATE: RECORD, "reroll.dev/enabled": "true"}
    assert isinstance(found.record, Record)
    assert (found.record_text, found.last, found.seen) == (RECORD, None, 100)
    assert (found.still, found.ended, found.problems) == (False, False, ())


@each_kind
def test_what_is_not_there_is_told_apart_from_what_is_empty(kind: Kind) -> None:
    bare = document(kind, {"spec": {"containers": [{"name": "web"}]}})
    del bare["metadata"]["annotations"]

    found = workload(kind, bare)

    assert not found.has_annotations
    assert not found.has_template_metadata
    assert not found.has_template_annotations
    assert found.containers == (Carrier("web", None),)
    assert (found.record, found.record_text) == (None, None)


@each_kind
def test_a_change_of_status_keeps_what_the_spec_says_without_reading_it_again(kind: Kind) -> None:
    first = document(kind, template(envFrom=[{"secretRef": {"name": "db"}}]))
    before = workload(kind, first)
    later = first | {"spec": "not even read", "status": {"replicas": 2}}
    later["metadata"] = first["metadata"] | {
        "resourceVersion": "120", "annotations": {STATE: RECORD},
    }  # fmt: skip

    after = workload(kind, later, before)

    assert after == msgspec.structs.replace(
        before,
        version=120,
        annotations={STATE: RECORD},
        record=after.record,
        record_text=RECORD,
    )
    assert after.uses is before.uses


def test_a_document_without_a_generation_is_read_every_time() -> None:
    first = document(DEPLOYMENT)
    del first["metadata"]["generation"]
    later = first | {"spec": {"template": template(envFrom=[{"secretRef": {"name": "db"}}])}}

    assert workload(DEPLOYMENT, later, workload(DEPLOYMENT, first)).uses


def test_the_labels_of_its_pods_are_known() -> None:
    seen = document(DEPLOYMENT)
    seen["spec"]["selector"] = {"matchLabels": {"b": "2", "a": "1"}}

    assert workload(DEPLOYMENT, seen).selector == (("a", "1"), ("b", "2"))
    assert workload(DEPLOYMENT, document(DEPLOYMENT)).selector == ()
    seen["spec"]["selector"] = {"matchExpressions": []}
    assert workload(DEPLOYMENT, seen).selector == ()


@each_kind
def test_a_workload_made_anew_under_the_same_name_has_no_history(kind: Kind) -> None:
    before = workload(kind, document(kind, annotations={STATE: RECORD}))
    again = document(kind, version=200, uid="uid-2")

    assert workload(kind, again, before) == workload(kind, again)


# Ends, owners, borrowed templates

ENDS = {
    "complete": ("Complete", "True", True),
    "failed": ("Failed", "True", True),
    "suspended": ("Suspended", "True", False),
    "no longer failed": ("Failed", "False", False),
}


@pytest.mark.parametrize(("type_", "status", "ended"), ENDS.values(), ids=ENDS)
def test_a_job_has_ended_when_a_condition_says_so(type_: str, status: str, ended: bool) -> None:
    job = document(KIND["Job"])
    conditions = [{"type": "Other", "status": "True"}, {"type": type_, "status": status}]

    assert workload(KIND["Job"], job | {"status": {"conditions": conditions}}).ended is ended


@pytest.mark.parametrize("status", [{"conditions": [{"a": "Failed"}]}, "Failed", ["Complete"]])
def test_a_status_of_another_shape_ends_nothing(status: Any) -> None:
    assert not workload(KIND["Job"], document(KIND["Job"]) | {"status": status}).ended


@each_kind
def test_a_workload_that_is_being_deleted_has_ended(kind: Kind) -> None:
    assert workload(kind, document(kind, deletionTimestamp="2026-03-01T12:00:00Z")).ended


@pytest.mark.parametrize(
    ("kind", "ref", "borrows"),
    [
        ("Rollout", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "web"),
        ("Rollout", {"kind": "ReplicaSet", "name": "web"}, ""),
        ("Rollout", "web", ""),
        ("Deployment", {"kind": "Deployment", "name": "web"}, ""),
    ],
)
def test_a_rollout_may_borrow_the_template_of_a_deployment(
    kind: str, ref: Any, borrows: str
) -> None:
    seen = document(KIND[kind])
    seen["spec"] = {"workloadRef": ref}

    found = workload(KIND[kind], seen)

    assert (found.borrows, found.uses) == (borrows, ())
    # One that cannot borrow lacks it.
    told = ["spec.template of Deployment shop/web is not there"] if kind == "Deployment" else []
    assert [problem.sentence for problem in found.problems] == told


def owner(api_version: str, kind: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "controller": True}


@pytest.mark.parametrize(
    ("owners", "belongs"),
    [
        pytest.param(None, False, id="nobody"),
        pytest.param([owner("batch/v1", "CronJob")], True, id="a CronJob"),
        pytest.param(
            [{"apiVersion": "batch/v1", "kind": "CronJob"}],
            False,
            id="an owner that does not control",
        ),
        pytest.param([owner("kafka.strimzi.io/v1", "Kafka")], False, id="an operator's resource"),
        pytest.param(
            [owner("apps.kruise.io/v1beta1", "StatefulSet")], False, id="a kind of the same name"
        ),
    ],
)
def test_what_another_workload_makes_belongs_to_it(owners: Any, belongs: bool) -> None:
    metadata = msgspec.convert({"name": "a", "ownerReferences": owners}, Metadata)

    assert belongs_to_workload(metadata) is belongs


def test_the_number_of_pods_is_read_where_the_kind_has_it() -> None:
    counted = decoded(document(DEPLOYMENT) | {"spec": {"replicas": 3}})
    on_nodes = decoded(document(KIND["DaemonSet"]) | {"status": {"desiredNumberScheduled": 5}})

    assert replicas(DEPLOYMENT, counted) == 3
    assert replicas(KIND["DaemonSet"], on_nodes) == 5
    assert replicas(KIND["CronJob"], counted) == 0


def test_a_resource_version_that_is_no_number_orders_nothing() -> None:
    assert Metadata("a", resource_version="abc").version == 0
    assert Metadata("a", resource_version="17").version == 17


def test_times_of_metadata_have_a_zone() -> None:
    made = decoded(document(DEPLOYMENT, creationTimestamp="2026-03-01T12:00:00Z"))

    assert made.metadata.creation_timestamp == datetime(2026, 3, 1, 12, tzinfo=UTC)


# Odd documents

BAD_TEMPLATES: dict[str, Any] = {
    "a list": [],
    "a text": "template",
    "containers that are a map": {"spec": {"containers": {}}},
    "a variable without a name": {"spec": {"containers": [{"env": [{}]}]}},
    "a volume without a name": {"spec": {"volumes": [{}]}},
    "annotations that are numbers": {"metadata": {"annotations": {"a": 1}}},
}


@each_kind
@pytest.mark.parametrize("pods", BAD_TEMPLATES.values(), ids=BAD_TEMPLATES)
def test_a_malformed_template_is_a_problem_and_no_exception(kind: Kind, pods: Any) -> None:
    found = workload(kind, document(kind, pods))

    (problem,) = found.problems
    path = ".".join(kind.template)
    assert problem.sentence.startswith(f"{path} of {found.key} is not a pod template: ")
    assert found.uses == ()


FIELDS = [
    "template",
    "jobTemplate",
    "spec",
    "metadata",
    "annotations",
    "containers",
    "env",
    "name",
    "volumes",
    "selector",
    "type",
    "matchLabels",
    "paused",
    "workloadRef",
    "conditions",
    "updateStrategy",
    "configMap",
    "valueFrom",
    "items",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=20,
)


@each_kind
@given(spec=json_values, status=json_values)
def test_any_spec_and_status_can_be_looked_at(kind: Kind, spec: Any, status: Any) -> None:
    odd = document(kind) | {"spec": spec, "status": status}

    found = workload(kind, odd, workload(kind, document(kind, generation=7)))

    assert found.key == Key(kind.name, "shop", "web")


def test_a_document_without_a_spec_is_a_workload_without_uses() -> None:
    found = read_workload(DEPLOYMENT, Manifest(Metadata("web")), None, words=ALL.words)

    assert (found.uses, found.template_hash) == ((), b"")


def test_nesting_without_end_is_no_exception() -> None:
    deep = msgspec.Raw(b'{"template":' + b"[" * 50_000 + b"]" * 50_000 + b"}")
    template_only = msgspec.Raw(b'{"template":' + json.dumps([[]]).encode() + b"}")

    assert (
        read_workload(DEPLOYMENT, Manifest(Metadata("web"), deep), None, words=ALL.words).uses == ()
    )
    assert read_workload(
        DEPLOYMENT, Manifest(Metadata("web"), template_only), None, words=ALL.words
    ).problems


def test_a_part_is_picked_without_what_lies_beside_it() -> None:
    manifest = decoded({"metadata": {"name": "a"}, "spec": {"a": {"b": [1, 2]}, "c": 3}})

    assert bytes(pick(manifest, ("spec", "a", "b")) or b"") == b"[1, 2]"
    for path in ((), ("spec", "x"), ("spec", "c", "d"), ("spec", "a", "b", "e"), ("status", "x")):
        assert pick(manifest, path) is None


def test_at_path_of_these_tests_finds_each_kinds_template() -> None:
    for kind in KINDS:
        assert at_path(document(kind), kind.template) == template()


@each_kind
def test_null_in_a_template_is_absent(kind: Kind) -> None:
    """The API server's own kinds lose it; custom resources keep it."""
    env = [{"name": "EMPTY", "value": None}]
    pods = template(env=env, envFrom=env_from(configmap="app"))
    pods["spec"]["volumes"] = None
    found = workload(kind, document(kind, pods))

    assert found.problems == ()
    assert {use.name for use in found.uses} == {"app"}
