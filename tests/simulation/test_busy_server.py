"""A namespace whose ConfigMap changes all the time, and an API server that it keeps busy.

The server does one thing after the other, as two cores do that all share. A roll is a patch, and
some four writes of Kubernetes because of it, which others wait for too.
"""

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest
from tests.simulation.controllers import Faults, ModelClient, Replica
from tests.simulation.json_patch import merged
from tests.simulation.store import Store
from tests.simulation.virtual_time import VirtualClock, run
from tests.support import build

from reroll.kube.errors import Unavailable
from reroll.kube.wire import Request
from reroll.settings.table import Settings

WRITE = 0.01
"""Seconds of the server for one write: twenty rolls in a second are all that it can do."""
HOSTILE, QUIET = "hostile", "quiet"
ENABLED = {
    "reroll.dev/enabled": "true",
    "reroll.dev/debounce": "0s",
    "reroll.dev/max-rolls": "0/1h",
}


class Busy(ModelClient):
    """Whoever asks waits until all that was asked before is done."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Faults(), random.Random(1))
        self._free = 0.0

    async def work(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._free = max(self._free, loop.time()) + seconds
        await asyncio.sleep(self._free - loop.time())

    async def send(self, request: Request, **_: Any) -> bytes:
        is_write = request.verb in {"patch", "create"}
        await self.work(WRITE if is_write else WRITE / 5)
        answer = self._store.answer(request)
        if b"config-hash" in (request.body or b""):
            self._free += 4 * WRITE
        return answer


class Hanging(Busy):
    """What is written in one namespace is refused, after a webhook did not answer in time."""

    async def send(self, request: Request, **how: Any) -> bytes:
        if request.verb == "patch" and f"/namespaces/{HOSTILE}/" in request.path:
            await asyncio.sleep(20)
            raise Unavailable("failed calling webhook", status=500)
        return await super().send(request, **how)


class OnBusy(Replica):
    server: type[Busy] = Busy
    busy: Busy

    def client(self, store: Store, *_: object) -> ModelClient:
        self.busy = self.server(store)
        return self.busy


class OnHanging(OnBusy):
    server = Hanging


class Scene:
    """A hostile namespace and a quiet one, and the time from a change to a roll in the latter."""

    def __init__(
        self,
        flapping: int,
        replica: type[OnBusy] = OnBusy,
        hostile: tuple[str, ...] = (HOSTILE,),
        **settings: Any,
    ) -> None:
        self.store, clock = Store(), VirtualClock(3)
        self.flapping, self.hostile = flapping, hostile
        sizes = dict.fromkeys(hostile, flapping // len(hostile)) | {QUIET: 1}
        for namespace, size in sizes.items():
            where = {"metadata": {"namespace": namespace}}
            self.store.put("configmaps", merged(build.configmap("app", {"key": "0"}), where))
            for number in range(size):
                made = build.deployment(
                    f"web-{number}", replicas=0, uses="configmap/app", annotations=ENABLED
                )
                self.store.put("deployments", merged(made, where))
        how = Settings(debounce=timedelta(), **settings)
        self.replica = replica(self.store, clock, how, Faults(), 1)
        self.rolls = {HOSTILE: 0, QUIET: 0}
        self._rolled = asyncio.Event()
        self.store.written = self._written

    def _written(self, before: Any, after: Any) -> None:
        if before["spec"] != after["spec"]:
            is_quiet = after["metadata"]["namespace"] == QUIET
            self.rolls[QUIET if is_quiet else HOSTILE] += 1
            if is_quiet:
                self._rolled.set()

    def change(self, namespace: str, value: str) -> None:
        there = self.store.all("configmaps")[namespace, "app"]
        self.store.put("configmaps", {**there, "data": {"key": value}})

    async def _flap(self) -> None:
        turn = 0
        while self.flapping:
            turn += 1
            for namespace in self.hostile:
                self.change(namespace, str(turn))
            await asyncio.sleep(1)

    async def measure(self, rounds: int = 60) -> tuple[float, float]:
        """The slowest but one of a roll, and of a patch that somebody else sends right then."""
        await self.replica.start()
        self.replica.lead()
        await asyncio.sleep(60)
        flap, loop = asyncio.ensure_future(self._flap()), asyncio.get_running_loop()
        await asyncio.sleep(60)
        taken, floor = [], []
        for turn in range(rounds):
            self._rolled.clear()
            since = loop.time()
            self.change(QUIET, f"new {turn}")
            await self._rolled.wait()
            taken.append(loop.time() - since)
            await asyncio.sleep(0.7)
            since = loop.time()
            await self.replica.busy.work(WRITE)
            floor.append(loop.time() - since)
            await asyncio.sleep(0.7)
        flap.cancel()
        return sorted(taken)[-2], sorted(floor)[-2]


async def beside(flapping: int, **how: Any) -> tuple[float, float, dict[str, int]]:
    scene = Scene(flapping, **how)
    return *(await scene.measure()), scene.rolls


@pytest.mark.parametrize(
    ("flapping", "concurrency"),
    [(600, 80), (600, 16), (400, 80), (100, 80)],
    ids=["more-than-a-burst", "few-workers", "less-than-a-burst", "few"],
)
def test_a_quiet_namespace_rolls_at_most_half_as_fast_beside_one_that_flaps(
    flapping: int, concurrency: int
) -> None:
    alone, _, _ = run(beside(0))
    taken, floor, rolls = run(beside(flapping, concurrency=concurrency))

    assert taken <= 2 * alone
    assert floor <= 15 * WRITE, "others find no more than three rolls before them"
    assert rolls[HOSTILE] >= 200, "who flaps goes on, more slowly"


def test_many_namespaces_that_flap_have_no_more_turns_than_one() -> None:
    """One tenant may have as many as there are."""
    alone, _, _ = run(beside(0))
    many = tuple(f"{HOSTILE}-{number}" for number in range(40))
    taken, floor, rolls = run(beside(400, hostile=many))

    assert taken <= 2 * alone
    assert floor <= 15 * WRITE
    assert rolls[HOSTILE] >= 200


def test_a_change_of_very_many_that_comes_once_takes_no_longer_than_the_server_does() -> None:
    async def once(size: int) -> float:
        scene = Scene(size)
        await scene.replica.start()
        scene.replica.lead()
        await asyncio.sleep(60)
        loop = asyncio.get_running_loop()
        since, scene.flapping = loop.time(), 0
        scene.change(HOSTILE, "new")
        while scene.rolls[HOSTILE] < size:
            await asyncio.sleep(0.5)
        return loop.time() - since

    size = 700
    assert run(once(size)) <= 1.3 * size * 5 * WRITE


def test_a_namespace_in_which_every_write_hangs_holds_nobody_else_up() -> None:
    async def beside_it() -> float:
        scene = Scene(300, OnHanging)
        taken, _ = await scene.measure(rounds=20)
        return taken

    alone, _, _ = run(beside(0))
    assert run(beside_it()) <= 2 * alone
