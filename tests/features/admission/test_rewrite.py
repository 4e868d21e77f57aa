"""The grammar of pins, and which fields of a pod they rewrite."""

import base64
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.admission.every_field import ANNOTATION, PINS, paths, pod_spec, put_in

from reroll.core.revisions.pins import PINS as NAME
from reroll.core.revisions.pins import read_pins, rewrites, write_pins
from reroll.core.tables.fields import PINNED_FIELDS, POD_FIELDS
from reroll.features.admission import webhook
from reroll.features.admission.webhook import answer
from reroll.http.server import Asked


def pod(annotation: str = ANNOTATION) -> dict[str, Any]:
    return {"metadata": {"name": "p", "annotations": {NAME: annotation}}, "spec": pod_spec()}


def asked(of: Any) -> dict[str, Any]:
    """What the webhook says to a review of this pod."""
    body = {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "object": of}}
    found: dict[str, Any] = json.loads(answer(json.dumps(body).encode()))
    return found


def patch(of: dict[str, Any]) -> list[dict[str, Any]]:
    """The operations in it."""
    encoded = asked(of)["response"].get("patch")
    return json.loads(base64.b64decode(encoded)) if encoded else []


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
    assert asked(pod("configmap/nobody=x"))["response"] == {"uid": "u", "allowed": True}
    assert asked({"metadata": {"name": "p"}, "spec": pod_spec()})["response"]["allowed"]
    found = asked(pod())
    assert (found["kind"], found["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert found["response"]["patchType"] == "JSONPatch"


def review(pod: bytes) -> bytes:
    return b'{"request": {"uid": "u", "object": %s}}' % pod


HOSTILE = {
    "a list that no pod has": b'{"a": [%s{}]}',
    "containers": b'{"spec": {"containers": [%s{}]}}',
    "volumes": b'{"spec": {"volumes": [%s{}]}}',
}


@pytest.mark.parametrize("form", HOSTILE.values(), ids=HOSTILE)
def test_a_body_of_many_objects_is_turned_away_before_it_is_decoded(form: bytes) -> None:
    room = (webhook.LARGEST - 200) // 3
    body = review(form % (b"{}," * room))
    assert len(body) <= webhook.LARGEST
    tracemalloc.start()
    try:
        with pytest.raises(webhook.TooLargeError, match="objects"):
            answer(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


COSTLY = {
    "as many objects as it takes": b'{"spec": {"volumes": [%s{}]}}' % (b"{}," * 249_000),
    "lists": b'{"spec": {"containers": [%s{}]}}' % (b'{"env":[],"envFrom":[]},' * 130_000),
    "names": b'{"spec": {"volumes": [%s{}]}}' % (b'{"secret":{"secretName":"a"}},' * 100_000),
    "skipped": b'{"a": [%s0], "metadata": {"b": {%s"b": 0}}}' % (b"0," * 10**6, b'"b":0,' * 10**5),
    "annotations": b'{"metadata": {"annotations": {%s"a": ""}}}'
    % b"".join(b'"%d":"",' % i for i in range(250_000)),
}


@pytest.mark.parametrize("pod", COSTLY.values(), ids=COSTLY)
def test_a_body_is_in_memory_at_most_a_few_times_what_it_may_be_in_bytes(pod: bytes) -> None:
    body = review(pod)
    assert len(body) <= webhook.LARGEST
    tracemalloc.start()
    try:
        answer(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * webhook.LARGEST


def test_pins_and_fields_without_measure_are_refused() -> None:
    many = ",".join(f"secret/a{i}=b" for i in range(20_000))
    with pytest.raises(webhook.TooLargeError, match="characters"):
        patch(pod(many))
    volume = {"secret": {"secretName": "a"}}
    one = {"metadata": {"annotations": {NAME: "secret/a=b"}}}
    with pytest.raises(webhook.TooLargeError, match="fields"):
        patch({**one, "spec": {"volumes": [volume] * (webhook.MOST_REWRITES + 1)}})
    found = patch({**one, "spec": {"volumes": [volume] * webhook.MOST_REWRITES}})
    assert len(found) == webhook.MOST_REWRITES


DEEP = b"[" * 100_000 + b"]" * 100_000
NO_REVIEWS = {
    "nothing": b"",
    "no request": b"{}",
    "a number for a uid": b'{"request": {"uid": 1, "object": {}}}',
    "no UTF-8": b"\xff",
    "half a character": b'{"request": {"uid": "\\ud800", "object": {}}}',
    "deep where nobody looks": b'{"request": {"uid": "u", "object": {"a": %s}}}' % DEEP,
    "deep where pins concern it": b'{"request": {"uid": "u", "object": {"spec": %s}}}' % DEEP,
}


@pytest.mark.parametrize("body", NO_REVIEWS.values(), ids=NO_REVIEWS)
def test_what_is_no_review_is_refused(body: bytes) -> None:
    assert webhook._answer(Asked("POST", "/pins", body)).status == 400
