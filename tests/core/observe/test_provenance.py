"""What `managedFields` tell about the data of a source, and what they leave open."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reroll.core.observe.provenance import Managed, Writes, record_written, template_writer, writes

APPLIED = {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}
LABELS = {"f:labels": {".": {}, "f:tier": {}}}


def entry(manager: str, minute: int, *keys: str, **more: Any) -> dict[str, Any]:
    data = {"f:data": {".": {}, **{f"f:{key}": {} for key in keys}}} if keys else {}
    fields = {**data, **{f"f:{name}": value for name, value in more.items()}}
    return {"manager": manager, "time": f"2026-05-01T10:{minute:02}:00Z", "fieldsV1": fields}


def of(*entries: dict[str, Any]) -> Writes:
    return writes(msgspec.convert({"name": "app", "managedFields": list(entries)}, Managed))


def test_the_last_write_is_that_of_the_keys_that_are_asked_for() -> None:
    found = of(
        entry("helm", 1, "a", "b"), entry("ops", 5, "b"), entry("labels", 9, metadata=LABELS)
    )

    assert found.keys == {"a", "b"}
    assert [found.last(keys).by for keys in (None, {"a"}, {"b"}) if found.last(keys)] == [
        "ops", "helm", "ops",
    ]  # fmt: skip
    assert found.last(frozenset("c")) is None


@pytest.mark.parametrize(
    ("given", "keys", "sure"),
    [
        (entry("m", 1, "a"), {"a"}, True),
        (entry("m", 1, "a", "b"), None, True),
        (entry("m", 1, "a", "b"), {"a"}, False),
        (entry("m", 1, "a", metadata=LABELS), {"a"}, False),
        (entry("m", 1, "a", metadata=APPLIED), {"a"}, True),
        (entry("m", 1, "a", metadata={**APPLIED, "f:ownerReferences": {}}), {"a"}, False),
        (entry("m", 1, "a", type={}), {"a"}, True),
    ],
    ids=[
        "its one key",
        "all keys are used",
        "an unused key may have changed",
        "a label may have changed",
        "what kubectl keeps for itself changes with what it applies",
        "an owner may have changed",
        "the type of a Secret never changes",
    ],
)
def test_a_write_is_sure_if_nothing_else_can_have_changed(
    given: dict[str, Any], keys: set[str] | None, sure: bool
) -> None:
    wanted = None if keys is None else frozenset(keys)
    last = of(given).last(wanted)
    assert last is not None
    assert last.is_sure_for(wanted) is sure


def test_binary_data_is_data_and_immutability_is_noticed() -> None:
    found = of(entry("m", 1, binaryData={"f:logo.png": {}}, immutable={}))
    assert (found.keys, found.immutable) == ({"logo.png"}, True)


def test_entries_without_data_or_time_tell_nothing() -> None:
    timeless = {"manager": "m", "fieldsV1": {"f:data": {"f:a": {}}}}
    assert of(timeless, entry("m", 1), {"fieldsV1": {"f:data": 3}}).known == ()


def test_creation_is_told() -> None:
    made = msgspec.convert({"name": "a", "creationTimestamp": "2026-05-01T10:00:00Z"}, Managed)
    assert writes(made).created == datetime(2026, 5, 1, 10, tzinfo=UTC)


def test_our_record_was_written_when_whoever_owns_it_last_wrote() -> None:
    ours = {"f:annotations": {".": {}, "f:reroll.dev/state": {}}}
    other = {"f:annotations": {"f:deployment.kubernetes.io/revision": {}}}
    entries = [
        entry("reroll", 1, metadata=ours),
        entry("reroll-again", 3, metadata=ours),
        entry("kube-controller-manager", 9, metadata=other),
        entry("odd", 9, metadata=3),
        {"manager": "timeless", "fieldsV1": {"f:metadata": ours}},
    ]

    made = msgspec.convert({"name": "web", "managedFields": entries}, Managed)
    assert record_written(made) == datetime(2026, 5, 1, 10, 3, tzinfo=UTC)
    assert record_written(msgspec.convert({"name": "web"}, Managed)) is None


# Whose template it is

TEMPLATE = ("spec", "template")
RECORD = {"f:annotations": {".": {}, "f:reroll.dev/state": {}}}
IMAGE = {"f:template": {"f:spec": {"f:containers": {}}}}


@pytest.mark.parametrize(
    ("entries", "by"),
    [
        ([entry("reroll", 5, metadata=RECORD, spec=IMAGE)], ""),
        ([entry("reroll", 5, metadata=RECORD), entry("helm", 5, spec=IMAGE)], ""),
        ([entry("reroll", 5, metadata=RECORD), entry("helm", 6, spec=IMAGE)], "helm"),
        ([entry("reroll", 5, metadata=RECORD), entry("hpa", 6, spec={"f:replicas": {}})], ""),
        ([entry("reroll", 5, metadata=RECORD), entry("kcm", 6, status={"f:replicas": {}})], ""),
        ([entry("reroll", 5, metadata=RECORD), entry("odd", 6, spec={"f:template": None})], ""),
        ([entry("helm", 6, spec=IMAGE)], ""),
        ([], ""),
    ],
    ids=[
        "ours",
        "theirs, and not later",
        "theirs, and later",
        "scaled later",
        "a status",
        "nothing at its path",
        "no record is known",
        "managedFields are cleared",
    ],
)
def test_a_template_is_of_another_writer_who_wrote_after_our_record(
    entries: list[dict[str, Any]], by: str
) -> None:
    metadata = msgspec.convert({"name": "web", "managedFields": entries}, Managed)
    assert template_writer(metadata, TEMPLATE) == by
