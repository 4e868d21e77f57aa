"""Copies by name, and templates that name them: from plain values."""

import string
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import configmap, content, pod_spec, secret

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.policy.references import uses
from reroll.core.revisions.content_names import COPY_OF, LONGEST_LABEL, LONGEST_NAME
from reroll.core.revisions.copies import (
    copy_marks,
    copy_name,
    copy_names,
    mapped_back,
    renamed,
    renames,
    write_pins_into,
)
from reroll.core.revisions.pins import PINS, read_pins, rewrites, write_pins

APP = configmap("app")
KEYS: dict[str, bytes | None] = {"k1": b"one", "k2": b"two"}
names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=20)
values = st.dictionaries(names, st.text(max_size=20), max_size=4)
pins = st.dictionaries(
    st.tuples(st.sampled_from(["ConfigMap", "Secret"]), names), names.map(lambda n: f"{n}-copy")
)


def name_of(source: Key, held: Content, key_id: str = "") -> str:
    found = copy_name(source, held, key_id)
    assert found is not None
    return found


@given(values, values)
def test_the_same_content_has_the_same_name_and_another_has_another(
    one: dict[str, str], other: dict[str, str]
) -> None:
    same = name_of(APP, content(one)) == name_of(APP, content(other))
    assert same == (one == other)


def test_everything_counts_that_a_copy_is_made_of() -> None:
    held = content({"a": "1"})
    typed = msgspec.structs.replace(held, type="kubernetes.io/tls")
    other = Key("ConfigMap", "elsewhere", "app")
    found = {
        name_of(APP, held),
        name_of(APP, content({})),
        name_of(APP, typed),
        name_of(other, held),
        name_of(configmap("apq"), held)[3:],
        name_of(secret("app"), held),
    }
    assert len(found) == 6


def test_a_secret_is_named_with_the_key_and_known_by_each() -> None:
    held = content({"password": "hunter2"}, hmac=KEYS)
    db = secret("db")
    assert copy_names(db, held) == {name_of(db, held, "k1"), name_of(db, held, "k2")}
    assert len(copy_names(db, held)) == 2
    assert copy_name(db, held, "lost") is None


@given(st.integers(1, LONGEST_NAME), st.sampled_from("a-."))
def test_a_name_fits_whatever_the_source_is_called(length: int, filling: str) -> None:
    plain = ("a" + filling * LONGEST_NAME)[: length - 1] + "z"
    found = name_of(configmap(plain), content({}))
    assert len(found) <= LONGEST_NAME
    assert found[-11] == "-"
    assert found[-12] not in "-."
    twin = configmap(plain[:-1] + "y")
    assert name_of(twin, content({})) != found
    labels, annotations = copy_marks(plain)
    assert len(labels[COPY_OF]) <= LONGEST_LABEL
    assert annotations.get(COPY_OF, labels[COPY_OF]) == plain


@given(pins)
def test_pins_are_read_as_they_were_written(found: dict[tuple[str, str], str]) -> None:
    assert read_pins(write_pins(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", ",", "configmap/app", "app=b", "configmap/=b", "node/a=b", "configmap/A=b", "a" * 9999],
)  # fmt: skip
def test_what_is_no_pin_is_left_out(text: str) -> None:
    assert read_pins(f"configmap/app=app-1,{text}") == {("ConfigMap", "app"): "app-1"}


TEMPLATE: dict[str, Any] = {
    "spec": {
        "containers": [
            {
                "name": "main",
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}}],
                "envFrom": [{"configMapRef": {"name": "app"}}, {"configMapRef": {"name": "rest"}}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }
        ],
        "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "app"}}]}}],
        "imagePullSecrets": [{"name": "db"}],
    }
}
FIRST = {("ConfigMap", "app"): "app-1", ("Secret", "db"): "db-1"}
SECOND = {("ConfigMap", "app"): "app-2"}


def template() -> dict[str, Any]:
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(TEMPLATE))
    return copied


def pinned(found: dict[tuple[str, str], str], old: dict[tuple[str, str], str]) -> Any:
    one = template()
    if old:
        write_pins_into(one, write_pins(old), {}, named=True)
    write_pins_into(one, write_pins(found), old, named=True)
    return one


def test_a_template_that_names_copies_is_read_as_if_it_named_the_sources() -> None:
    plain = tuple(uses(pod_spec(**TEMPLATE["spec"])))
    named = pinned(FIRST, {})
    assert named["metadata"]["annotations"] == {PINS: write_pins(FIRST)}
    assert named["spec"]["imagePullSecrets"] == [{"name": "db"}]
    found = tuple(uses(pod_spec(**named["spec"])))
    assert found != plain
    assert mapped_back(found, FIRST) == (plain, True, False)
    assert mapped_back(plain, FIRST) == (plain, False, True)
    assert mapped_back((*plain[:1], *found[1:]), FIRST) == (plain, True, True)
    assert mapped_back(plain, {}) == (plain, False, False)
    assert mapped_back(found, {}, FIRST) == (plain, True, False)
    assert mapped_back(found, SECOND, FIRST) == (plain, True, False)


def test_names_follow_from_any_pins_to_any_others() -> None:
    assert pinned(SECOND, FIRST)["spec"] == pinned(SECOND, {})["spec"]
    assert pinned({}, FIRST) == {**template(), "metadata": {"annotations": {}}}
    left = renamed(pinned(FIRST, {})["spec"], {}, SECOND, FIRST)
    assert {(one.plain, one.copy) for one in left} == {("app-1", "app-2"), ("db-1", "db")}
    again = pinned(FIRST, SECOND)
    assert again == pinned(FIRST, {})
    assert not [
        one for one in rewrites(again["spec"], renames(FIRST, FIRST)) if one.plain != one.copy
    ]
