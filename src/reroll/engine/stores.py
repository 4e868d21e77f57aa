"""Whether resource versions of different kinds come from one store, and so tell which was first.

Kubernetes promises an order within one kind only. In practice all kinds share one etcd, unless the
API server runs with `--etcd-servers-overrides`, or an aggregated API has a store of its own.
"""

import asyncio
from collections.abc import Iterable

from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import Decoder
from reroll.kube.errors import ApiError
from reroll.kube.objects import Stub
from reroll.kube.wire import Resource

_decoder = Decoder(Stub)


async def stored_elsewhere(
    client: Client, base: Resource, others: Iterable[Resource], namespace: str | None
) -> list[Resource]:
    """Those of `others` whose versions are not of the store of `base`.

    Versions of one store only grow: what is read between two reads of `base` lies between them.
    What cannot be read is taken for one of the same store.
    """
    others = list(others)
    first = await _version(client, base, namespace)
    versions = await asyncio.gather(*(_version(client, one, namespace) for one in others))
    last = await _version(client, base, namespace)
    if not first or not last:
        return []
    between = range(first, last + 1)
    found = zip(others, versions, strict=True)
    return [one for one, version in found if version and version not in between]


async def _version(client: Client, resource: Resource, namespace: str | None) -> int:
    """The version of the store now; 0: it is not known."""
    request = wire.list_page(resource, namespace, limit=1, metadata_only=True)
    try:
        version = _decoder.page(await client.send(request)).resource_version
    except ApiError:
        return 0
    return int(version) if version.isdecimal() else 0
