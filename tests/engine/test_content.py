"""What is kept of a source, and when it changed."""

import base64

import msgspec
import pytest

from reroll.core.model.moment import Moment
from reroll.engine.content import Source, changed_at, content


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
