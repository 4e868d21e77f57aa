"""What follows from Injections: claims, loops, tries and conditions, as plain values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from reroll.core.model.injection import Injection, Manifest, Status, Written, read
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.features.injection.decide import (
    CONDITIONS,
    TRIES,
    Consent,
    FieldState,
    Hop,
    Unwatched,
    Verdict,
    attempt,
    describe,
    first_claim,
    holds,
    is_ready,
    loop,
    status_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def an(name: str = "one", *, age: int = 0, path: str = ".spec.token", **spec: Any) -> Injection:
    to = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "path": path}
    made = {
        "from": [{"name": "s", "key": "k"}],
        **spec,
        "to": {**to, **spec.pop("to", {})},
    }
    created = (NOW - timedelta(seconds=age)).isoformat()
    meta = {"name": name, "namespace": "shop", "uid": name, "generation": 1}
    manifest = {"metadata": {**meta, "creationTimestamp": created}, "spec": made}
    return read(msgspec.convert(manifest, Manifest))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"path": ".metadata.labels.x"},
            "spec.to.path: a value cannot be written to metadata, status,",
        ),
        ({"path": ".spec"}, "spec.to.path: .spec is a whole section; name a field in it"),
        ({"path": ".spec["}, "spec.to.path: at character 6 of the path: "),
        ({"from": [{"name": "a", "key": "k"}] * 2}, "spec.from: several keys need spec.template"),
        (
            {"from": [{"name": "a", "key": "k"}, {"name": "b", "key": "k"}], "template": "x"},
            "spec.from: two keys are called k in the template; name them with `variable`",
        ),
        (
            {"to": {"apiVersion": "apps/v1", "kind": "Deployment"}},
            "spec.to: a Deployment cannot be a target, because Reroll itself writes to it",
        ),
        (
            {"to": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}},
            "spec.to: a Lease cannot be a target, because Reroll itself writes to it",
        ),
        (
            {"to": {"apiVersion": "v1", "kind": "Secret"}, "path": ".stringData.x"},
            "spec.to.path: the API server never returns stringData",
        ),
    ],
)
def test_a_spec_that_cannot_be_used_is_told(spec: dict[str, Any], problem: str) -> None:
    assert an(**spec).problem.startswith(problem)


def test_a_kind_of_the_same_name_in_another_group_can_be_written_to() -> None:
    assert not an(to={"apiVersion": "example.com/v1", "kind": "Deployment"}).problem


def test_the_field_manager_names_the_injection_and_fits() -> None:
    assert an("one").manager == "reroll-injection/shop/one"
    long = [an("x" * 200 + end).manager for end in ("a", "b")]
    assert all(len(name) == 128 for name in long)
    assert long[0] != long[1]


def test_the_first_by_age_and_then_by_name_has_a_field() -> None:
    old, young, twin = an("z", age=9), an("y"), an("a")

    assert first_claim(young, [old, twin]) == old
    assert first_claim(young, [twin]) == twin
    assert first_claim(twin, [young]) is None
    assert first_claim(old, [young, twin]) is None


def test_who_writes_nothing_is_in_nobodys_way() -> None:
    dry = an("dry", age=9, dryRun=True)
    wrong = an("wrong", age=9, path=".metadata.x")
    elsewhere = an("elsewhere", age=9, path=".spec.other")

    assert first_claim(an(), [dry, wrong, elsewhere]) is None


def carrying(source: Key, target: Key, namespace: str = "shop") -> Injection:
    """An Injection from one ConfigMap to another."""
    of = {"kind": "ConfigMap", "namespace": source.namespace, "name": source.name, "key": "k"}
    to = {"apiVersion": "v1", "kind": "ConfigMap", "name": target.name}
    one = an(f"{source.name}-{target.name}", **{"from": [of]}, to=to)
    return msgspec.structs.replace(one, key=Key("Injection", namespace, one.key.name))


def writers(*injections: Injection, of: dict[str, str] | None = None) -> Any:
    places = of or {}

    def find(source: Key) -> list[Injection]:
        return [
            one
            for one in injections
            if (one.spec.to.name, places.get(one.key.name, "shop"))
            == (source.name, source.namespace)
        ]

    return find


def test_a_way_back_is_found_however_long_it_is() -> None:
    a, b, c = (Key("ConfigMap", "shop", name) for name in "abc")
    to_c, to_a, to_b = carrying(b, c), carrying(c, a), carrying(c, b)

    way = loop(b, [a], writers(to_c, to_a))
    assert way == [Hop(b, c, to_c.key), Hop(c, a, to_a.key)]
    assert loop(b, [b], writers()) == []
    assert loop(b, [a], writers(to_c, to_b)) is None


def test_a_way_leads_only_by_what_its_objects_consent_to() -> None:
    x, s = Key("ConfigMap", "shop", "x"), Key("ConfigMap", "shop", "s")
    evil = carrying(x, s, namespace="other")
    hop = Hop(x, s, evil.key)

    assert loop(x, [s], writers(evil)) == [hop]
    assert hop.consents == (
        Consent(s, "other", "reroll.dev/injection-writers"),
        Consent(x, "other", "reroll.dev/injection-readers"),
    )
    for consent in hop.consents:
        assert loop(x, [s], writers(evil), {consent}) is None


PLACE = Written("example.com/v1", "Gadget", "g", ".spec.token", "shop", "1")
WRITTEN = Status(observed_generation=1, target=PLACE, digest="d")
THERE = FieldState(in_place=True, owned=True)
THEIRS = FieldState(in_place=False, owned=False)


def test_what_is_there_is_not_written_again() -> None:
    assert not attempt(WRITTEN, PLACE, "d", 1, THERE).write
    assert not attempt(Status(), PLACE, "d", 1, THERE).write


def test_what_is_taken_back_is_tried_a_few_times_and_then_left() -> None:
    status, tries = WRITTEN, 0
    while (now := attempt(status, PLACE, "d", 1, THEIRS)).write:
        status = msgspec.structs.replace(status, taken_back=now.taken_back)
        tries += 1
    assert tries == TRIES
    left = msgspec.structs.replace(status, taken_back=now.taken_back)
    assert not attempt(left, PLACE, "d", 1, THEIRS).write

    again = msgspec.structs.replace(PLACE, uid="2")
    for place, digest, generation in ((PLACE, "e", 1), (PLACE, "d", 2), (again, "d", 1)):
        assert attempt(left, place, digest, generation, THEIRS) == (True, 0)


def test_a_value_that_is_there_by_chance_is_made_our_own_and_counts_for_nothing() -> None:
    assert attempt(WRITTEN, PLACE, "d", 1, FieldState(in_place=True, owned=False)) == (True, 0)


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ("a", "a", True),
        ({"a": 1, "default": 2}, {"a": 1}, True),
        ({"b": 1}, {"a": 1}, False),
        ([{"a": 1, "x": 2}], [{"a": 1}], True),
        ([1, 2], [1], False),
        (1, True, False),
        (1.0, 1, True),
        ("1", 1, False),
        (None, {}, False),
    ],
)
def test_what_the_api_server_fills_in_does_not_matter(
    found: Any, wanted: Any, expected: bool
) -> None:
    assert holds(found, wanted) is expected


def test_each_reason_is_told_by_its_condition_and_changes_of_status_by_a_time() -> None:
    one = an()
    first = status_of(one, Verdict(Reason.SOURCE_MISSING, "gone"), None, NOW)
    states = {c.type: (c.status, c.reason) for c in first.conditions}
    assert states == {
        "Ready": ("False", "SourceMissing"),
        "Conflict": ("False", "NoConflict"),
        "SourceMissing": ("True", "SourceMissing"),
        "Forbidden": ("False", "Allowed"),
    }
    one = msgspec.structs.replace(one, status=first)
    later = status_of(one, Verdict(Reason.CLAIMED, "other"), None, NOW + timedelta(seconds=5))
    times = {c.type: c.last_transition_time[-3:] for c in later.conditions}
    assert times == {"Ready": "00Z", "Conflict": "05Z", "SourceMissing": "05Z", "Forbidden": "00Z"}


def test_an_injection_can_hold_though_changes_of_its_target_go_unseen() -> None:
    status = status_of(
        an(), Verdict(Reason.INJECTED, "there"), Unwatched(Reason.FORBIDDEN, "blind"), NOW
    )

    assert is_ready(status)
    assert [c.message for c in status.conditions if c.type == "Forbidden"] == ["blind"]
    assert set(CONDITIONS) == {c.type for c in status.conditions}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "a string"),
        ("secret", "a string"),
        (True, "a boolean"),
        (7, "a number"),
        ([1], "a list"),
        ({"a": 1, "b": 2}, "an object"),
    ],
)
def test_a_value_is_described_and_not_shown(value: Any, text: str) -> None:
    assert describe(value) == text
