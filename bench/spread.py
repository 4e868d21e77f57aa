"""`python -m bench.spread`: one ConfigMap that thousands of workloads use, with `doubling`.

The workloads have a pod each and real rollouts. Every roll is held against the order of events in
the cluster: one begins only when all rounds before its own are complete.
"""

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bench.contenders import calls
from bench.ground import USER, ground, say
from bench.load import Api, all_of, bump, deployment, make_namespace
from bench.replica import Replica
from reroll_dev.cluster import DevCluster

NAMESPACE = "shop"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
OPT_IN = {"reroll.dev/enabled": "true", "reroll.dev/max-parallel": "doubling"}
FLAGS = ("--debounce", "0", "--rate", "1000", "--burst", "1000")
LIMIT = 3600.0


class _Meta(msgspec.Struct):
    name: str
    generation: int
    resource_version: str = msgspec.field(name="resourceVersion")
    annotations: dict[str, str] = {}


class _Status(msgspec.Struct, rename="camel"):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0


class _TemplateMeta(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Template(msgspec.Struct):
    metadata: _TemplateMeta


class _Spec(msgspec.Struct):
    template: _Template


class _Deployment(msgspec.Struct):
    metadata: _Meta
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_complete(self) -> bool:
        status = self.status
        counts = {status.replicas, status.updated_replicas, status.available_replicas}
        return status.observed_generation >= self.metadata.generation and counts == {1}


class _Event(msgspec.Struct):
    object: _Deployment


_event = msgspec.json.Decoder(_Event)


@dataclass
class Spread:
    """What the watch of all Deployments tells, in the order in which it happened."""

    marks: dict[str, dict[str, str]] = field(default_factory=dict)
    """The annotations of each template, which a roll changes."""
    rolled: set[str] = field(default_factory=set)
    complete: set[str] = field(default_factory=set)
    """Of those that rolled."""
    ready: set[str] = field(default_factory=set)
    on_record: set[str] = field(default_factory=set)
    most: int = 0
    """Under way at once."""
    broken: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def seen(self, one: _Deployment) -> None:
        name, marks = one.metadata.name, one.spec.template.metadata.annotations
        if "reroll.dev/state" in one.metadata.annotations:
            self.on_record.add(name)
        if self.marks.setdefault(name, marks) != marks:
            self.marks[name] = marks
            self._rolled(name)
        if one.is_complete:
            (self.complete if name in self.rolled else self.ready).add(name)
        self.news.set()

    def _rolled(self, name: str) -> None:
        if name in self.rolled:
            self.broken.append(f"{name} rolled twice")
        self.rolled.add(name)
        under_way = len(self.rolled) - len(self.complete)
        self.most = max(self.most, under_way)
        if len(self.complete) < before_round(len(self.rolled)):
            self.broken.append(f"{name} began with {under_way - 1} under way")

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT):
            while not holds():
                self.news.clear()
                await self.news.wait()


def before_round(number: int) -> int:
    """How many rolls there are in the rounds before that of roll `number`: 1, 2, 4 and so on."""
    return (1 << int(math.log2(number))) - 1


async def _follow(api: Api, spread: Spread, version: str) -> None:
    while True:
        async for line in api.watch(DEPLOYMENTS, version):
            event = _event.decode(line)
            version = event.object.metadata.resource_version
            spread.seen(event.object)


async def _make(api: Api, workloads: int) -> None:
    await make_namespace(api, NAMESPACE)
    source = {"metadata": {"name": "app"}, "data": {"key": "first"}}
    await api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", source)

    async def one(number: int) -> None:
        body = deployment(f"web-{number:05}", "app", OPT_IN, "configmaps")
        body["spec"]["replicas"] = 1
        await api.call("POST", DEPLOYMENTS, body)

    await all_of(map(one, range(workloads)))


async def _measure(cluster: DevCluster, workloads: int) -> dict[str, float]:
    spread, replica = Spread(), Replica(cluster.kubeconfig(USER), cluster.layout.logs / "r.log")
    async with Api(cluster.kubeconfig()) as api:
        version = (await api.call("GET", DEPLOYMENTS))["metadata"]["resourceVersion"]
        follower = asyncio.create_task(_follow(api, spread, version))
        try:
            await _make(api, workloads)
            await spread.until(lambda: len(spread.ready) == workloads)
            say(f"{workloads} workloads are ready")
            replica.start(*FLAGS)
            await spread.until(lambda: len(spread.on_record) == workloads)
            return await _change(cluster, api, spread, replica)
        finally:
            follower.cancel()
            replica.stop()


async def _change(
    cluster: DevCluster, api: Api, spread: Spread, replica: Replica
) -> dict[str, float]:
    workloads = len(spread.marks)
    found = {"workloads": float(workloads), "memory_mb": replica.memory}
    cpu, offset = replica.cpu, cluster.audit_log.stat().st_size
    since = time.perf_counter()
    await bump(api, NAMESPACE, "app")
    await spread.until(lambda: len(spread.complete) == workloads or bool(spread.broken))
    if spread.broken:
        raise RuntimeError("; ".join(spread.broken[:5]))
    found["seconds"] = time.perf_counter() - since
    await asyncio.sleep(5)  # The last verdicts and Events are written.
    asked = calls(cluster.audit_log, offset, USER)
    found["rolls"] = float(len(spread.rolled))
    found["most_under_way"] = float(spread.most)
    found["patches_each"] = asked["patch deployments"] / workloads
    found["calls_each"] = asked.total() / workloads
    found["processor_ms_each"] = (replica.cpu - cpu) / workloads * 1e3
    found["memory_after_mb"] = replica.memory
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.spread", description=__doc__)
    parser.add_argument("--workloads", type=int, default=5_000, help="(default: 5000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args()
    with ground("spread") as cluster:
        found = asyncio.run(_measure(cluster, args.workloads))
    for name, value in found.items():
        print(f"{name:<20}{value:>12,.1f}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
