"""Writes the owner references of an object: adds and removes some, by uid, and keeps all others.

A strategic patch merges owners by their uid, so other writers of the list do no harm, and doing it
twice changes nothing. Only for built-in kinds.
"""

from collections.abc import Iterable
from typing import Any

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Invalid
from reroll.kube.objects import OwnerRef, Stub
from reroll.kube.wire import Resource


async def change(
    client: Client,
    resource: Resource,
    key: Key,
    add: Iterable[OwnerRef],
    drop: Iterable[str] = (),
    uid: str = "",
) -> Metadata:
    """Add owners and remove those with the uids `drop`; the metadata that comes of it.

    With `uid` only of that very object: `Conflict` if another took its name.
    """
    owners: list[dict[str, Any]] = [owner.reference for owner in add]
    owners += [{"$patch": "delete", "uid": one} for one in drop]
    guard = {"uid": uid} if uid else {}
    body = {"metadata": {**guard, "ownerReferences": owners}}
    try:
        changed = await api.strategic(client, resource, key.namespace, key.name, body, Stub)
    except Invalid as error:
        if uid and "metadata.uid" in error.message:
            raise Conflict(f"another object has the name of {key} now") from None
        raise
    return changed.metadata
