"""ConfigMaps and Secrets by their metadata: which there are and who wrote them."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.observe.provenance import Managed, Stub, Writes, writes
from reroll.core.tables.source_kinds import CONFIGS, SourceKind
from reroll.engine.many import by_page, crowds, each
from reroll.kube import resources
from reroll.kube.view import View
from reroll.kube.wire import Resource

READS = 16
FEW = 100
"""Namespaces that are listed one by one, so that the rest of a large cluster is not read."""
_RESOURCES = {row.name: resources.of(row) for row in CONFIGS}


class Configs(NamedTuple):
    there: dict[Key, Managed]
    blind: frozenset[str]
    """Kinds that may not be listed: nothing is known of them."""


class Written(NamedTuple):
    by: dict[Key, Writes]
    blind: frozenset[str]
    """Kinds that may not be listed: nothing is known of them."""


async def every_write(view: View, used_in: Collection[str]) -> Written:
    """Who wrote what there is in these namespaces, a page at a time.

    Many namespaces are listed at once, with all others that were asked for.
    """
    by: dict[Key, Writes] = {}
    blind = set()
    for kind, resource in _RESOURCES.items() if used_in else ():
        gaps, known = len(view.gaps), len(by)
        async for page in _pages_in(view, resource, sorted(used_in)):
            for one in page:
                key = Key(kind, one.metadata.namespace, one.metadata.name)
                by[key] = writes(one.metadata)
        if len(view.gaps) > gaps and len(by) == known:
            blind.add(kind)
    return Written(by, frozenset(blind))


async def _pages_in(
    view: View, resource: Resource, namespaces: list[str]
) -> AsyncIterator[Sequence[Stub]]:
    if view.places == (None,) and len(namespaces) <= FEW:
        for place in namespaces:
            near = view.near(place)
            async for page in near.pages(resource, Stub):
                yield page
            if near.gaps:  # It is said once, of all of them.
                break
        else:
            return
    async for page in view.pages(resource, Stub):
        yield page


async def every_config(view: View, more: Iterable[SourceKind] = ()) -> Configs:
    """All of the namespaces that were asked for; what may not be listed is a gap.

    `more`: kinds of sources besides ConfigMaps and Secrets.
    """
    there: dict[Key, Managed] = {}
    blind = set()
    for kind, resource in {**_RESOURCES, **{row.name: resources.of(row) for row in more}}.items():
        gaps = len(view.gaps)
        stubs = [stub.metadata for stub in await view.every(resource, Stub)]
        there |= {Key(kind, metadata.namespace, metadata.name): metadata for metadata in stubs}
        if len(view.gaps) > gaps and not stubs:
            blind.add(kind)
    return Configs(there, frozenset(blind))


async def writes_of(view: View, sources: Iterable[Key]) -> dict[Key, Writes]:
    """Who wrote these; those that are not there, or no ConfigMap or Secret, are left out."""
    wanted = {key for key in sources if key.kind in _RESOURCES}
    found: dict[Key, Writes] = {}

    async def listed(kind: str, namespace: str, names: list[str]) -> None:
        def take(name: str, stub: Stub) -> None:
            found[Key(kind, namespace, name)] = writes(stub.metadata)

        place = _RESOURCES[kind], namespace
        rest = await by_page(view.client, place, names, Stub, take)
        wanted.difference_update(Key(kind, namespace, name) for name in rest.gone)

    await each(crowds(wanted), listed)
    return found | await _got(view, sorted(wanted - found.keys()))


async def _got(view: View, keys: list[Key]) -> dict[Key, Writes]:
    """Each by itself."""
    slots = asyncio.Semaphore(READS)

    async def stub(key: Key) -> Stub | None:
        async with slots:
            resource = _RESOURCES[key.kind]
            return await view.get(resource, key.namespace, key.name, Stub)

    stubs = await asyncio.gather(*map(stub, keys))
    return {key: writes(stub.metadata) for key, stub in zip(keys, stubs, strict=True) if stub}
