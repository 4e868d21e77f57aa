"""What commands that look at a cluster share: kubeconfig flags, a client, and typed lists.

What may not be read is no reason to end: it becomes a gap, a sentence that the command shows beside
what it could see. An API server that cannot be reached at all ends the command.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypedDict, TypeVar, Unpack

from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags as add_flags  # noqa: PLC0414  they go together
from reroll.core.dialects.table import ALL
from reroll.core.kinds import KINDS, Kind
from reroll.core.workloads import Manifest, Workload, workload
from reroll.kube import discovery, wire
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.decode import Decoder, Versioned
from reroll.kube.errors import ApiError, ConfigError, Forbidden, Malformed, NotFound, Unauthorized

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
        listed = await asyncio.gather(*(self.every(resource(kind), Manifest) for kind in rows))
        return [
            Found(kind, manifest, workload(kind, manifest, None, words=ALL.words))
            for kind, manifests in zip(rows, listed, strict=True)
            for manifest in sorted(
                manifests, key=lambda one: (one.metadata.namespace, one.metadata.name)
            )
        ]


resource = wire.resource_of


def look(args: argparse.Namespace, action: Callable[[View], Awaitable[int]]) -> int:
    """Do `action` with the cluster that the flags of `add_flags` name."""
    try:
        return asyncio.run(_look(args, action))
    except ConfigError as error:
        raise CommandError(str(error), Exit.USAGE) from None
    except Unauthorized as error:
        raise CommandError(
            f"the API server does not accept these credentials ({error}); log in again, or choose "
            "another context with --context"
        ) from None
    except ApiError as error:
        raise CommandError(str(error)) from None


async def _look(args: argparse.Namespace, action: Callable[[View], Awaitable[int]]) -> int:
    connection = load(os.environ, kubeconfig=args.kubeconfig, context=args.context)
    home = connection.namespace or "default"
    everywhere = getattr(args, "all_namespaces", False)
    namespace = None if everywhere else getattr(args, "namespace", None) or home
    async with Client(connection) as client:
        return await action(View(client, namespace, home))


def _place(namespace: str | None) -> str:
    return f"namespace {namespace}" if namespace else "all namespaces"


def _odd(bad: Malformed, resource: wire.Resource) -> str:
    name = f"{bad.namespace}/{bad.name}".strip("/")
    return f"{resource.kind} {name}: {bad.message}"
