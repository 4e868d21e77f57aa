"""Writes owners to content-named configs: the least patch, and only onto what was seen."""

from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.tables.kinds import SourceKind
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Invalid
from reroll.kube.objects import Owner
from reroll.pipeline.attach import patch

TRIES = 5


class Config(msgspec.Struct, gc=False):
    """A ConfigMap or Secret without its content."""

    class Meta(msgspec.Struct, gc=False, rename="camel"):
        name: str
        namespace: str = ""
        uid: str = ""
        resource_version: str = ""
        labels: dict[str, str] | None = None
        owner_references: list[dict[str, Any]] | None = None

    metadata: Meta

    @property
    def owner_ids(self) -> set[str]:
        return {owner["uid"] for owner in self.metadata.owner_references or ()}


async def read(client: Client, row: SourceKind, key: Key) -> Config:
    request = wire.get(wire.resource_of(row), key.namespace, key.name, metadata_only=True)
    return msgspec.json.decode(await client.send(request), type=Config)


async def own(
    client: Client, row: SourceKind, key: Key, config: Config, wanted: list[Owner]
) -> None:
    """Add those of `wanted` that are no owners yet; an `ApiError` if that cannot be done."""
    for left in reversed(range(TRIES)):
        missing = [owner for owner in wanted if owner.uid not in config.owner_ids]
        if not missing:
            return
        operations = patch(config.metadata.uid, config.metadata.owner_references, missing)
        try:
            await client.send(
                wire.json_patch(wire.resource_of(row), key.namespace, key.name, operations)
            )
        except (Invalid, Conflict):
            if not left:
                raise
            config = await read(client, row, key)  # Somebody else changed its owners meanwhile.
        else:
            return
