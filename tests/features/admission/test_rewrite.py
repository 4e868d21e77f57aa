"""The grammar of pins, and which fields of a pod they rewrite."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.admission.every_field import ANNOTATION, PINS, paths, pod_spec, put_in

from reroll.core.revisions.pins import PINS as NAME
from reroll.core.revisions.pins import read_pins, rewrites, write_pins
from reroll.core.tables.fields import PINNED_FIELDS, POD_FIELDS
from reroll.features.admission.webhook import answer, patch


def pod(annotation: str = ANNOTATION) -> dict[str, Any]:
    return {"metadata": {"name": "p", "annotations": {NAME: annotation}}, "spec": pod_spec()}


def patched(value: Any, operations: list[dict[str, Any]]) -> Any:
    """What a JSON Patch of replacements makes of a document."""
    whole = json.loads(json.dumps(value))
    for operation in operations:
        assert operation["op"] == "replace"
        *steps, last = operation["path"].split("/")[1:]
        here = whole
        for step in steps:
            here = here[int(step)] if isinstance(here, list) else here[step]
        assert last in here
        here[last] = operation["value"]
    return whole


def test_the_pod_of_these_tests_has_every_field_that_a_pin_rewrites() -> None:
    assert {field.path for field in PINNED_FIELDS} <= paths(pod_spec())


def test_every_field_is_rewritten_and_nothing_else() -> None:
    assert patched(pod(), patch(pod()))["spec"] == put_in(pod_spec())
    assert {found.copy for found in rewrites(pod_spec(), PINS)} == set(PINS.values())


def test_fields_of_a_pod_that_a_pin_leaves_alone_are_those_that_change_no_running_container() -> (
    None
):
    left = {field.path for field in POD_FIELDS} - {field.path for field in PINNED_FIELDS}
    assert ("imagePullSecrets", "*", "name") in left
    first = {path[0] for path in left if path[0] != "volumes"}
    assert first == {"ephemeralContainers", "imagePullSecrets"}
    assert all(
        path[2] not in {"configMap", "secret", "projected"} for path in left if path[0] == "volumes"
    )


def test_what_was_rewritten_is_not_rewritten_again() -> None:
    once = patched(pod(), patch(pod()))
    assert patch(once) == []


APP, DB = ("ConfigMap", "app"), ("Secret", "db")
TEXTS = {
    "nothing": ("", {}),
    "one": ("configmap/app=app-1", {APP: "app-1"}),
    "spaces": (" secret/db = x, secret/db=y ", {DB: "y"}),
    "the first of two": ("secret/db=x,secret/db=y", {DB: "x"}),
    "another kind": ("job/db=x,serviceaccount/a=b", {}),
    "no copy": ("configmap/app=,configmap/app,=x,configmap/=x", {}),
    "no name of Kubernetes": ("configmap/App=x,configmap/app=X,secret/a=b/c,secret/a=b=c", {}),
    "line breaks": ("configmap/app=app-1\n,\tsecret/db=b", {APP: "app-1", DB: "b"}),
}


@pytest.mark.parametrize(("text", "pins"), TEXTS.values(), ids=TEXTS)
def test_what_is_no_pin_is_left_out(text: str, pins: dict[tuple[str, str], str]) -> None:
    assert read_pins(text) == pins


word = st.text("az09", min_size=1, max_size=3)
names = st.builds("{}{}{}".format, word, st.sampled_from(["", "-", ".", "-."]), word)
some_pins = st.dictionaries(st.tuples(st.sampled_from(["ConfigMap", "Secret"]), names), names)


@settings(max_examples=50)
@given(some_pins)
def test_pins_that_are_written_are_read_the_same(pins: dict[tuple[str, str], str]) -> None:
    assert read_pins(write_pins(pins)) == pins
    assert write_pins(dict(reversed(pins.items()))) == write_pins(pins)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "app", "db"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["containers", "env", "valueFrom", "configMapKeyRef", "name", "volumes", "configMap", "x"]
    ), inner),
)  # fmt: skip


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(["containers", "volumes", "initContainers"]), json_values))
def test_whatever_a_spec_looks_like_it_is_walked_without_an_error(spec: dict[str, Any]) -> None:
    list(rewrites(spec, PINS))


def test_the_webhook_answers_with_a_patch_only_where_one_is_needed() -> None:
    def asked(of: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "object": of}}
        return json.loads(answer(json.dumps(body).encode()))

    assert asked(pod("configmap/nobody=x"))["response"] == {"uid": "u", "allowed": True}
    assert asked({"metadata": {"name": "p"}, "spec": pod_spec()})["response"]["allowed"]
    found = asked(pod())
    assert (found["kind"], found["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert found["response"]["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(found["response"]["patch"])) == patch(pod())


@pytest.mark.parametrize("body", [b"", b"{}", b'{"request": {"uid": 1, "object": {}}}', b"\xff"])
def test_what_is_no_review_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        answer(body)
