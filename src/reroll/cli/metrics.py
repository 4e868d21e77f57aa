"""Reads the metrics of replicas: at addresses that were given, or through the API server."""

from typing import NamedTuple

import aiohttp
import msgspec

from reroll.cli.cluster import View
from reroll.core.workloads import Metadata
from reroll.features.doctor.installation import Installation
from reroll.features.doctor.scrape import Scrape, parse
from reroll.kube import wire
from reroll.kube.errors import ApiError, Forbidden

PATIENCE = 5.0
LARGEST = 4 * 1024 * 1024


class Unread(NamedTuple):
    """Metrics that could not be read, and why."""

    where: str
    why: str
    asked_for: bool
    """Somebody named the address."""


class _Pod(msgspec.Struct, gc=False):
    class Status(msgspec.Struct, gc=False):
        phase: str = ""

    metadata: Metadata
    status: Status = msgspec.field(default_factory=Status)


async def from_urls(urls: tuple[str, ...]) -> list[Scrape | Unread]:
    limit = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=limit, trust_env=False) as session:
        return [await _from_url(session, url) for url in urls]


async def _from_url(session: aiohttp.ClientSession, url: str) -> Scrape | Unread:
    try:
        async with session.get(url, allow_redirects=False) as answer:
            answer.raise_for_status()
            text = (await answer.content.read(LARGEST)).decode("utf-8", "replace")
            return parse(url, text)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as problem:
        return Unread(url, str(problem) or type(problem).__name__, asked_for=True)


async def of_pods(view: View, found: list[Installation], port: int) -> list[Scrape | Unread]:
    """Of the pods of these installations; who may not list them knows nothing of them."""
    read: list[Scrape | Unread] = []
    for one in found:
        near = View(view.client, one.key.namespace, view.home)
        pods = await near.every(wire.PODS, _Pod, label_selector=one.selector)
        view.gaps += near.gaps
        read += [
            await _of_pod(view, pod.metadata, port) for pod in pods if pod.status.phase == "Running"
        ]
    return read


async def _of_pod(view: View, pod: Metadata, port: int) -> Scrape | Unread:
    where = f"Pod {pod.namespace}/{pod.name}"
    path = f"{wire.PODS.path(pod.namespace, f'{pod.name}:{port}')}/proxy/metrics"
    request = wire.Request("GET", path, accept="*/*", verb="get", resource=wire.PODS)
    try:
        return parse(where, (await view.client.send(request, timeout=PATIENCE)).decode())
    except Forbidden:
        return Unread(where, "you may not reach pods; grant `get` on pods/proxy", asked_for=False)
    except (ApiError, ValueError) as problem:
        return Unread(where, str(problem), asked_for=False)
