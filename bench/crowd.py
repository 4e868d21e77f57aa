"""A large cluster that grows: sources that nobody uses, and workloads with sources of their own.

Every workload uses one ConfigMap (in its environment) and one Secret (mounted) of its own. It has
no replicas: pods are the business of Kubernetes, and would only keep the scheduler busy.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from bench.load import PER_NAMESPACE, Api, Json, all_of, blob, deployment, make_namespace

RECORD = "reroll.dev/state"
DEPLOYMENTS = "/apis/apps/v1/deployments"


@dataclass(frozen=True)
class Size:
    sources: int
    workloads: int
    changes: int

    def part(self, share: float) -> "Size":
        return Size(*(round(n * share) for n in (self.sources, self.workloads, self.changes)))


def place(number: int) -> str:
    return f"team-{number // PER_NAMESPACE}"


async def grow(api: Api, old: Size, new: Size) -> None:
    """From one size to the next; what workloads use is part of the sources."""
    for first in range(old.workloads, new.workloads, PER_NAMESPACE):
        await make_namespace(api, place(first))
    await make_namespace(api, "background")
    unused = [(size.sources - 2 * size.workloads) // 2 for size in (old, new)]
    await all_of(_source(api, "background", f"s-{i}", p) for i in range(*unused) for p in PLURALS)
    numbers = range(old.workloads, new.workloads)
    await all_of(_source(api, place(i), f"w-{i}", plural) for i in numbers for plural in PLURALS)
    await all_of(_workload(api, i) for i in numbers)


PLURALS = ("configmaps", "secrets")


async def _source(api: Api, namespace: str, name: str, plural: str) -> None:
    body = {"metadata": {"name": name}, "data": {"a": blob(700), "key": blob(700)}}
    await api.call("POST", f"/api/v1/namespaces/{namespace}/{plural}", body)


async def _workload(api: Api, number: int) -> None:
    name = f"w-{number}"
    body = deployment(name, name, {"reroll.dev/enabled": "true"}, "secrets")
    (container,) = body["spec"]["template"]["spec"]["containers"]
    container["envFrom"] = [{"configMapRef": {"name": name}}]
    await api.call("POST", f"/apis/apps/v1/namespaces/{place(number)}/deployments", body)


async def change(api: Api, numbers: range) -> None:
    """One source of each of these workloads: of every other one its Secret."""
    await all_of(_change(api, i) for i in numbers)


async def _change(api: Api, number: int) -> None:
    path = f"/api/v1/namespaces/{place(number)}/{PLURALS[number % 2]}/w-{number}"
    await api.call("PATCH", path, {"data": {"key": blob(12)}})


class _Meta(msgspec.Struct):
    name: str
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    annotations: dict[str, str] = {}


class _TemplateMeta(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Template(msgspec.Struct):
    metadata: _TemplateMeta = msgspec.field(default_factory=_TemplateMeta)


class _Spec(msgspec.Struct):
    template: _Template


class _Deployment(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Event(msgspec.Struct):
    type: str
    object: _Deployment


_event = msgspec.json.Decoder(_Event)


@dataclass
class Crowd:
    """Follows all Deployments: which are on record, and when each template last changed."""

    api: Api
    adopted: set[str] = field(default_factory=set)
    rolled: dict[str, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """Of rolls, by workload."""
    _stamps: dict[str, dict[str, str]] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, ready: Callable[[], None]) -> None:
        version = (await self.api.call("GET", f"{DEPLOYMENTS}?limit=1"))["metadata"]
        latest = version["resourceVersion"]
        ready()
        while True:
            async for line in self.api.watch(DEPLOYMENTS, latest):
                event = _event.decode(line)
                latest = event.object.metadata.resource_version
                self._seen(event.object)

    def _seen(self, one: _Deployment) -> None:
        name, stamps = one.metadata.name, one.spec.template.metadata.annotations
        if RECORD in one.metadata.annotations:
            self.adopted.add(name)
        if self._stamps.setdefault(name, stamps) != stamps:
            self._stamps[name] = stamps
            self.rolled[name] = time.perf_counter()
            self.counts[name] += 1
        self._news.set()

    @property
    def rolls(self) -> int:
        return self.counts.total()

    async def until(self, holds: Callable[[], bool], limit: float) -> None:
        async with asyncio.timeout(limit):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def all_rolled(self, numbers: range, since: float, limit: float) -> float:
        """Seconds from `since` until the last of these workloads has another template."""
        names = [f"w-{i}" for i in numbers]
        await self.until(lambda: all(self.rolled.get(n, 0) > since for n in names), limit)
        return max(self.rolled[name] for name in names) - since


@asynccontextmanager
async def following(api: Api) -> AsyncIterator[Crowd]:
    crowd, ready = Crowd(api), asyncio.Event()
    task = asyncio.create_task(crowd.follow(ready.set))
    await ready.wait()
    try:
        yield crowd
    finally:
        task.cancel()


async def settled(api: Api, templates: int) -> None:
    """Until Kubernetes has made a ReplicaSet of each, which is no work of ours.

    Before that a workload has no pods, and a change is no reason to replace any.
    """
    path = "/apis/apps/v1/replicasets?limit=1"
    while True:
        listed: Json = await api.call("GET", path)
        left = listed["metadata"].get("remainingItemCount", 0)
        if left + len(listed["items"]) >= templates:
            return
        await asyncio.sleep(0.5)
