"""Values: what a reference is called, when it is missing, and which of two moments is later."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import HOME, NOW, configmap, content, reference, secret

from reroll.core.model.content import Content
from reroll.core.model.moment import Moment
from reroll.core.model.reference import Reference

A, B = frozenset("a"), frozenset("b")
ENTRIES = {
    "all of a source": (reference(configmap("app")), "configmap/app"),
    "a Secret": (reference(secret("db")), "secret/db"),
    "some keys, in order": (reference(secret("db"), "b", "a"), "secret/db#a,b"),
    "another namespace": (reference(secret("db", "vault"), "a"), "secret/vault/db#a"),
    "all but some keys": (Reference(configmap("app"), without=A), "configmap/app#!a"),
    "some keys less one of them": (
        Reference(configmap("app"), keys=A | B, without=A), "configmap/app#b",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ref", "entry"), ENTRIES.values(), ids=ENTRIES)
def test_the_entry_of_a_reference_names_source_and_keys(ref: Reference, entry: str) -> None:
    assert ref.entry(HOME) == entry


def test_a_key_is_shown_as_people_name_objects() -> None:
    assert str(configmap("app")) == "ConfigMap shop/app"


@pytest.mark.parametrize(
    ("keys", "without", "only_presence"),
    [
        pytest.param(None, frozenset(), False, id="all keys"),
        pytest.param(A, frozenset(), False, id="one key"),
        pytest.param(frozenset(), frozenset(), True, id="no key"),
        pytest.param(A, A, True, id="one key that is ignored"),
        pytest.param(None, A, False, id="all keys but one"),
    ],
)
def test_when_only_presence_matters(
    keys: frozenset[str] | None, without: frozenset[str], only_presence: bool
) -> None:
    ref = Reference(configmap("app"), keys=keys, without=without)

    assert ref.only_presence_matters is only_presence


@pytest.mark.parametrize(
    ("ref", "held", "missing"),
    [
        pytest.param(Reference(configmap("a")), None, False, id="optional and not there"),
        pytest.param(reference(configmap("a")), None, True, id="required and not there"),
        pytest.param(reference(configmap("a")), {}, False, id="required and empty"),
        pytest.param(
            reference(configmap("a"), required_keys=A), {"b": ""}, True, id="a key is not there"
        ),
        pytest.param(
            reference(configmap("a"), required_keys=A), {"a": ""}, False, id="the key is empty"
        ),
    ],
)
def test_when_pods_cannot_start(ref: Reference, held: dict[str, str] | None, missing: bool) -> None:
    assert ref.missing_from(None if held is None else content(held)) is missing


def test_the_keys_of_a_content_are_those_of_any_of_its_digests() -> None:
    assert content({"a": "", "b": ""}, hmac={"k1": b"1", "k2": b"2"}).keys == A | B
    assert Content({}).keys == frozenset()


# Moments

LATER = NOW + timedelta(seconds=1)
ORDERS = {
    "watched after watched": (Moment(10, 11), Moment(8, 9), True),
    "watched before watched": (Moment(8, 9), Moment(10, 11), False),
    "watched after found": (Moment(10, 11), Moment(0, 10), True),
    "found before watched": (Moment(0, 10), Moment(10, 11), False),
    "found after watched, perhaps": (Moment(0, 20), Moment(10, 11), None),
    "found and found": (Moment(0, 20), Moment(0, 10), None),
    "somewhere in between, and later": (Moment(12, 20), Moment(10, 11), True),
    "somewhere in between, and perhaps not": (Moment(9, 20), Moment(10, 11), None),
    "times decide where versions cannot": (Moment(0, 20, LATER), Moment(0, 10, NOW), True),
    "times decide the other way": (Moment(0, 20, NOW), Moment(0, 10, LATER), False),
    "versions go before times": (Moment(10, 11, NOW), Moment(8, 9, LATER), True),
    "the same second tells nothing": (Moment(0, 20, NOW), Moment(0, 10, NOW), None),
    "one time alone tells nothing": (Moment(0, 20, NOW), Moment(0, 10), None),
    "nor does the other": (Moment(0, 20), Moment(0, 10, NOW), None),
    "no version is not an early one": (Moment(10, 11), Moment(), None),
    "nor is it one to be later than": (Moment(), Moment(10, 11), None),
    "nothing is known": (Moment(), Moment(), None),
    "only times are known": (Moment(at=LATER), Moment(at=NOW), True),
}


@pytest.mark.parametrize(("one", "other", "later"), ORDERS.values(), ids=ORDERS)
def test_which_of_two_moments_is_later(one: Moment, other: Moment, later: bool | None) -> None:
    assert one.is_later_than(other) is later


spans = st.tuples(st.integers(0, 20), st.integers(1, 5))


@given(spans, spans, st.data())
def test_what_versions_tell_is_true_wherever_in_its_span_a_change_lies(
    one: tuple[int, int], other: tuple[int, int], data: st.DataObject
) -> None:
    first, second = (Moment(after, after + width) for after, width in (one, other))
    at_first = data.draw(st.integers(first.after + 1, first.by))
    at_second = data.draw(st.integers(second.after + 1, second.by))

    told = first.is_later_than(second)

    assert told in {None, at_first > at_second}
