"""The HMAC keys for digests of Secrets, kept in one Secret of the controller's own namespace.

Its data are keys by id; the id that the annotation `reroll.dev/current` names is the one in use,
the others can still check old records. A key is rotated by adding one and naming it.
"""

import base64
import secrets

from reroll.core.observe.snapshot import Keys
from reroll.core.tables.annotations import DOMAIN
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import AlreadyExists, Malformed, NotFound
from reroll.kube.objects import DataObject
from reroll.kube.resources import SECRETS

CURRENT = DOMAIN + "current"
SHORTEST = 16
"""Bytes; shorter keys can be guessed, and with them the passwords behind the digests."""


Keyring = tuple[dict[str, bytes], Keys]


async def find(client: Client, namespace: str, name: str) -> Keyring | None:
    """The keys, if there are any yet."""
    try:
        raw = await client.send(wire.get(SECRETS, namespace, name))
    except NotFound:
        return None
    return read(decoded(raw, DataObject, f"Secret {namespace}/{name}"))


def throwaway() -> Keyring:
    """A key that nobody else has, to tell contents apart for a moment."""
    key_id = secrets.token_hex(4)
    return {key_id: secrets.token_bytes(32)}, Keys(key_id, frozenset((key_id,)))


async def load(client: Client, namespace: str, name: str) -> Keyring:
    """The keys; made on the first start. Two first starts at once end with the same key."""
    while True:
        if found := await find(client, namespace, name):
            return found
        try:
            await client.send(wire.create(SECRETS, namespace, _fresh(namespace, name)))
        except AlreadyExists:
            continue


def _fresh(namespace: str, name: str) -> dict[str, object]:
    key_id = secrets.token_hex(4)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "reroll.dev/digest-key",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {CURRENT: key_id},
            "labels": {"app.kubernetes.io/managed-by": "reroll"},
        },
        "data": {key_id: base64.b64encode(secrets.token_bytes(32)).decode()},
    }


def read(secret: DataObject) -> Keyring:
    where = f"Secret {secret.metadata.namespace}/{secret.metadata.name}"
    try:
        keyring = {key_id: base64.b64decode(text) for key_id, text in (secret.data or {}).items()}
    except ValueError:  # The API server never lets this through.
        raise Malformed(f"{where} is not base64; delete it, and a new one is made") from None
    if not keyring:
        raise Malformed(f"{where} holds no digest key; delete it, and a new one is made")
    if short := sorted(key_id for key_id, key in keyring.items() if len(key) < SHORTEST):
        names = ", ".join(short)
        raise Malformed(
            f"{where}: the digest key {names} has less than {SHORTEST} bytes, and can be guessed; "
            "remove it from the Secret, or delete the Secret, and a new one is made"
        )
    current = (secret.metadata.annotations or {}).get(CURRENT, "")
    if current not in keyring:
        # Somebody edited it by hand: the last id by name is as good a choice as any, and stable.
        current = max(keyring, default="")
    return keyring, Keys(current, frozenset(keyring))
