"""`python -m bench.dashboard`: what the dashboard costs on a large cluster, with many browsers.

The cluster is that of `bench.scale`, at its full size at once. The first page, every other page,
fifty tabs while a thousand sources change, memory from listing to listing, and a restart of the API
server are measured, on the real program with a real control plane.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import aiohttp

from bench.crowd import Crowd, Size, change, following, grow, place, settled
from bench.ground import USER, ApiServer, ground, say
from bench.load import Api
from bench.relay import Relay
from bench.replica import Replica
from bench.scale import FLAGS, LIMIT
from bench.visit import Site, look, opened
from reroll_dev.cluster import DevCluster

LOOKS = 5
"""How often each page is asked for."""
CALM = 60.0
"""Seconds in which listing after listing should cost no more memory."""
LISTED = "are being listed"
READ = "is being read"
"""What the first page says as long as that is so."""
Measured = dict[str, float]


class Row(NamedTuple):
    key: str
    name: str
    unit: str
    digits: int = 2


ROWS = (
    Row("sources", "sources", "", 0),
    Row("workloads", "workloads", "", 0),
    Row(
        "answer_s", "start of the program to the first page, which may say what is being read", "s"
    ),
    Row("first_s", "the request for it alone", "s"),
    Row("sighted_s", "start to the first page with workloads, which has their rollouts", "s"),
    Row("sighted_cpu_s", "processor time of the dashboard until then", "s"),
    Row("listed_s", "start to the first page with all that follows from their sources", "s"),
    Row("listed_cpu_s", "processor time of the dashboard until then", "s"),
    Row("during_p50_s", "Now, asked for all the time until then: half of the times", "s"),
    Row("during_s", "the slowest of them", "s"),
    Row("listed_mb", "received for the first listing", "MB", 0),
    Row(
        "opened_s", "any page, opened: the slowest answer, which may say that it is being read", "s"
    ),
    Row("now_s", "Now", "s"),
    Row("held_s", "Held", "s"),
    Row("search_s", "Find", "s"),
    Row("source_s", "a source", "s"),
    Row("workload_s", "a workload", "s"),
    Row("graph_s", "a graph", "s"),
    Row("timeline_s", "Timeline", "s"),
    Row("stale_s", "Stale pods", "s"),
    Row("largest_kb", "the largest page", "kB", 0),
    Row("tabs", "tabs that listen", "", 0),
    Row("news_s", "from the last change until the last tab has heard of it", "s"),
    Row("page_p50_s", "Now, for the tabs that were told, half of the times", "s"),
    Row("page_p99_s", "the same, 99 of 100 times", "s"),
    Row("memory_mb", "memory after the first listing", "MB", 0),
    Row("pages_mb", "memory after all pages", "MB", 0),
    Row("calm_mb", "memory a minute of listings later", "MB", 0),
    Row("calmer_mb", "memory two more minutes of listings later", "MB", 0),
    Row("calm_s", "Now, every second of these: the slowest", "s"),
    Row("calm_cpu", "processor time in these, of one core", "%", 0),
    Row("calm_in_mb", "received in these", "MB", 0),
    Row("changed_mb", "memory after the changes, with the tabs", "MB", 0),
    Row("peak_mb", "memory, the most", "MB", 0),
    Row("back_s", "API server restarted: until pages are new again", "s", 1),
    Row("worst_s", "the slowest page in the meantime", "s"),
)


class Bench:
    def __init__(self, site: Site, browser: aiohttp.ClientSession, relay: Relay) -> None:
        self.site, self.browser, self.relay = site, browser, relay
        self.found: Measured = {}

    async def first(self) -> None:
        """Until there is something to see."""
        one = await look(self.browser, self.site, "/")
        self.found["answer_s"] = time.perf_counter() - self.site.began
        self.found["first_s"] = one.seconds
        times = [one.seconds]
        while one.status != 200 or LISTED in one.text:
            await asyncio.sleep(0.1)
            one = await look(self.browser, self.site, "/")
            times.append(one.seconds)
        self.found["sighted_s"] = time.perf_counter() - self.site.began
        self.found["sighted_cpu_s"] = self.site.processor_time()
        while READ in one.text:
            await asyncio.sleep(0.1)
            one = await look(self.browser, self.site, "/")
            times.append(one.seconds)
        self.found["listed_s"] = time.perf_counter() - self.site.began
        self.found["listed_cpu_s"] = self.site.processor_time()
        self.found["listed_mb"] = self.relay.received / 1e6
        self.found["memory_mb"] = self.site.memory()
        self.found |= {"during_s": max(times), "during_p50_s": statistics.median(times)}

    async def pages(self) -> None:
        object_ = f"{place(7)}/w-7"
        paths = {
            "now": "/", "held": "/held", "search": "/search?q=w-1",
            "source": f"/source/ConfigMap/{object_}",
            "workload": f"/workload/Deployment/{object_}",
            "graph": f"/graph/ConfigMap/{object_}",
            "timeline": "/timeline", "stale": "/stale",
        }  # fmt: skip
        largest, opened = 0, 0.0
        for name, path in paths.items():
            since = time.perf_counter()
            opened = max(opened, (await look(self.browser, self.site, path)).seconds)
            looks = [await look(self.browser, self.site, path, patient=True)]
            whole = time.perf_counter() - since
            looks += [await look(self.browser, self.site, path) for _ in range(LOOKS - 1)]
            bad = [one for one in looks if one.status not in {200, 202}]
            if bad or looks[0].status != 200:
                raise RuntimeError(f"{path}: {looks[0].status} {bad or looks[0].text[:300]}")
            self.found[f"{name}_s"] = max(whole, *(one.seconds for one in looks[1:]))
            say(f"{path}: {whole:.2f} {[round(one.seconds, 2) for one in looks]}")
            opened = max(opened, *(one.seconds for one in looks[1:]))
            largest = max(largest, *(one.size for one in looks))
        self.found |= {"largest_kb": largest / 1e3, "pages_mb": self.site.memory()}
        self.found["opened_s"] = opened

    async def calm(self) -> None:
        """With a reader, nothing changing."""
        worst, since = 0.0, time.perf_counter()
        received, used = self.relay.received, self.site.processor_time()
        for name, seconds in (("calm_mb", CALM), ("calmer_mb", 2 * CALM)):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                worst = max(worst, (await look(self.browser, self.site, "/")).seconds)
                await asyncio.sleep(1)
            self.found[name] = self.site.memory()
        spent = self.site.processor_time() - used
        self.found |= {
            "calm_s": worst,
            "calm_cpu": 100 * spent / (time.perf_counter() - since),
            "calm_in_mb": (self.relay.received - received) / 1e6,
        }

    async def crowd(self, api: Api, crowd: Crowd, tabs: int, changes: int) -> None:
        """Every tab loads its page when it is told of news, as a browser does."""
        heard: dict[int, float] = {}
        times: list[float] = []
        ready, told = asyncio.Semaphore(0), asyncio.Event()

        async def tab(number: int) -> None:
            timeout = aiohttp.ClientTimeout(total=None)
            async with self.browser.get(f"{self.site.base}/events", timeout=timeout) as stream:
                ready.release()
                async for line in stream.content:
                    if line.startswith(b"data:"):
                        heard[number] = time.perf_counter()
                        told.set()
                        times.append((await look(self.browser, self.site, "/")).seconds)

        listening = [asyncio.create_task(tab(number)) for number in range(tabs)]
        try:
            for _ in range(tabs):
                await ready.acquire()
            numbers, since = range(changes), time.perf_counter()
            await change(api, numbers)
            await crowd.all_rolled(numbers, since, LIMIT)
            done = time.perf_counter()
            async with asyncio.timeout(LIMIT):
                while sum(at > done for at in heard.values()) < tabs:
                    told.clear()
                    await told.wait()
            self.found["news_s"] = max(heard.values()) - done
            await asyncio.sleep(2)
        finally:
            for one in listening:
                one.cancel()
            await asyncio.gather(*listening, return_exceptions=True)
        cuts = statistics.quantiles(times, n=100)
        self.found |= {"tabs": tabs, "page_p50_s": cuts[49], "page_p99_s": cuts[98]}
        self.found["changed_mb"] = self.site.memory()

    async def restart(self, cluster: DevCluster) -> None:
        """Pages stay while the API server is gone, say so, and are new again after it."""
        server = ApiServer(cluster)
        server.kill()
        self.found["worst_s"] = await self._until(says_so=True)
        with server.again():
            since = time.perf_counter()
            worst = await self._until(says_so=False)
            self.found["back_s"] = time.perf_counter() - since
        self.found["worst_s"] = max(self.found["worst_s"], worst)

    async def _until(self, *, says_so: bool) -> float:
        """Until the page says that it may be old, or no longer; the slowest one by then."""
        since, worst = time.perf_counter(), 0.0
        while time.perf_counter() - since < LIMIT:
            one = await look(self.browser, self.site, "/")
            worst = max(worst, one.seconds)
            if one.status != 200:
                raise RuntimeError(f"a page was lost: {one.status}")
            if ("The cluster does not answer" in one.text) is says_so:
                return worst
            await asyncio.sleep(0.2)
        raise RuntimeError("pages do not tell whether the API server is there")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--sources", type=int, default=50_000, help="(default: 50000)")
    parser.add_argument("--workloads", type=int, default=5_000, help="(default: 5000)")
    parser.add_argument("--changes", type=int, default=1_000, help="(default: 1000)")
    parser.add_argument("--tabs", type=int, default=50, help="(default: 50)")
    parser.add_argument("--markdown", action="store_true", help="the table as the docs have it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    args = parser.parse_args()
    size = Size(args.sources, args.workloads, args.changes)
    with ground("dashboard") as cluster:
        found = asyncio.run(_measure(cluster, size, args.tabs))
    for row in ROWS:
        name, text = (
            f"{row.name}{', ' + row.unit if row.unit else ''}",
            f"{found[row.key]:,.{row.digits}f}",
        )
        print(f"| {name} | {text} |" if args.markdown else f"{name:<76}{text:>10}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


async def _measure(cluster: DevCluster, size: Size, tabs: int) -> Measured:
    replica = Replica(cluster.kubeconfig(USER), cluster.layout.logs / "reroll.log")
    async with Api(cluster.kubeconfig()) as api, following(api) as crowd:
        since = time.perf_counter()
        await grow(api, Size(0, 0, 0), size)
        await settled(api, size.workloads)
        say(f"{size} made in {time.perf_counter() - since:.0f} s")
        replica.start(*FLAGS)
        await crowd.until(lambda: len(crowd.adopted) >= size.workloads, LIMIT)
        say("all are on record")
        try:
            with Relay(cluster.kubeconfig(), cluster.layout.logs) as relay:
                return await _on(cluster, api, crowd, relay, (size, tabs))
        finally:
            replica.stop()


async def _on(
    cluster: DevCluster, api: Api, crowd: Crowd, relay: Relay, wanted: tuple[Size, int]
) -> Measured:
    size, tabs = wanted
    site = Site(relay.kubeconfig)
    try:
        async with opened(site) as browser:
            one = Bench(site, browser, relay)
            one.found |= {"sources": size.sources, "workloads": size.workloads}
            for step in (one.first(), one.pages(), one.calm()):
                await step
                say(json.dumps(one.found))
            await one.crowd(api, crowd, tabs, size.changes)
            say(json.dumps(one.found))
            await one.restart(cluster)
            one.found["peak_mb"] = site.memory("VmHWM")
            return one.found
    finally:
        site.end()


if __name__ == "__main__":
    sys.exit(main())
