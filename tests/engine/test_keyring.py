"""The Secret with the digest keys, whoever made it."""

import base64

import pytest

from reroll.core.model.metadata import Metadata
from reroll.engine.keyring import CURRENT, read
from reroll.kube.errors import Malformed
from reroll.kube.objects import DataObject


def secret(current: str = "a", **keys: bytes) -> DataObject:
    data = {key_id: base64.b64encode(key).decode() for key_id, key in keys.items()}
    metadata = Metadata(name="keys", namespace="reroll", annotations={CURRENT: current})
    return DataObject(metadata, data)


def test_keys_of_sixteen_bytes_are_taken() -> None:
    ring, keys = read(secret(a=bytes(16), b=bytes(32)))

    assert set(ring) == keys.known == {"a", "b"}
    assert keys.current == "a"


@pytest.mark.parametrize("length", [0, 1, 15])
def test_a_key_that_can_be_guessed_is_refused_and_not_shown(length: int) -> None:
    with pytest.raises(Malformed, match="the digest key b has less than 16 bytes") as caught:
        read(secret(a=bytes(32), b=b"x" * length))

    assert "Secret reroll/keys" in str(caught.value)
    assert "xx" not in str(caught.value)
