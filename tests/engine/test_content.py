"""What is kept of a source, and when it changed."""

import base64

import msgspec
import pytest

from reroll.core.model.moment import Moment
from reroll.engine.content import Source, changed_at, content
from reroll.kube.errors import Malformed


def managed(*times: str) -> dict[str, object]:
    return {"name": "app", "managedFields": [{"time": time} for time in times]}


def test_the_newest_write_counts_because_who_takes_a_key_away_owns_nothing() -> None:
    seen = msgspec.json.decode(
        msgspec.json.encode({"metadata": managed("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")}),
        type=Source,
    )

    changed = changed_at(seen.metadata)

    assert changed is not None
    assert changed.isoformat() == "2026-01-02T00:00:00+00:00"


def test_without_managed_fields_nobody_knows_when_it_changed() -> None:
    seen = msgspec.json.decode(b'{"metadata":{"name":"app"}}', type=Source)

    assert changed_at(seen.metadata) is None


@pytest.mark.parametrize("keyring", [None, {"k1": b"x" * 32}], ids=["a ConfigMap", "a Secret"])
def test_nothing_of_a_value_is_kept(keyring: dict[str, bytes] | None) -> None:
    value = "hunter2" if keyring is None else base64.b64encode(b"hunter2").decode()
    raw = msgspec.json.encode({"metadata": {"name": "db"}, "data": {"password": value}})

    kept = content(msgspec.json.decode(raw, type=Source), keyring, Moment())

    assert kept.keys == {"password"}
    assert "hunter2" not in repr(kept)
    assert value not in repr(kept)


def test_a_key_of_ours_that_means_nothing_on_a_source_is_told_with_a_suggestion() -> None:
    names = ("reroll.dev/sok", "reroll.dev/soak", "reroll.dev/enabled", "reroll.dev/names", "sok")
    metadata = {"name": "app", "annotations": dict.fromkeys(names, "1m")}
    source = msgspec.json.decode(msgspec.json.encode({"metadata": metadata}), type=Source)

    found = content(source, None, Moment()).problems

    assert found == (("reroll.dev/sok", "means nothing; did you mean reroll.dev/soak?"),)


ODD = {"a list": b"[]", "a number": b"5", "numbers": b'{"a":1}', "no UTF-8": b'{"a":"\xff"}'}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_data_that_is_no_map_of_texts_is_malformed_and_quoted_nowhere(data: bytes) -> None:
    raw = b'{"metadata":{"namespace":"shop","name":"app"},"data":%s}' % data
    source = msgspec.json.decode(raw, type=Source)

    with pytest.raises(Malformed, match="its data is not a map of texts") as told:
        content(source, None, Moment())
    assert (told.value.namespace, told.value.name) == ("shop", "app")


def test_a_value_that_is_no_base64_and_not_even_ascii_is_content_as_it_stands() -> None:
    raw = '{"metadata":{"name":"db"},"data":{"a":"é"}}'.encode()
    assert content(msgspec.json.decode(raw, type=Source), {"k": b"x"}, Moment()).keys == {"a"}
