"""`python -m bench.failover`: for how long nothing rolls when the leader goes, and nothing is lost.

Several replicas watch; one leads. ConfigMaps change all the time, each with a workload of its own.
Again and again the leader is killed, or asked to stop, and another one takes its place among the
followers. The gap is the longest time between two rolls from then until all changes have rolled.

Then the API server is slow: every request reaches it seconds late, and the leader is to stay the
same. Then it is away, and comes back: how long until all have rolled, and with how many calls.
"""

import argparse
import asyncio
import json
import math
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.faultproxy import FaultProxy
from tests.support.faults import Late

from bench.crowd import Crowd, Size, following, grow, place, settled
from bench.ground import USER, ground, say
from bench.load import Api, blob
from bench.replica import Replica
from reroll_dev.cluster import DevCluster

WORKLOADS = 400
EVERY = 0.1
"""Seconds between two changes: a workload changes again long after the longest gap."""
SLOW_FOR = 30.0
"""Seconds, which is several Leases."""
LIMIT = 300.0
KILLED_GOAL = 8.0
"""Seconds for which nothing rolls, at the longest, when a leader is killed."""
OUTAGE_GOAL = 10.0
"""Seconds after which all have rolled, once the API server is back."""
LOOKS = "reroll_decisions_total"


class Stream:
    """Changes one ConfigMap after the other, and remembers when."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.changed: dict[str, float] = {}
        self.changes: Counter[str] = Counter()

    async def run(self) -> None:
        number = 0
        while True:
            await self.change(number % WORKLOADS)
            number += 1
            await asyncio.sleep(EVERY)

    async def change(self, number: int) -> None:
        path = f"/api/v1/namespaces/{place(number)}/configmaps/w-{number}"
        name = f"w-{number}"
        self.changed[name] = time.perf_counter()
        self.changes[name] += 1
        await self._api.call("PATCH", path, {"data": {"key": blob(12)}})

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            task.cancel()


class Team:
    """The replicas; there are always as many."""

    def __init__(self, kubeconfig: Path, logs: Path, size: int, flags: Sequence[str]) -> None:
        self._flags = ("--debounce", "0", "--max-rolls", "0/1h", *flags)
        self._replicas = [Replica(kubeconfig, logs / f"reroll-{i}.log") for i in range(size)]
        self._marks = [one.mark for one in self._replicas]
        for one in self._replicas:
            one.listen = f"127.0.0.1:{_free_port()}"

    def start(self) -> None:
        for number in range(len(self._replicas)):
            self._start(number)

    def stop(self) -> None:
        for replica in self._replicas:
            replica.stop()

    def _start(self, number: int) -> None:
        one = self._replicas[number]
        self._marks[number] = one.mark
        one.start(*self._flags)
        one.until("watching", self._marks[number])

    def leader(self, besides: int | None = None) -> int:
        """Who said last that it leads."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            for number, one in enumerate(self._replicas):
                if number == besides:
                    continue
                told = [
                    line["msg"]
                    for line in one.lines(self._marks[number])
                    if line["msg"] in {"leading", "no longer leading"}
                ]
                if told[-1:] == ["leading"]:
                    return number
            time.sleep(0.02)
        raise RuntimeError("nobody leads")

    def changes_of_lead(self) -> int:
        """How often someone began or ended to lead since its start."""
        words = {"leading", "no longer leading"}
        pairs = zip(self._replicas, self._marks, strict=True)
        return sum(line["msg"] in words for one, mark in pairs for line in one.lines(mark))

    def counted(self, metric: str) -> float:
        return sum(one.counted(metric) for one in self._replicas)

    def lose(self, number: int, *, kill: bool) -> None:
        """The leader goes, and is not waited for."""
        one = self._replicas[number]
        if kill:
            one.kill()
        else:
            one.ask_to_stop()

    def replace(self, number: int) -> None:
        self._replicas[number].stop()
        self._start(number)


async def gaps(
    team: Team, stream: Stream, crowd: Crowd, *, rounds: int, kill: bool, chance: random.Random
) -> list[float]:
    found = []
    for _ in range(rounds):
        leader = await asyncio.to_thread(team.leader)
        await asyncio.sleep(chance.uniform(1.5, 3.5))
        since = time.perf_counter()
        await asyncio.to_thread(team.lose, leader, kill=kill)
        await asyncio.to_thread(team.leader, besides=leader)
        waiting = _behind(stream, crowd)
        await crowd.until(lambda names=waiting: not _behind(stream, crowd, names), LIMIT)
        rolls = sorted(at for at in crowd.rolled.values() if at > since - 1)
        found.append(max(b - a for a, b in pairwise(rolls)))
        say(f"{'killed' if kill else 'stopped'}: {found[-1]:.2f} s")
        await asyncio.to_thread(team.replace, leader)
    return found


async def slowness(
    team: Team, proxy: FaultProxy, stream: Stream, crowd: Crowd, late: float
) -> dict[str, float]:
    """Every request of every replica reaches the API server late; it stays who leads."""
    say(f"every request is {late:g} s late for {SLOW_FOR:g} s")
    await asyncio.to_thread(team.leader)
    before, rolls = await asyncio.to_thread(team.changes_of_lead), crowd.rolls
    async with stream.flowing():
        await asyncio.to_thread(proxy.inject, Late(late), times=None)
        await asyncio.sleep(SLOW_FOR)
        await asyncio.to_thread(proxy.clear)
    await crowd.until(lambda: not _behind(stream, crowd), LIMIT)
    changes = await asyncio.to_thread(team.changes_of_lead) - before
    return {"late": late, "seconds": SLOW_FOR, "failovers": changes, "rolls": crowd.rolls - rolls}


async def outage(
    team: Team, proxy: FaultProxy, stream: Stream, crowd: Crowd, seconds: float
) -> dict[str, float]:
    """The API server is away for all replicas; the changes go on, past it."""
    say(f"the API server is away for {seconds:g} s")
    await asyncio.to_thread(team.leader)
    async with stream.flowing():
        await asyncio.to_thread(proxy.refuse)
        await asyncio.sleep(seconds)
    waiting, rolls, passed = len(_behind(stream, crowd)), crowd.rolls, len(proxy.log)
    looks = await asyncio.to_thread(team.counted, LOOKS)
    since = time.perf_counter()
    await asyncio.to_thread(proxy.accept)
    await crowd.until(lambda: not _behind(stream, crowd), LIMIT)
    caught_up = time.perf_counter() - since
    await asyncio.sleep(3)  # Events come after the rolls.
    rolled = crowd.rolls - rolls
    asked = [entry for entry in proxy.log[passed:] if "/leases" not in entry.path]
    return {
        "seconds": seconds,
        "waiting": waiting,
        "caught_up_s": caught_up,
        "rolls": rolled,
        "calls": len(asked),
        "streams_and_lists": sum(_is_following(entry.path) for entry in asked),
        "looks": await asyncio.to_thread(team.counted, LOOKS) - looks,
    }


def _is_following(target: str) -> bool:
    return "watch=true" in target or "limit=" in target


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def _behind(stream: Stream, crowd: Crowd, names: Iterable[str] = ()) -> list[str]:
    """Those of these that did not roll since their last change; of all, if none are named."""
    changed = stream.changed
    return [name for name in names or changed if crowd.rolled.get(name, 0) < changed[name]]


async def check(stream: Stream, crowd: Crowd) -> None:
    """Nothing lost, nothing doubled."""
    await crowd.until(lambda: not _behind(stream, crowd), LIMIT)
    await asyncio.sleep(2)
    more = {n: c for n, c in crowd.counts.items() if c > stream.changes[n]}
    if more:
        raise RuntimeError(f"rolled more often than changed: {more}")


async def _measure(
    cluster: DevCluster, proxy: FaultProxy, args: argparse.Namespace
) -> dict[str, Any]:
    chance = random.Random(args.seed)
    found: dict[str, Any] = {"lease_duration": args.lease_duration, "replicas": args.replicas}
    direct = cluster.kubeconfig(USER)
    async with Api(cluster.kubeconfig()) as api, following(api) as crowd:
        await grow(api, Size(0, 0, 0), Size(2 * WORKLOADS, WORKLOADS, 0))
        await settled(api, WORKLOADS)
        stream = Stream(api)
        async with _team(cluster, direct, args) as team:
            await crowd.until(lambda: len(crowd.adopted) >= WORKLOADS, LIMIT)
            async with stream.flowing():
                for word, rounds in (("kill", args.kills), ("stop", args.stops)):
                    found[word] = await gaps(
                        team, stream, crowd, rounds=rounds, kill=word == "kill", chance=chance
                    )
            await check(stream, crowd)
        if args.late or args.outage:
            async with _team(cluster, proxy.kubeconfig(direct), args) as team:
                if args.late:
                    found["late"] = await slowness(team, proxy, stream, crowd, args.late)
                if args.outage:
                    found["outage"] = await outage(team, proxy, stream, crowd, args.outage)
                await check(stream, crowd)
        return found | {"changes": stream.changes.total(), "rolls": crowd.rolls}


@asynccontextmanager
async def _team(
    cluster: DevCluster, kubeconfig: Path, args: argparse.Namespace
) -> AsyncIterator[Team]:
    flags = ("--lease-duration", args.lease_duration)
    team = Team(kubeconfig, cluster.layout.logs, args.replicas, flags)
    try:
        await asyncio.to_thread(team.start)
        yield team
    finally:
        await asyncio.to_thread(team.stop)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many of them do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def table(found: dict[str, Any]) -> str:
    lines = [f"{'the leader is':<16}{'rounds':>8}{'p50':>10}{'p99':>10}{'longest':>10}"]
    for word, name in (("kill", "killed"), ("stop", "asked to stop")):
        if values := found[word]:
            told = [quantile(values, 0.5), quantile(values, 0.99), max(values)]
            lines.append(
                f"{name:<16}{len(values):>8}" + "".join(f"{value:>8.2f} s" for value in told)
            )
    lines.append(f"{found['changes']} changes, {found['rolls']} rolls; nothing lost or doubled")
    if slow := found.get("late"):
        lines.append(
            f"with every request {slow['late']:g} s late for {slow['seconds']:g} s,"
            f" the lead changed {slow['failovers']} times; {slow['rolls']} rolls"
        )
    if away := found.get("outage"):
        lines.append(
            f"after {away['seconds']:g} s without an API server, {away['waiting']} workloads"
            f" caught up within {away['caught_up_s']:.2f} s: {away['rolls']} rolls,"
            f" {away['calls']} calls ({away['streams_and_lists']} of them watches and lists),"
            f" {away['looks']:.0f} looks"
        )
    return "\n".join(lines)


def missed(found: dict[str, Any]) -> list[str]:
    """A sentence for each goal that these figures do not reach."""
    told = []
    if (longest := max(found["kill"], default=0.0)) > KILLED_GOAL:
        told.append(
            f"a killed leader: nothing rolled for {longest:.2f} s; the goal is {KILLED_GOAL:g} s"
        )
    if changes := found.get("late", {}).get("failovers", 0):
        told.append(f"a slow API server: the lead changed {changes} times; it is to stay")
    if (caught_up := found.get("outage", {}).get("caught_up_s", 0.0)) > OUTAGE_GOAL:
        told.append(
            f"an API server that is back: the last rolled after {caught_up:.2f} s;"
            f" the goal is {OUTAGE_GOAL:g} s"
        )
    return told


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.failover", description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="(default: 30)")
    parser.add_argument("--stops", type=int, default=30, help="(default: 30)")
    parser.add_argument("--replicas", type=int, default=2, help="(default: 2)")
    parser.add_argument("--lease-duration", default="7s", help="(default: 7s)")
    parser.add_argument("--late", type=float, default=0, help="seconds that requests are late")
    parser.add_argument("--outage", type=float, default=0, help="seconds without an API server")
    parser.add_argument("--seed", type=int, default=1, help="when to strike (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args()
    with ground("failover") as cluster, FaultProxy(cluster) as proxy:
        found = asyncio.run(_measure(cluster, proxy, args))
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    for sentence in missed(found):
        print(f"missed: {sentence}", file=sys.stderr)
    return 1 if missed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
