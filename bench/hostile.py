"""`python -m bench.hostile`: what a quiet namespace feels of a hostile one.

One namespace does everything that a tenant can do to a controller: annotations as large as
Kubernetes takes, sources with 100,000 keys, thousands of workloads that flap, pods that never
answer a reload, Injections to nowhere. Beside it the workloads of a quiet namespace roll one by
one. The floor does the same with the answer known in advance, so its figures show what the API
server alone makes of such a tenant. Then the same beside a controller that leaves that namespace
alone, and so has nothing else to do; in the end the floor where no controller runs at all.
"""

import argparse
import asyncio
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.contenders import Floor, cpu_of, reactions
from bench.ground import ROOT, USER, ground, say
from bench.load import Api, Sizes, Templates, blob, bump, deployment, make_namespace
from bench.race import following
from bench.replica import Replica
from bench.tenant import HOSTILE, Hostility, attack, harass, silence
from reroll_dev.cluster import DevCluster

FLOOR = "alice"
FLOOR_RULES = (
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list", "watch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]},
)
QUIET, QUIET_FLOOR = "quiet", "quiet-floor"
LABEL = "bench.reroll.dev/quiet"
"""On the workloads that are measured: only those are watched, so that the bench itself is idle."""
WORKLOADS = 10
"""Of each quiet namespace."""
LIMIT = 120.0
# One of the walls is an annotation of Reloader's.
FLAGS = ("--debounce", "0", "--injections", "--dialects", "reroll,reloader")
ROLLS = "reroll_rolls_total"
MEMORY = 256
"""MiB: the limit of the chart."""
PROBE_TIMEOUT = 5.0
"""Seconds: the probes of the chart."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300, help="changes (default: 300)")
    parser.add_argument("--part", type=float, default=1.0, help="of the hostility (default: 1)")
    args = parser.parse_args()
    with ground("hostile", others={FLOOR: FLOOR_RULES}) as cluster:
        figures = asyncio.run(_measure(cluster, Hostility().part(args.part), args.rounds))
    print(table(figures))
    return 0


# Who is watched over


class Probes:
    """Asks as the kubelet does, but every half second; from a thread of its own."""

    def __init__(self, port: int) -> None:
        self._port, self._stop = port, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.missed, self.slowest, self.asked = 0, 0.0, 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def forget(self) -> None:
        self.missed, self.slowest, self.asked = 0, 0.0, 0

    def _run(self) -> None:
        while not self._stop.wait(0.5):
            for path in ("healthz", "readyz"):
                since = time.perf_counter()
                try:
                    url = f"http://127.0.0.1:{self._port}/{path}"
                    urllib.request.urlopen(url, timeout=PROBE_TIMEOUT).close()
                except OSError:
                    self.missed += 1
                self.asked += 1
                self.slowest = max(self.slowest, time.perf_counter() - since)


MEASURED = {"reroll.dev/enabled": "true", "reroll.dev/max-rolls": "0/1h"}
"""One source changes far more often here than anybody means it to; the hostile ones get no such
leave."""


@dataclass
class Scene:
    """The quiet namespaces, and how long a change takes to become a roll in each."""

    api: Api
    templates: Templates
    audit: Path
    rounds: int
    figures: dict[str, float] = field(default_factory=dict)

    async def make(self) -> None:
        for namespace, annotations in ((QUIET, MEASURED), (QUIET_FLOOR, {})):
            await make_namespace(self.api, namespace)
            for i in range(WORKLOADS):
                await self._pair(namespace, f"web-{i}", annotations)

    async def _pair(self, namespace: str, name: str, annotations: dict[str, str]) -> None:
        source = {"metadata": {"name": name}, "data": {"key": blob(12)}}
        await self.api.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", source)
        body = deployment(name, name, annotations, "configmaps")
        body["metadata"]["labels"] = {LABEL: "true"}
        await self.api.call("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)

    async def measure(self, phase: str, *namespaces: str) -> None:
        taken: dict[str, list[float]] = {name: [] for name in namespaces or (QUIET, QUIET_FLOOR)}
        offset = self.audit.stat().st_size
        for turn in range(self.rounds):
            for namespace, seconds in taken.items():
                seconds.append(await self._one(namespace, f"web-{turn % WORKLOADS}"))
                await asyncio.sleep(0.05)
        for namespace, seconds in taken.items():
            self._note(f"{phase} {namespace}", seconds)
            self._note(f"{phase} {namespace} asked", reactions(self.audit, offset, namespace))

    def _note(self, what: str, seconds: list[float]) -> None:
        ordered = sorted(seconds)
        self.figures[f"{what} p50"] = 1000 * ordered[len(ordered) // 2]
        self.figures[f"{what} p99"] = 1000 * ordered[int(len(ordered) * 0.99)]

    async def _one(self, namespace: str, name: str) -> float:
        since = time.perf_counter()
        await bump(self.api, namespace, name)
        return await self.templates.wait([(namespace, name)], since, LIMIT)


class Cores:
    """The processor time of each process that has a part in it, in percent of one core."""

    def __init__(self, cluster: DevCluster, replica: Replica) -> None:
        rows = cluster.status().rows
        self._pids = {row.process.name: row.process.pid for row in rows} | {
            "the bench": os.getpid()
        }
        self._replica = replica
        self.begin()

    def begin(self) -> None:
        self._since, self._used = time.perf_counter(), self._now()

    def shares(self) -> dict[str, float]:
        seconds, now = time.perf_counter() - self._since, self._now()
        return {
            name: 100 * (now[name] - used) / seconds
            for name, used in self._used.items()
            if name in now
        }

    def _now(self) -> dict[str, float]:
        used = {name: cpu_of(pid) for name, pid in self._pids.items()}
        return used | ({"reroll": self._replica.cpu} if self._replica.is_running else {})


async def _measure(cluster: DevCluster, size: Hostility, rounds: int) -> dict[str, float]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    replica = Replica(cluster.kubeconfig(USER), cluster.layout.logs / "reroll.log")
    replica.listen = f"127.0.0.1:{port}"
    probes = Probes(port)
    async with (
        Api(cluster.kubeconfig()) as api,
        Api(cluster.kubeconfig(FLOOR)) as floor_api,
        following(api, f"?labelSelector={LABEL}") as templates,
    ):
        await _define_injections(api)
        scene = Scene(api, templates, cluster.audit_log, rounds)
        await scene.make()
        async with _task(Floor(floor_api, QUIET_FLOOR, Sizes(fan=0)).run()):
            replica.start(*FLAGS)
            try:
                await asyncio.to_thread(replica.until, "leading")
                await asyncio.sleep(5)
                probes.start()
                say("a controller with nothing else to do")
                await scene.measure("idle")
                scene.figures["idle memory"] = replica.memory
                cores = Cores(cluster, replica)
                scene.figures |= await _hostile(api, scene, size, probes, replica, cores)
            finally:
                replica.stop()
                probes.stop()
    return scene.figures


async def _hostile(
    api: Api, scene: Scene, size: Hostility, probes: Probes, replica: Replica, cores: Cores
) -> dict[str, float]:
    probes.forget()
    since = time.perf_counter()
    say(f"making the hostile namespace: {size}")
    with silence() as silent:
        await attack(api, size, silent)
        say(f"made in {time.perf_counter() - since:.0f} s; measuring beside it")
        return await _beside(api, scene, probes, replica, cores)


async def _beside(
    api: Api, scene: Scene, probes: Probes, replica: Replica, cores: Cores
) -> dict[str, float]:
    async with _task(harass(api)):
        await asyncio.sleep(10)
        cores.begin()
        rolls, since = replica.counted(ROLLS), time.perf_counter()
        await scene.measure("hostile")
        found = {f"with {name}": part for name, part in cores.shares().items()}
        found["rolls"] = (replica.counted(ROLLS) - rolls) / (time.perf_counter() - since)
        found |= {
            "probes": probes.asked,
            "probes missed": probes.missed,
            "probe slowest": 1000 * probes.slowest,
            "memory": replica.memory_peak,
        }
        probes.stop()
        replica.stop()
        say("beside a controller that leaves the hostile namespace alone")
        mark = replica.mark
        replica.start(*FLAGS, "--exclude-namespaces", HOSTILE)
        await asyncio.to_thread(replica.until, "leading", mark)
        await asyncio.sleep(15)
        await scene.measure("spared")
        replica.stop()
        say("the same without a controller")
        await asyncio.sleep(15)
        cores.begin()
        await scene.measure("without", QUIET_FLOOR)
        found |= {f"without {name}": part for name, part in cores.shares().items()}
    return found


async def _define_injections(api: Api) -> None:
    text = (ROOT / "deploy" / "crds" / "injections.reroll.dev.yaml").read_text()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.call("POST", path, yaml.safe_load(text))
    await asyncio.sleep(3)


@asynccontextmanager
async def _task(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0.5)
    try:
        yield
    finally:
        task.cancel()


def _row(figures: dict[str, float], title: str, name: str, than: str = "idle") -> str:
    alone, beside = figures[f"{than} {name}"], figures[f"hostile {name}"]
    return f"{title:<34}{alone:>9.1f} ms{beside:>9.1f} ms{beside / alone:>7.2f}x"


def table(figures: dict[str, float]) -> str:
    lines = [f"{'from change to roll':<34}{'alone':>12}{'beside':>12}{'ratio':>8}"]
    for title, namespace in (("quiet namespace", QUIET), ("the floor", QUIET_FLOOR)):
        lines += [
            _row(figures, f"{title}, {rank}", f"{namespace} {rank}") for rank in ("p50", "p99")
        ]
    lines.append("beside that namespace, if the controller leaves it alone, and if it does not")
    for title, namespace in (("quiet namespace", QUIET), ("the floor", QUIET_FLOOR)):
        lines += [
            _row(figures, f"{title}, {rank}", f"{namespace} {rank}", "spared")
            for rank in ("p50", "p99")
        ]
    lines.append("alone, and beside that namespace where no controller runs")
    for rank in ("p50", "p99"):
        alone, beside = (figures[f"{phase} {QUIET_FLOOR} {rank}"] for phase in ("idle", "without"))
        name = f"the floor, {rank}"
        lines.append(f"{name:<34}{alone:>9.1f} ms{beside:>9.1f} ms{beside / alone:>7.2f}x")
    lines.append("from a change that was answered to the roll that was asked for")
    for title, namespace in (("quiet namespace", QUIET), ("the floor", QUIET_FLOOR)):
        lines += [
            _row(figures, f"{title}, {rank}", f"{namespace} asked {rank}")
            for rank in ("p50", "p99")
        ]
    lines += [
        f"{'rolls of both namespaces':<34}{figures['rolls']:.1f} in a second",
        f"{'probes missed':<34}{figures['probes missed']:.0f} of {figures['probes']:.0f}",
        f"{'slowest answer to a probe':<34}{figures['probe slowest']:.0f} ms",
        f"{'memory, the most':<34}{figures['memory']:.0f} MB, limit {MEMORY} MiB",
        f"{'memory alone':<34}{figures['idle memory']:.0f} MB",
    ]
    for name in sorted(n.removeprefix("with ") for n in figures if n.startswith("with ")):
        parts = (figures.get(f"{phase} {name}") for phase in ("with", "without"))
        shown = " and ".join("-" if part is None else f"{part:.0f} %" for part in parts)
        lines.append(f"{f'processor time, {name}':<44}{shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
