"""Typed calls to the API server: a resource, a name and a model go in, an object comes out.

What goes wrong is an `ApiError`; an answer that does not fit the model is `Malformed`. Of a model
that has nothing but `metadata`, nothing but metadata is asked for. Requests with options that are
not here are built with `wire` and sent with `send`.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, Unpack

from msgspec.structs import replace

from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import Decoder, Page, Versioned
from reroll.kube.errors import Malformed, NotFound, Unavailable
from reroll.kube.objects import Pod
from reroll.kube.paging import Paging
from reroll.kube.wire import Deletion, Request, Resource, Which

T = TypeVar("T", bound=Versioned)
_BEHIND = 504


async def send(client: Client, request: Request, model: type[T]) -> T:
    """Send any request whose answer is one object."""
    if is_stub(model):
        request = replace(request, accept=wire.METADATA)
    answer: T | Malformed = _decoder(model).item(await client.send(request))
    if isinstance(answer, Malformed):
        answer.method, answer.path = request.method, request.path
        raise answer
    return answer


async def get(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    model: type[T],
    *,
    at_least: int = 0,
) -> T:
    """One object; `at_least` see `wire.get`."""
    return await send(client, wire.get(resource, namespace, name, at_least=at_least), model)


async def find(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    model: type[T],
    *,
    at_least: int = 0,
) -> T | None:
    """One object, or `None` if there is none.

    A server whose cache does not get to `at_least` in time is asked for the most recent state.
    """
    try:
        return await get(client, resource, namespace, name, model, at_least=at_least)
    except NotFound:
        return None
    except Unavailable as error:
        if not at_least or error.status != _BEHIND:
            raise
    return await find(client, resource, namespace, name, model)


async def pages(
    client: Client,
    resource: Resource,
    namespace: str | None,
    model: type[T],
    **which: Unpack[Which],
) -> AsyncIterator[Page[T]]:
    """All objects of a kind in a namespace (`None`: in all), a page at a time."""
    which.setdefault("metadata_only", is_stub(model))
    paging = Paging(which.get("limit") or wire.PAGE)

    def ask(limit: int) -> Request:
        which["limit"] = limit
        return wire.list_page(resource, namespace, **which)

    while True:
        page = _decoder(model).page(await paging.page(client, ask))
        yield page
        if not page.continue_:
            return
        which["continue_"] = page.continue_


async def every(
    client: Client,
    resource: Resource,
    namespace: str | None,
    model: type[T],
    **which: Unpack[Which],
) -> list[T]:
    """All objects of a kind; raises `Malformed` if one of them does not fit the model."""
    objects: list[T] = []
    async for page in pages(client, resource, namespace, model, **which):
        if page.malformed:
            raise page.malformed[0]
        objects += page.items
    return objects


async def patch(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    operations: Sequence[Mapping[str, Any]],
    model: type[T],
) -> T:
    """A JSON patch; a `test` that fails is `Invalid`."""
    return await send(client, wire.json_patch(resource, namespace, name, operations), model)


async def merge(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    body: object,
    model: type[T],
) -> T:
    """A merge patch; guarded if `body` carries a resource version."""
    return await send(client, wire.merge_patch(resource, namespace, name, body), model)


async def strategic(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    body: object,
    model: type[T],
) -> T:
    """A strategic merge patch; guarded if `body` carries a uid."""
    return await send(client, wire.strategic_patch(resource, namespace, name, body), model)


async def apply(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    body: object,
    model: type[T],
) -> T:
    """Server-side apply that takes fields from other managers."""
    return await send(client, wire.apply(resource, namespace, name, body, force=True), model)


async def create(
    client: Client, resource: Resource, namespace: str | None, body: object, model: type[T]
) -> T:
    return await send(client, wire.create(resource, namespace, body), model)


async def delete(
    client: Client,
    resource: Resource,
    namespace: str | None,
    name: str,
    **how: Unpack[Deletion],
) -> bool:
    """Whether it was there to be deleted."""
    try:
        await client.send(wire.delete(resource, namespace, name, **how))
    except NotFound:
        return False
    return True


async def evict(client: Client, pod: Pod) -> None:
    """Delete this very pod if its disruption budgets allow it; `Throttled` if not now."""
    metadata = pod.metadata
    await client.send(wire.evict(metadata.namespace, metadata.name, uid=metadata.uid))


def selector(labels: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """The label selector of objects that have all of these labels; of none it selects all."""
    pairs = labels.items() if isinstance(labels, Mapping) else labels
    return ",".join(f"{name}={value}" for name, value in pairs)


def is_stub(model: type[Versioned]) -> bool:
    return getattr(model, "__struct_fields__", None) == ("metadata",)


@cache
def _decoder(model: type[T]) -> Decoder[T]:
    return Decoder(model)
