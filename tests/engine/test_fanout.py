"""A source that very many use and that changes all the time: its namespace has a measure."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from tests.fuzz.bench import Bench
from tests.simulation.virtual_time import VirtualLoop

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.engine import fanout

USERS = 50
CHANGES = 400
APP = Key("ConfigMap", "shop", "app")
DB = Key("Secret", "shop", "db")


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> int:
    """Of which a change of the source takes a twentieth."""
    monkeypatch.setattr(fanout, "PER_SECOND", 20 * USERS)
    return 20


def deployment(number: int) -> dict[str, Any]:
    metadata = {
        "name": f"web-{number}",
        "namespace": "shop",
        "uid": f"web-{number}",
        "resourceVersion": "10",
        "generation": 1,
        "annotations": {"reroll.dev/enabled": "true"},
    }
    sources = [{"configMapRef": {"name": "app"}}, {"secretRef": {"name": "db"}}]
    container = {"name": "web", "image": "web", "envFrom": sources}
    return {"metadata": metadata, "spec": {"template": {"spec": {"containers": [container]}}}}


def source(key: Key, version: int, value: str) -> dict[str, Any]:
    metadata = {"name": key.name, "namespace": "shop", "resourceVersion": str(version), "uid": "c"}
    return {"metadata": metadata, "data": {"key": value}}


class Crowd:
    """Very many workloads that use one source, and how often they are told that it changed."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.told = 0
        bench, sources = self.bench, self.bench.world.sources
        bench.feed("namespaces", {"metadata": {"name": "shop", "resourceVersion": "1"}}, "ADDED")
        for number in range(USERS):
            bench.feed("deployments", deployment(number), "ADDED")
        bench.feed("configmaps", source(APP, 20, "old"), "ADDED")
        bench.listed()
        usual = sources._notice

        def counted(user: Key, changed: bool) -> None:
            self.told += changed
            usual(user, changed)

        sources._notice = counted

    def holds(self, key: Key) -> Content:
        content = self.bench.world.sources.content(key)
        assert isinstance(content, Content)
        return content


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(work())
    finally:
        loop.close()


def test_a_source_that_changes_all_the_time_is_told_in_its_measure(measure: int) -> None:
    async def flaps() -> None:
        crowd = Crowd()
        for n in range(CHANGES):
            crowd.bench.feed("configmaps", source(APP, 100 + n, f"v{n}"))
            await asyncio.sleep(0.01)
        seconds = CHANGES / 100
        assert crowd.told <= USERS * (measure + seconds * measure + 1)
        assert crowd.told >= USERS * seconds * measure  # It is not forgotten either.

        await asyncio.sleep(1)
        told = crowd.told
        fresh = Crowd()
        fresh.bench.feed("configmaps", source(APP, 100 + CHANGES - 1, f"v{CHANGES - 1}"))
        assert crowd.holds(APP).digests == fresh.holds(APP).digests
        await asyncio.sleep(60)
        assert crowd.told == told

    run(flaps)


def test_nobody_else_waits_for_it(measure: int) -> None:
    async def beside() -> None:
        crowd = Crowd()
        for n in range(2 * measure):
            crowd.bench.feed("configmaps", source(APP, 100 + n, f"v{n}"))
        await crowd.bench.rolls_good()

    run(beside)


def test_one_that_is_gone_meanwhile_stays_gone(measure: int) -> None:
    async def goes() -> None:
        crowd = Crowd()
        for n in range(2 * measure):
            crowd.bench.feed("configmaps", source(APP, 100 + n, f"v{n}"))
        crowd.bench.feed("configmaps", source(APP, 200, "last"), "DELETED")
        await asyncio.sleep(5)
        assert not isinstance(crowd.bench.world.sources.content(APP), Content)

    run(goes)


def test_a_secret_is_read_in_its_measure(measure: int) -> None:
    async def flaps() -> None:
        crowd = Crowd()
        bench, path = crowd.bench, "/api/v1/namespaces/shop/secrets/db"
        reader, delays = bench.observer.reader, []
        want = bench.world.sources.content_of(DB)
        for n in range(2 * measure):
            secret = source(DB, 100 + n, f"{n:04}")  # Which is base64 of something.
            bench.answers.by_path[path] = msgspec.json.encode(secret)
            delays.append(await reader._read(want))
        assert delays.count(None) <= measure + 2
        assert 0 < (delays[-1] or 0.0) < 1

        await asyncio.sleep(delays[-1] or 0.0)
        assert await reader._read(want) is None

    run(flaps)
