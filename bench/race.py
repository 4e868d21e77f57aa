"""The contenders over the same course, in turn."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders import Floor, Process, calls, wrote_since
from bench.load import Api, Sizes, Templates, all_of, bump

OFTEN = ("--max-rolls", "0/1h")
"""One source changes far more often here than anybody means it to."""
GAP = 0.25
CONTROLLERS = "system:kube-controller-manager"
FEW = 2
"""Writes of its own, as of its Lease."""
LIMIT = 120.0
Say = Callable[[str], None]


@dataclass
class Course:
    """Everything that one contender runs over."""

    api: Api
    templates: Templates
    namespace: str
    sizes: Sizes
    audit: Path
    user: str
    say: Say
    figures: dict[str, Any] = field(default_factory=dict)

    async def run(self) -> None:
        self.say(f"{self.user}: one ConfigMap, one workload")
        offset = self.audit.stat().st_size
        self.figures["configmap_ms"] = await self._latency("solo", "configmaps")
        self.figures["configmap_calls"] = self._calls(offset)
        self.say(f"{self.user}: one Secret, one workload")
        offset = self.audit.stat().st_size
        self.figures["secret_ms"] = await self._latency("secret", "secrets")
        self.figures["secret_calls"] = self._calls(offset)
        self.say(f"{self.user}: one ConfigMap, {self.sizes.fan} workloads")
        self.figures["fan_s"] = await self._fan()
        self.say(f"{self.user}: {self.sizes.storm} ConfigMaps at once")
        self.figures["storm_s"] = await self._storm()

    def _calls(self, offset: int) -> float:
        return sum(calls(self.audit, offset, self.user).values()) / self.sizes.rounds

    async def _latency(self, name: str, plural: str) -> float:
        """The median, in milliseconds."""
        taken = []
        for _ in range(self.sizes.rounds):
            since = time.perf_counter()
            await bump(self.api, self.namespace, name, plural)
            taken.append(await self.templates.wait([(self.namespace, name)], since, LIMIT))
            await asyncio.sleep(GAP)
        return 1000 * statistics.median(taken)

    async def _fan(self) -> float:
        """The median, in seconds. The first one makes connections, which the others find."""
        keys = [(self.namespace, f"fan-{i}") for i in range(self.sizes.fan)]
        taken = []
        for _ in range(self.sizes.fans):
            await self._quiet()
            since = time.perf_counter()
            await bump(self.api, self.namespace, "fan")
            taken.append(await self.templates.wait(keys, since, LIMIT))
        return statistics.median(taken)

    async def _storm(self) -> float:
        names = [f"storm-{i}" for i in range(self.sizes.storm)]
        keys = [(self.namespace, name) for name in names]
        taken = []
        for _ in range(self.sizes.storms):
            await self._quiet()
            since = time.perf_counter()
            await all_of(bump(self.api, self.namespace, name) for name in names)
            taken.append(await self.templates.wait(keys, since, LIMIT))
        return statistics.median(taken)

    async def _quiet(self) -> None:
        """Until Kubernetes is done with the rollouts of before: nobody is to race against those."""
        async with asyncio.timeout(LIMIT):
            while True:
                offset = self.audit.stat().st_size
                await asyncio.sleep(0.5)
                if wrote_since(self.audit, offset, CONTROLLERS) <= FEW:
                    return


@asynccontextmanager
async def following(api: Api, query: str = "") -> AsyncIterator[Templates]:
    templates, ready = Templates(api, query), asyncio.Event()
    task = asyncio.create_task(templates.follow(ready.set))
    await ready.wait()
    try:
        yield templates
    finally:
        task.cancel()


def medians(heats: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each figure, the median over the heats that have it."""
    names = dict.fromkeys(name for heat in heats for name in heat)
    return {name: statistics.median(h[name] for h in heats if name in h) for name in names}


async def race_floor(course: Course, floor: Floor) -> dict[str, Any]:
    """One heat of the floor."""
    task = asyncio.create_task(floor.run())
    await asyncio.sleep(0.5)
    try:
        await course.run()
    finally:
        task.cancel()
    return course.figures


async def race_reroll(course: Course, process: Process) -> dict[str, Any]:
    """One heat of the controller, which runs no longer than that."""
    figures = course.figures
    course.say("reroll: start")
    changes = dict(course.templates.changes)
    since = time.perf_counter()
    process.start("--debounce", "0", *OFTEN)
    figures["start_s"] = await _first_reaction(course, since)
    await asyncio.sleep(8)
    figures["rolled_by_starting"] = sum(
        count - changes.get(key, 0)
        for key, count in course.templates.changes.items()
        if key[0] == course.namespace and key[1] != "solo"
    )
    figures["memory_idle_mb"] = process.memory
    before = process.cpu
    await course.run()
    figures["cpu_ms"] = 1000 * (process.cpu - before) / course.sizes.rolls
    figures["memory_after_mb"] = process.memory
    process.stop()
    return figures


async def race_alone(course: Course, process: Process) -> dict[str, Any]:
    """What the floor has nothing to set against."""
    figures, place = course.figures, course.namespace
    figures["burst_rolls"] = await _burst(course, process)
    course.say("reroll: a change while it is down")
    process.stop()
    since = time.perf_counter()
    await bump(course.api, place, "down")
    process.start()
    await course.templates.wait([(place, "down")], since, LIMIT)
    process.stop()
    return figures


async def _first_reaction(course: Course, since: float) -> float:
    """Poke until something moves."""
    while True:
        poked = time.perf_counter()
        await bump(course.api, course.namespace, "solo")
        try:
            await course.templates.wait([(course.namespace, "solo")], poked, 0.25)
        except TimeoutError:
            if time.perf_counter() - since > LIMIT:
                raise
            continue
        return time.perf_counter() - since


async def _burst(course: Course, process: Process) -> int:
    """20 changes within a second, with the debounce that users have."""
    course.say("reroll: 20 changes within a second")
    process.start()
    await asyncio.sleep(4)
    key = (course.namespace, "burst")
    before = course.templates.changes[key]
    for _ in range(20):
        await bump(course.api, course.namespace, "burst")
        await asyncio.sleep(0.04)
    await asyncio.sleep(5)
    return course.templates.changes[key] - before


async def memory_with(process: Process, settle: float = 10.0) -> float:
    process.start("--debounce", "0", *OFTEN)
    await asyncio.sleep(settle)
    try:
        return process.memory
    finally:
        process.stop()
