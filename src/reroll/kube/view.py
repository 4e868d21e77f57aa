"""A cluster as one command sees it: typed lists and objects, and sentences about the gaps.

What may not be read is no reason to end: it becomes a gap, which the command shows beside what it
could see.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple, TypeVar, Unpack

from reroll.core.dialects.table import ALL
from reroll.core.model.metadata import Manifest
from reroll.core.observe.workload import Workload, workload
from reroll.core.tables.kinds import KINDS, Kind
from reroll.kube import api, discovery, resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import Versioned
from reroll.kube.errors import Forbidden, Malformed, NotFound
from reroll.kube.wire import Resource, Which

T = TypeVar("T", bound=Versioned)


class ListedWorkload(NamedTuple):
    """One workload: its row, its document as far as it is decoded, and what the engine sees."""

    kind: Kind
    manifest: Manifest
    workload: Workload


class View:
    """A cluster as one command sees it; `gaps` are the sentences about what it could not see."""

    def __init__(
        self,
        client: Client,
        namespace: str | None,
        home: str,
        *,
        within: Sequence[str] = (),
        keeper: Client | None = None,
    ) -> None:
        self.client = client
        self.namespace = namespace
        """The namespace that was asked for; `None`: all."""
        self.home = home
        """The namespace of the context."""
        self.within = () if namespace else tuple(within)
        """Where all were asked for and may not be listed at once: these, one by one."""
        self.keeper = keeper or client
        """Reads what the controller keeps for itself: its digest keys, its hold, its records."""
        self.gaps: list[str] = []

    def again(self) -> "View":
        """The same, with gaps of its own."""
        return View(self.client, self.namespace, self.home, within=self.within, keeper=self.keeper)

    def near(self, namespace: str) -> "View":
        """One namespace of it, with gaps of its own."""
        return View(self.client, namespace, self.home, keeper=self.keeper)

    @property
    def places(self) -> tuple[str | None, ...]:
        """The namespaces that have to be listed; `None` stands for all of them."""
        return self.within or (self.namespace,)

    async def every(
        self,
        resource: Resource,
        model: type[T],
        *,
        everywhere: bool = False,
        **which: Unpack[Which],
    ) -> list[T]:
        """All objects of a kind; none if its API is not served, a gap if they may not be listed."""
        pages = self.pages(resource, model, everywhere=everywhere, **which)
        return [one async for page in pages for one in page]

    async def pages(
        self,
        resource: Resource,
        model: type[T],
        *,
        everywhere: bool = False,
        **which: Unpack[Which],
    ) -> AsyncIterator[Sequence[T]]:
        """The same, a page at a time; `everywhere`: in all namespaces, whichever was asked for."""
        places = (None,) if everywhere or not resource.namespaced else self.places
        for place in places:
            async for page in self._pages_of(place, resource, model, which):
                yield page

    async def _pages_of(
        self, namespace: str | None, resource: Resource, model: type[T], which: Which
    ) -> AsyncIterator[Sequence[T]]:
        try:
            async for page in api.pages(self.client, resource, namespace, model, **which):
                self.gaps += [_odd(bad, resource) for bad in page.malformed]
                yield page.items
        except NotFound:
            return
        except Forbidden:
            # A user who may not list what no API server has misses nothing.
            if await self.serves(resource):
                place = f"namespace {namespace}" if namespace else "all namespaces"
                self.gaps.append(
                    f"{resource.full_name} in {place} may not be listed; grant `list` on them"
                )

    async def serves(self, resource: Resource) -> bool:
        """Whether there is such an API; in doubt, yes."""
        if not resource.group:
            return True
        try:
            return await discovery.serves(self.client, resource)
        except Forbidden:
            return True

    async def find(self, group: str, kind: str) -> Resource | None:
        """The resource of a kind, as the API server has it; `None` if it has none."""
        for version in (await discovery.versions(self.client, group))[:1]:
            return await discovery.find(self.client, f"{group}/{version}".lstrip("/"), kind)
        return None

    async def get(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        model: type[T],
        *,
        metadata_only: bool = False,
    ) -> T | None:
        """One object; `None` if there is none, or if it may not be read, which is a gap."""
        request = wire.get(resource, namespace, name, metadata_only=metadata_only)
        try:
            return await api.send(self.client, request, model)
        except NotFound:
            return None
        except Forbidden:
            where = f"{namespace}/{name}" if namespace else name
            self.gaps.append(f"{resource.kind} {where} may not be read; grant `get` on it")
        except Malformed as bad:
            self.gaps.append(_odd(bad, resource))
        return None

    async def workloads(self, kinds: Iterable[Kind] = KINDS) -> list[ListedWorkload]:
        """Every workload of these kinds, in the order of the table, then by namespace and name."""
        rows = tuple(kinds)
        listed = await asyncio.gather(*(self.every(resources.of(kind), Manifest) for kind in rows))
        return [
            ListedWorkload(kind, manifest, workload(kind, manifest, None, words=ALL.words))
            for kind, manifests in zip(rows, listed, strict=True)
            for manifest in sorted(
                manifests, key=lambda one: (one.metadata.namespace, one.metadata.name)
            )
        ]


def _odd(bad: Malformed, resource: Resource) -> str:
    name = f"{bad.namespace}/{bad.name}".strip("/")
    return f"{resource.kind} {name}: {bad.message}"
