"""Many objects of one namespace, by the page where that costs less than to get each by itself.

A few are got one by one, which takes no right to list. Many are listed, and no further than it
pays: what the rest of a long list would cost is known from its first page.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata, version_number
from reroll.kube import api, wire
from reroll.kube.client import Client
from reroll.kube.decode import Page
from reroll.kube.errors import Forbidden, Gone
from reroll.kube.wire import Resource


class Named(Protocol):
    @property
    def metadata(self) -> Metadata: ...


T = TypeVar("T", bound=Named)
MANY = 8
"""So many of one namespace are worth a list."""
A_PAGE = 12
"""What a page costs, in objects that are got by themselves."""
AT_ONCE = 4
"""Namespaces that are listed at once, with a page of each in memory."""


class Rest(NamedTuple):
    """Those that a list did not bring."""

    unknown: frozenset[str]
    """To be got by themselves: the list did not come so far, or they cannot be read."""
    gone: frozenset[str] = frozenset()
    version: int = 0
    """The version of the store at which the others were listed, and these were not there."""


def crowds(keys: Iterable[Key]) -> dict[tuple[str, str], list[str]]:
    """The names of those that are worth a list, by kind and namespace."""
    found: dict[tuple[str, str], list[str]] = {}
    for key in keys:
        found.setdefault((key.kind, key.namespace), []).append(key.name)
    return {place: names for place, names in found.items() if len(names) >= MANY}


async def each(
    found: Mapping[tuple[str, str], list[str]],
    read: Callable[[str, str, list[str]], Awaitable[None]],
) -> None:
    """Have `read(kind, namespace, names)` done for all, a few at once."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(place: tuple[str, str], names: list[str]) -> None:
        async with slots:
            await read(*place, names)

    tasks = [asyncio.ensure_future(one(*crowd)) for crowd in found.items()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def by_page(
    client: Client,
    place: tuple[Resource, str],
    names: Collection[str],
    model: type[T],
    take: Callable[[str, T], None],
) -> Rest:
    """Have `take(name, object)` called for those of these names that a namespace has."""
    left, odd, version = set(names), set[str](), 0
    try:
        async for page in api.pages(client, *place, model):
            version = version_number(page.resource_version)
            odd |= left & {one.name for one in page.malformed}
            for one in page.items:
                name = one.metadata.name
                if name in left:
                    left.discard(name)
                    take(name, one)
            if not left or (page.continue_ and _pays_no_more(page, left)):
                break
        else:
            return Rest(frozenset(odd), frozenset(left - odd), version)
    except (Forbidden, Gone):  # It may not be listed; or its pages are too old by now.
        return Rest(frozenset(left))
    return Rest(frozenset(left), version=version)


def _pays_no_more(page: Page[T], left: Collection[str]) -> bool:
    return -(-page.remaining // wire.PAGE) * A_PAGE > len(left)
