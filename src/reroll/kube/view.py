"""A cluster as one command sees it: typed lists and objects, and sentences about the gaps.

What may not be read is no reason to end: it becomes a gap, which the command shows beside what it
could see.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple, TypedDict, TypeVar, Unpack

from reroll.core.dialects.table import ALL
from reroll.core.model.metadata import Manifest
from reroll.core.observe.workload import Workload, workload
from reroll.core.tables.kinds import KINDS, Kind
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.decode import Decoder, Versioned
from reroll.kube.errors import Forbidden, Malformed, NotFound

T = TypeVar("T", bound=Versioned)


PAGE = 500


class Which(TypedDict, total=False):
    """Which objects of a kind, and how much of them."""

    label_selector: str | None
    field_selector: str | None
    metadata_only: bool
    everywhere: bool
    """In all namespaces, whichever was asked for."""


class Found(NamedTuple):
    """One workload: its row, its document as far as it is decoded, and what the engine sees."""

    kind: Kind
    manifest: Manifest
    workload: Workload


class View:
    """A cluster as one command sees it; `gaps` are the sentences about what it could not see."""

    def __init__(self, client: Client, namespace: str | None, home: str) -> None:
        self.client = client
        self.namespace = namespace
        """The namespace that was asked for; `None`: all."""
        self.home = home
        """The namespace of the context."""
        self.gaps: list[str] = []

    async def every(
        self, resource: wire.Resource, model: type[T], **which: Unpack[Which]
    ) -> list[T]:
        """All objects of a kind; none if its API is not served, a gap if they may not be listed."""
        return [one async for page in self.pages(resource, model, **which) for one in page]

    async def pages(
        self, resource: wire.Resource, model: type[T], **which: Unpack[Which]
    ) -> AsyncIterator[Sequence[T]]:
        """The same, a page at a time, for whoever keeps nothing of it."""
        decoder, token = Decoder(model), ""
        everywhere = which.get("everywhere") or not resource.namespaced
        namespace = None if everywhere else self.namespace
        while True:
            request = wire.list_page(
                resource,
                namespace,
                limit=PAGE,
                continue_=token,
                label_selector=which.get("label_selector"),
                field_selector=which.get("field_selector"),
                metadata_only=which.get("metadata_only", False),
            )
            try:
                page = decoder.page(await self.client.send(request))
            except NotFound:
                return
            except Forbidden:
                # Who may not list what no API server has misses nothing.
                if await self.serves(resource):
                    self.gaps.append(
                        f"{resource.full_name} in {_place(namespace)} may not be listed; "
                        "grant `list` on them"
                    )
                return
            self.gaps += [_odd(bad, resource) for bad in page.malformed]
            yield page.items
            token = page.continue_
            if not token:
                return

    async def serves(self, resource: wire.Resource) -> bool:
        """Whether there is such an API; in doubt, yes."""
        if not resource.group:
            return True
        try:
            return await discovery.serves(self.client, resource)
        except Forbidden:
            return True

    async def find(self, group: str, kind: str) -> wire.Resource | None:
        """The resource of a kind, as the API server has it; `None` if it has none."""
        for version in (await discovery.versions(self.client, group))[:1]:
            return await discovery.find(self.client, f"{group}/{version}".lstrip("/"), kind)
        return None

    async def get(
        self,
        resource: wire.Resource,
        namespace: str | None,
        name: str,
        model: type[T],
        *,
        metadata_only: bool = False,
    ) -> T | None:
        """One object; `None` if there is none, or if it may not be read, which is a gap."""
        request = wire.get(resource, namespace, name, metadata_only=metadata_only)
        try:
            found = Decoder(model).item(await self.client.send(request))
        except NotFound:
            return None
        except Forbidden:
            where = f"{namespace}/{name}" if namespace else name
            self.gaps.append(f"{resource.kind} {where} may not be read; grant `get` on it")
            return None
        if isinstance(found, Malformed):
            self.gaps.append(_odd(found, resource))
            return None
        return found

    async def workloads(self, kinds: Iterable[Kind] = KINDS) -> list[Found]:
        """Every workload of these kinds, in the order of the table, then by namespace and name."""
        rows = tuple(kinds)
        listed = await asyncio.gather(
            *(self.every(wire.resource_of(kind), Manifest) for kind in rows)
        )
        return [
            Found(kind, manifest, workload(kind, manifest, None, words=ALL.words))
            for kind, manifests in zip(rows, listed, strict=True)
            for manifest in sorted(
                manifests, key=lambda one: (one.metadata.namespace, one.metadata.name)
            )
        ]


def _place(namespace: str | None) -> str:
    return f"namespace {namespace}" if namespace else "all namespaces"


def _odd(bad: Malformed, resource: wire.Resource) -> str:
    name = f"{bad.namespace}/{bad.name}".strip("/")
    return f"{resource.kind} {name}: {bad.message}"
