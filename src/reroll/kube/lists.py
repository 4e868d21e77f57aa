"""Lists of which little is kept: what their objects are needed for, and not the objects.

Whoever may make objects makes thousands of them, with a quarter of a megabyte of annotations each.
"""

from collections.abc import Callable
from typing import TypeVar, Unpack

from reroll.core.model.metadata import Metadata
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.decode import Versioned
from reroll.kube.wire import Resource, Which

T = TypeVar("T", bound=Versioned)
K = TypeVar("K")


async def extract(
    client: Client,
    resource: Resource,
    namespace: str | None,
    model: type[T],
    keep: Callable[[T], K | None],
    **which: Unpack[Which],
) -> list[K]:
    """What is to be kept of all objects of a kind; raises `Malformed` as `api.every` does."""
    found: list[K] = []
    async for page in api.pages(client, resource, namespace, model, **which):
        if page.malformed:
            raise page.malformed[0]
        found += [one for each in page.items if (one := keep(each)) is not None]
    return found


def shed(metadata: Metadata) -> None:
    """Drop what may be large, and what nobody needs of an object that is only looked at."""
    metadata.annotations = metadata.finalizers = None
