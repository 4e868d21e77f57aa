"""What the race is run on: a plain HTTP client, the objects, and who looks when a template changes.

The client is deliberately not the product's own: it must not flatter what it measures.
"""

import asyncio
import base64
import os
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import aiohttp
import msgspec
import yaml

T = TypeVar("T")
Json = dict[str, Any]
MERGE = "application/merge-patch+json"
PARALLEL = 32
PER_NAMESPACE = 50
"""Workloads in one namespace."""


class Api:
    """As many connections as it likes, no limits, no retries but for 429."""

    def __init__(self, kubeconfig: Path, *, connections: int = 64) -> None:
        self._connections = connections
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        self.server: str = cluster["server"]
        self._headers = {"Authorization": f"Bearer {user['token']}"}
        self._authority = (
            cluster.get("certificate-authority"),
            cluster.get("certificate-authority-data"),
        )

    async def __aenter__(self) -> Self:
        path, data = self._authority
        text = base64.b64decode(data).decode() if data else None
        trust = ssl.create_default_context(cafile=path, cadata=text)
        self._session = aiohttp.ClientSession(
            base_url=self.server,
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def call(self, method: str, path: str, body: Any = None, kind: str = MERGE) -> Json:
        headers = {"Content-Type": kind if method == "PATCH" else "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        while True:
            async with self._session.request(method, path, data=data, headers=headers) as answer:
                raw = await answer.read()
                if answer.status == 429:
                    await asyncio.sleep(0.2)
                    continue
                if answer.status >= 300 and answer.status != 409:
                    raise RuntimeError(f"{method} {path}: {answer.status} {raw[:300]!r}")
                decoded: Json = msgspec.json.decode(raw)
                return decoded

    async def watch(self, path: str, version: str) -> AsyncIterator[bytes]:
        query = {"watch": "1", "resourceVersion": version}
        async with self._session.get(path, params=query) as answer:
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line


async def all_of(jobs: Iterable[Awaitable[T]], parallel: int = PARALLEL) -> None:
    """Every job, at most `parallel` at once."""
    slots = asyncio.Semaphore(parallel)

    async def one(job: Awaitable[T]) -> None:
        async with slots:
            await job

    await asyncio.gather(*map(one, jobs))


@dataclass(frozen=True)
class Sizes:
    sources: int = 10_000
    releases: int = 300
    fan: int = 200
    storm: int = 300
    rounds: int = 20
    others: int = 2_500
    """Workloads that no contender is to touch."""
    fans: int = 5
    storms: int = 3
    """How often each of the two is run in a heat."""

    @property
    def rolls(self) -> int:
        """All of one heat."""
        return 2 * self.rounds + self.fans * self.fan + self.storms * self.storm


def deployment(name: str, source: str, annotations: dict[str, str], kind: str) -> Json:
    volume = (
        {"secret": {"secretName": source}} if kind == "secrets" else {"configMap": {"name": source}}
    )
    container = {
        "name": "main",
        "image": "example.invalid/app",
        "volumeMounts": [{"name": "c", "mountPath": "/c"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"volumes": [{"name": "c", **volume}], "containers": [container]},
            },
        },
    }


async def make_background(api: Api, sources: int, releases: int, *, first: int = 0) -> None:
    """Sources that nobody refers to: half ConfigMaps, half Secrets, and Helm's release Secrets."""
    await make_namespace(api, "background")
    jobs = []
    for i in range(first, sources // 2):
        data = {"a": blob(700), "b": blob(700)}
        for plural, content in (("secrets", data), ("configmaps", data)):
            body = {"metadata": {"name": f"s-{i}"}, "data": content}
            jobs.append(api.call("POST", f"/api/v1/namespaces/background/{plural}", body))
    for i in range(releases):
        body = {
            "metadata": {"name": f"sh.helm.release.v1.r{i}.v1", "labels": {"owner": "helm"}},
            "type": "helm.sh/release.v1",
            "data": {"release": blob(60_000)},
        }
        jobs.append(api.call("POST", "/api/v1/namespaces/background/secrets", body))
    await all_of(jobs)


def neighbourhoods(others: int) -> list[str]:
    return [f"others-{first // PER_NAMESPACE}" for first in range(0, others, PER_NAMESPACE)]


async def make_others(api: Api, others: int) -> None:
    """Workloads that did not opt in, with a ConfigMap each, as most of a cluster is."""
    names = neighbourhoods(others)
    for namespace in names:
        await make_namespace(api, namespace)
    places = [(names[i // PER_NAMESPACE], f"other-{i}") for i in range(others)]
    await all_of(
        api.call(
            "POST",
            f"/api/v1/namespaces/{namespace}/configmaps",
            {"metadata": {"name": name}, "data": {"key": blob(700)}},
        )
        for namespace, name in places
    )
    await all_of(
        api.call(
            "POST",
            f"/apis/apps/v1/namespaces/{namespace}/deployments",
            deployment(name, name, {}, "configmaps"),
        )
        for namespace, name in places
    )


@asynccontextmanager
async def onlookers(api: Api, others: int) -> AsyncIterator[None]:
    """Watches by others than the contenders: of Deployments and ConfigMaps, in each namespace."""

    async def look(path: str) -> None:
        version = (await api.call("GET", f"{path}?limit=1"))["metadata"]["resourceVersion"]
        async for _ in api.watch(path, version):
            pass

    paths = ("/apis/apps/v1/namespaces/{}/deployments", "/api/v1/namespaces/{}/configmaps")
    tasks = [
        asyncio.create_task(look(path.format(namespace)))
        for namespace in neighbourhoods(others)
        for path in paths
    ]
    await asyncio.sleep(1)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def make_field(api: Api, namespace: str, sizes: Sizes, annotations: dict[str, str]) -> None:
    """The workloads of one contender, and the sources that they use."""
    await make_namespace(api, namespace)
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    pairs = [(name, name, "configmaps") for name in ("solo", "burst", "down")]
    pairs += [("secret", "secret", "secrets")]
    pairs += [(f"fan-{i}", "fan", "configmaps") for i in range(sizes.fan)]
    pairs += [(f"storm-{i}", f"storm-{i}", "configmaps") for i in range(sizes.storm)]
    sources = {(source, plural) for _, source, plural in pairs}
    await all_of(
        api.call(
            "POST", f"{core}/{plural}", {"metadata": {"name": source}, "data": {"key": "MA=="}}
        )
        for source, plural in sources
    )
    await all_of(
        api.call("POST", f"{apps}/deployments", deployment(name, source, annotations, plural))
        for name, source, plural in pairs
    )


async def make_namespace(api: Api, name: str) -> None:
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})


def blob(size: int) -> str:
    return base64.b64encode(os.urandom(size)).decode()


class Templates:
    """Remembers when the template of each Deployment last changed, and how often."""

    def __init__(self, api: Api, query: str = "") -> None:
        """`query`: which of them, as `?labelSelector=…`."""
        self._api, self._path = api, f"/apis/apps/v1/deployments{query}"
        self._hashes: dict[tuple[str, str], bytes] = {}
        self._at: dict[tuple[str, str], float] = {}
        self.changes: Counter[tuple[str, str]] = Counter()
        self._news = asyncio.Event()

    async def follow(self, ready: Callable[[], None]) -> None:
        listed = await self._api.call("GET", self._path)
        for item in listed["items"]:
            meta = item["metadata"]
            template = msgspec.json.encode(item["spec"]["template"], order="sorted")
            self._hashes[meta["namespace"], meta["name"]] = template
        ready()
        version = listed["metadata"]["resourceVersion"]
        while True:
            # The API server ends the watch of who reads too slowly, which is no end of the race.
            async for line in self._api.watch(self._path, version):
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise RuntimeError(f"the watch of the benchmark ended: {event['object']}")
                version = event["object"]["metadata"]["resourceVersion"]
                self._seen(event["object"])

    def _seen(self, deployment: Json) -> None:
        meta = deployment["metadata"]
        key = meta["namespace"], meta["name"]
        template = msgspec.json.encode(deployment["spec"]["template"], order="sorted")
        if self._hashes.get(key, template) != template:
            self._at[key] = time.perf_counter()
            self.changes[key] += 1
            self._news.set()
        self._hashes[key] = template

    async def wait(self, keys: list[tuple[str, str]], since: float, limit: float) -> float:
        """Seconds from `since` to the last change of these; raises if one does not come."""
        async with asyncio.timeout(limit):
            while not all(self._at.get(key, 0) > since for key in keys):
                self._news.clear()
                await self._news.wait()
        return max(self._at[key] for key in keys) - since


async def bump(api: Api, namespace: str, name: str, plural: str = "configmaps") -> None:
    path = f"/api/v1/namespaces/{namespace}/{plural}/{name}"
    await api.call("PATCH", path, {"data": {"key": blob(12)}})
