"""`python -m bench.scale`: how memory, start-up, traffic and time grow with the cluster.

The cluster grows in steps on one control plane, and at each size the controller is measured anew.
A line through what was measured gives the figures of a cluster that is too large for this machine.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.crowd import Crowd, Size, change, following, grow, settled
from bench.ground import USER, ground, say
from bench.load import Api
from bench.relay import Relay
from bench.replica import Replica
from reroll_dev.cluster import DevCluster

FLAGS = ("--max-rolls", "0/1h", "--debounce", "0", "--rate", "100000", "--burst", "100000")
"""How fast it can be, not how fast it may be: by default it rolls 100 workloads a second."""
IDLE = 15.0
CALM = 20_000
"""Bytes in two seconds below which nothing happens any more."""
LIMIT = 600.0
Measured = dict[str, float]


class Row(NamedTuple):
    key: str
    name: str
    unit: str
    digits: int = 1
    fitted: bool = True
    """It grows with the cluster, and not with what else happened."""


ROWS = (
    Row("sources", "sources", "", 0),
    Row("workloads", "workloads", "", 0),
    Row("changes", "sources changed at once", "", 0),
    Row("adopted_s", "new workloads put on record", "1/s", 0, fitted=False),
    Row("ready_s", "start to ready", "s", 2),
    Row("down_s", "start to the roll of what changed meanwhile", "s", 2),
    Row("start_mb", "received at start", "MB"),
    Row("start_calls", "calls at start", "", 0),
    Row("start_cpu_s", "processor time to start", "s", 2),
    Row("memory_mb", "memory, idle", "MB"),
    Row("peak_mb", "memory, the most at start", "MB"),
    Row("idle_kbs", "received while nothing happens", "kB/s", 2),
    Row("idle_calls", "calls while nothing happens", "1/s", 2),
    Row("change_s", "the last of the changes made", "s", 2),
    Row("converge_s", "the last workload rolled", "s", 2),
    Row("change_mb", "received meanwhile", "MB"),
    Row("change_calls", "calls for them", "", 0),
    Row("calls_peak", "calls in the busiest second", "1/s", 0),
    Row("change_cpu_s", "processor time for them", "s", 2),
    Row("after_mb", "memory, after them", "MB"),
    Row("server_mb", "memory of the API server", "MB", 0),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--sources", type=int, default=50_000, help="(default: 50000)")
    parser.add_argument("--workloads", type=int, default=5_000, help="(default: 5000)")
    parser.add_argument("--changes", type=int, default=1_000, help="(default: 1000)")
    parser.add_argument("--parts", default="0.1,0.2,0.5,1", help="steps (default: 0.1,0.2,0.5,1)")
    parser.add_argument("--reach", type=float, default=10, help="extrapolate to (default: 10)")
    parser.add_argument("--markdown", action="store_true", help="the table as the docs have it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args()
    whole = Size(args.sources, args.workloads, args.changes)
    parts = [float(part) for part in args.parts.split(",")]
    with ground("scale") as cluster:
        measured = asyncio.run(_measure(cluster, whole, parts))
    far = {
        row.key: line_at(parts, [m[row.key] for m in measured], args.reach)
        for row in ROWS
        if row.fitted
    }
    shown = markdown if args.markdown else table
    print(shown(parts, measured, args.reach, far))
    if args.json:
        found = {"parts": parts, "measured": measured, "reach": args.reach, "far": far}
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


async def _measure(cluster: DevCluster, whole: Size, parts: Sequence[float]) -> list[Measured]:
    measured: list[Measured] = []
    size = Size(0, 0, 0)
    with Relay(cluster.kubeconfig(USER), cluster.layout.logs) as relay:
        replica = Replica(relay.kubeconfig, cluster.layout.logs / "reroll.log")
        async with Api(cluster.kubeconfig()) as api, following(api) as crowd:
            for part in parts:
                old, size = size, whole.part(part)
                since = time.perf_counter()
                await grow(api, old, size)
                await settled(api, size.workloads + crowd.rolls)
                say(f"{size} made in {time.perf_counter() - since:.0f} s")
                one = _One(cluster, api, crowd, relay, replica, size)
                measured.append(await one.run())
                say(json.dumps(measured[-1]))
    return measured


class _One:
    """The measurements at one size."""

    def __init__(
        self,
        cluster: DevCluster,
        api: Api,
        crowd: Crowd,
        relay: Relay,
        replica: Replica,
        size: Size,
    ) -> None:
        self._cluster, self._api, self._crowd = cluster, api, crowd
        self._relay, self._replica, self._size = relay, replica, size
        self._found: Measured = {
            "sources": size.sources,
            "workloads": size.workloads,
            "changes": size.changes,
        }

    async def run(self) -> Measured:
        try:
            await self._adopt()
            await self._start()
            await self._idle()
            await self._change()
        finally:
            self._replica.stop()
        return self._found

    async def _adopt(self) -> None:
        """The first start: it finds workloads that it never saw."""
        crowd, wanted = self._crowd, self._size.workloads
        since, new = time.perf_counter(), wanted - len(crowd.adopted)
        self._replica.start(*FLAGS)
        before = crowd.rolls
        await crowd.until(lambda: len(crowd.adopted) >= wanted, LIMIT)
        if crowd.rolls != before:
            raise RuntimeError(f"adopting rolled {crowd.rolls - before} workloads")
        self._found["adopted_s"] = new / (time.perf_counter() - since)
        self._replica.stop()

    async def _start(self) -> None:
        """With everything on record, and one change that nobody heard."""
        last = range(self._size.workloads - 1, self._size.workloads)
        await change(self._api, last)
        mark, received, offset = self._replica.mark, self._relay.received, self._audit
        since = time.perf_counter()
        self._replica.start(*FLAGS)
        await asyncio.to_thread(self._replica.until, "watching", mark)
        self._found["ready_s"] = time.perf_counter() - since
        self._found["down_s"] = await self._crowd.all_rolled(last, since, LIMIT)
        await self._calm()
        self._found["start_mb"] = (self._relay.received - received) / 1e6
        self._found["start_calls"] = sum(self._calls(offset).values())
        self._found["start_cpu_s"] = self._replica.cpu
        self._found["memory_mb"] = self._replica.memory
        self._found["peak_mb"] = self._replica.memory_peak

    async def _idle(self) -> None:
        received, offset = self._relay.received, self._audit
        await asyncio.sleep(IDLE)
        self._found["idle_kbs"] = (self._relay.received - received) / 1e3 / IDLE
        self._found["idle_calls"] = sum(self._calls(offset).values()) / IDLE

    async def _change(self) -> None:
        numbers = range(self._size.changes)
        received, offset, cpu = self._relay.received, self._audit, self._replica.cpu
        before, since = self._crowd.rolls, time.perf_counter()
        await change(self._api, numbers)
        self._found["change_s"] = time.perf_counter() - since
        self._found["converge_s"] = await self._crowd.all_rolled(numbers, since, LIMIT)
        await self._calm()
        rolls = self._crowd.rolls - before
        if rolls != len(numbers):
            raise RuntimeError(f"{rolls} rolls for {len(numbers)} changes")
        seconds = self._calls(offset)
        self._found["change_mb"] = (self._relay.received - received) / 1e6
        self._found["change_calls"] = sum(seconds.values())
        self._found["calls_peak"] = max(seconds.values())
        self._found["change_cpu_s"] = self._replica.cpu - cpu
        self._found["after_mb"] = self._replica.memory
        self._found["server_mb"] = self._server_memory()

    async def _calm(self) -> None:
        """Until Events are sent, and Kubernetes has written what follows from the rolls."""
        received = -CALM
        while self._relay.received - received > CALM:
            received = self._relay.received
            await asyncio.sleep(2)

    @property
    def _audit(self) -> int:
        return self._cluster.audit_log.stat().st_size

    def _calls(self, offset: int) -> Counter[str]:
        """Calls of the controller since then, the renewals of its Lease too, by second."""
        found: Counter[str] = Counter()
        with self._cluster.audit_log.open("rb") as log:
            log.seek(offset)
            whole, _, _ = log.read().rpartition(b"\n")
        for line in whole.splitlines():
            event = msgspec.json.decode(line)
            if event["user"]["username"] == USER and event["stage"] == "ResponseComplete":
                found[event["requestReceivedTimestamp"][:19]] += 1
        return found

    def _server_memory(self) -> float:
        rows = self._cluster.status().rows
        pid = next(row.process.pid for row in rows if row.process.name == "kube-apiserver")
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * 4096 / 1e6


def line_at(parts: Sequence[float], values: Sequence[float], reach: float) -> float:
    """Where a line through what was measured comes to; least squares."""
    if len(parts) < 2:
        return values[-1]
    x, y = sum(parts) / len(parts), sum(values) / len(values)
    slope = sum((a - x) * (b - y) for a, b in zip(parts, values, strict=True))
    slope /= sum((a - x) ** 2 for a in parts)
    return y + slope * (reach - x)


def table(parts: Sequence[float], measured: Sequence[Measured], reach: float, far: Measured) -> str:
    heads = [*(f"{part:g}" for part in parts), f"{reach:g} (fitted)"]
    lines = [f"{'':<46}" + "".join(f"{head:>14}" for head in heads)]
    for row in ROWS:
        values = [*(m[row.key] for m in measured), *([far[row.key]] if row.key in far else [])]
        told = "".join(f"{value:>14.{row.digits}f}" for value in values)
        lines.append(f"{row.name + (', ' + row.unit if row.unit else ''):<46}{told}")
    return "\n".join(lines)


def markdown(
    parts: Sequence[float], measured: Sequence[Measured], reach: float, far: Measured
) -> str:
    del parts, reach
    lines = [
        "| | " + "measured | " * len(measured) + "fitted |",
        "|---" * (len(measured) + 2) + "|",
    ]
    for row in ROWS:
        cells = [f"{m[row.key]:,.{row.digits}f}" for m in measured]
        cells.append(f"{far[row.key]:,.{row.digits}f}" if row.key in far else "")
        unit = f", {row.unit}" if row.unit else ""
        lines.append(f"| {row.name}{unit} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
