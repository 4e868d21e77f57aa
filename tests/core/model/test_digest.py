"""Digests: equal for equal content and for nothing else."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import configmap, content, reference, secret

from reroll.core.model.content import Content
from reroll.core.model.digest import ABSENT, AWAITED, reference_digest, stamp, value_digests
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference

APP = reference(configmap("app"))
names = st.text("abc.", min_size=1, max_size=3)
values = st.dictionaries(names, st.text(max_size=4), max_size=4)
sources = st.builds(Key, st.sampled_from(["ConfigMap", "Secret"]), names, names)


def digest(ref: Reference, held: dict[str, str], **more: Any) -> str | None:
    return reference_digest(ref, content(held, **more), "")


@given(values, st.randoms())
def test_the_order_of_keys_does_not_matter(held: dict[str, str], random: Any) -> None:
    shuffled = list(held.items())
    random.shuffle(shuffled)

    assert digest(APP, held) == digest(APP, dict(shuffled))


@given(sources, values, sources, values)
def test_two_contents_never_share_a_digest(
    one: Key, held: dict[str, str], other: Key, held_there: dict[str, str]
) -> None:
    same = (one, held) == (other, held_there)

    assert (digest(reference(one), held) == digest(reference(other), held_there)) is same


LOOK_ALIKES = {
    "a byte moved from the key to the value": ({"ab": "c"}, {"a": "bc"}),
    "two keys swapped their values": ({"a": "x", "b": "y"}, {"a": "y", "b": "x"}),
    "two values run together": ({"a": "xy", "b": ""}, {"a": "x", "b": "y"}),
    "a value that looks like another key": ({"a": "b=c"}, {"a": "", "b": "c"}),
    "an empty value and no value": ({"a": ""}, {}),
    "upper and lower case": ({"a": "x"}, {"A": "x"}),
}


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alikes_differ(one: dict[str, str], other: dict[str, str]) -> None:
    assert digest(APP, one) != digest(APP, other)


def test_kind_namespace_and_name_are_part_of_it() -> None:
    held = {"a": "x"}
    found = [
        digest(reference(Key(*parts)), held)
        for parts in [
            ("ConfigMap", "shop", "app"),
            ("Secret", "shop", "app"),
            ("ConfigMap", "shopa", "pp"),
            ("ConfigMap", "shop", "app2"),
        ]
    ]

    assert len(set(found)) == len(found)


@given(values, names, st.text(max_size=4))
def test_a_key_that_is_not_used_does_not_matter(held: dict[str, str], key: str, value: str) -> None:
    ref = reference(configmap("app"), "used")
    ignoring = Reference(configmap("app"), without=frozenset((key,)))

    assert digest(ref, held) == digest(ref, held | {key: value})
    assert digest(ignoring, held) == digest(ignoring, held | {key: value})


def test_a_key_that_is_used_matters_and_so_does_whether_it_exists() -> None:
    ref = reference(configmap("app"), "a")
    found = [digest(ref, held) for held in ({"a": "1"}, {"a": "2"}, {"a": ""}, {})]

    assert all(one != other for one, other in pairwise(found))
    assert len(set(found)) == 4


def test_labels_annotations_and_versions_are_no_input() -> None:
    plain = content({"a": "x"})
    dressed = content({"a": "x"}, ignored=True, allow_from=frozenset(("b",)))

    assert reference_digest(APP, plain, "") == reference_digest(APP, dressed, "")


def test_an_empty_source_has_a_digest() -> None:
    found = digest(APP, {})

    assert found
    assert found not in {ABSENT, AWAITED}


def test_a_digest_is_short_hex() -> None:
    found = digest(APP, {"a": "x"})

    assert found is not None
    assert len(bytes.fromhex(found)) == 16


# Secrets are digested with a key

DB = reference(secret("db"))


@given(values.filter(bool), st.binary(min_size=1, max_size=64), st.binary(min_size=1, max_size=64))
def test_another_hmac_key_is_another_digest(held: dict[str, str], one: bytes, other: bytes) -> None:
    kept = content(held, hmac={"k1": one, "k2": other, "plain": None})
    found = [reference_digest(DB, kept, key_id) for key_id in ("k1", "k2")]

    assert (found[0] == found[1]) is (one.rstrip(b"\0") == other.rstrip(b"\0"))  # as HMAC pads
    assert reference_digest(DB, kept, "plain") not in found


def test_a_digest_with_an_unknown_hmac_key_is_none() -> None:
    assert reference_digest(DB, content({"a": "x"}, hmac={"k1": b"1"}), "k2") is None
    assert reference_digest(DB, Content({}), "k1") is None


def test_a_source_that_is_not_keyed_has_the_same_digest_whatever_key_is_in_use() -> None:
    kept = content({"a": "x"})

    assert reference_digest(APP, kept, "k1") == reference_digest(APP, kept, "")


def test_the_digest_of_a_value_does_not_give_it_away() -> None:
    plain = value_digests({"a": b"hunter2"}, None)
    keyed = value_digests({"a": b"hunter2"}, b"key")

    assert plain.keys() == keyed.keys() == {"a"}
    assert plain["a"] != keyed["a"]
    assert b"hunter2" not in keyed["a"]


# The stamp of a workload

digests = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=4)


@given(digests, digests)
def test_two_workloads_share_a_stamp_only_if_they_have_the_same_content(
    one: dict[str, str], other: dict[str, str]
) -> None:
    assert (stamp(one) == stamp(other)) is (one == other)
    assert stamp(dict(reversed(one.items()))) == stamp(one)
