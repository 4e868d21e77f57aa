"""ConfigMaps and Secrets as commands look at them: by their metadata, never by what they hold."""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from reroll.cli.targets import CONFIGS
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Managed, Stub, Writes, writes
from reroll.core.tables.kinds import SourceKind
from reroll.kube import wire
from reroll.kube.view import View

READS = 16
_RESOURCES = {row.name: wire.resource_of(row) for row in CONFIGS}


class Configs(NamedTuple):
    there: dict[Key, Managed]
    blind: frozenset[str]
    """Kinds that may not be listed: nothing is known of them."""


async def every_config(view: View, more: Iterable[SourceKind] = ()) -> Configs:
    """All of the namespaces that were asked for; what may not be listed is a gap.

    `more`: kinds of sources besides ConfigMaps and Secrets.
    """
    there: dict[Key, Managed] = {}
    blind = set()
    resources = {**_RESOURCES, **{row.name: wire.resource_of(row) for row in more}}
    for kind, resource in resources.items():
        gaps = len(view.gaps)
        found = await view.every(resource, Stub, metadata_only=True)
        there |= {
            Key(kind, one.metadata.namespace, one.metadata.name): one.metadata for one in found
        }
        if len(view.gaps) > gaps and not found:
            blind.add(kind)
    return Configs(there, frozenset(blind))


async def writes_of(view: View, sources: Iterable[Key]) -> dict[Key, Writes]:
    """Who wrote these; those that are not there, or no ConfigMap or Secret, are left out."""
    wanted = sorted(key for key in sources if key.kind in _RESOURCES)
    slots = asyncio.Semaphore(READS)

    async def stub(key: Key) -> Stub | None:
        async with slots:
            resource = _RESOURCES[key.kind]
            return await view.get(resource, key.namespace, key.name, Stub, metadata_only=True)

    stubs = await asyncio.gather(*map(stub, wanted))
    return {key: writes(stub.metadata) for key, stub in zip(wanted, stubs, strict=True) if stub}
