"""Lists of objects with as many annotations as Kubernetes takes: little is kept of them."""

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from tests.core.build import DEPLOYMENT, document, workload
from tests.fuzz.bench import Bench

from reroll.core.model.record import Record
from reroll.engine.rollout_pods import rollout_pods
from reroll.engine.strategies.owners import Owners
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Malformed

PAGES, SIZE, LARGE = 20, 5, 200_000
WEB = workload(DEPLOYMENT, document(DEPLOYMENT, uid="web"))
RECORD = '{"n":%d,"at":"2026-03-01T12:00:00Z","why":"Adopted","s":{"configmap/app":"d"}}'


def item(number: int) -> dict[str, Any]:
    """A ReplicaSet, or a pod, that somebody made to look like one of the workload."""
    return {
        "metadata": {
            "name": f"web-{number}",
            "namespace": "shop",
            "uid": f"uid-{number}",
            "resourceVersion": str(1_000 + number),
            "annotations": {
                "large": "x" * LARGE,
                "deployment.kubernetes.io/revision": str(number),
                "reroll.dev/state": RECORD % number,
            },
            "ownerReferences": [
                {"kind": "Deployment", "name": "web", "uid": "web", "controller": True}
            ],
        },
        "status": {"phase": "Running"},
    }


class Listing:
    """An API server with very many of them, which it tells by the page."""

    async def send(self, request: wire.Request, **_: Any) -> bytes:
        page = int(dict(request.query).get("continue", "0"))
        items = [item(page * SIZE + number) for number in range(SIZE)]
        metadata = {"continue": str(page + 1)} if page + 1 < PAGES else {}
        return msgspec.json.encode({"items": items, "metadata": metadata})

    @property
    def client(self) -> Client:
        return cast("Client", self)


async def of_history(listing: Client) -> None:
    reader = Bench().observer.reader
    reader._client = listing
    history = await reader.history(DEPLOYMENT, WEB)
    assert isinstance(history.latest, Record)
    assert (history.latest.n, history.version, history.left) == (99, 1_099, False)


async def of_pods(listing: Client) -> None:
    kind = msgspec.structs.replace(DEPLOYMENT, revisions=None)
    assert len(await rollout_pods(listing, kind, WEB) or ()) == PAGES * SIZE


async def of_owners(listing: Client) -> None:
    bench = Bench()
    owners = Owners(listing, bench.clock, bench.world, bench.rolling._executor.ownerless.left)
    assert await owners._revisions(DEPLOYMENT, WEB) == []


@pytest.mark.parametrize("what", [of_history, of_pods, of_owners])
def test_a_list_takes_no_more_memory_than_two_of_its_pages(
    what: Callable[[Client], Awaitable[None]],
) -> None:
    async def measured() -> int:
        tracemalloc.start()
        try:
            await what(Listing().client)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    page = SIZE * LARGE
    assert asyncio.run(measured()) < 6 * page < PAGES * page / 3


def test_one_that_cannot_be_read_is_told_as_before() -> None:
    class Odd(Listing):
        async def send(self, request: wire.Request, **_: Any) -> bytes:
            return b'{"items":[{"metadata":{"name":1}}]}'

    with pytest.raises(Malformed):
        asyncio.run(of_history(Odd().client))
