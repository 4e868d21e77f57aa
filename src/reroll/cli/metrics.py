"""Reads the metrics of replicas: at addresses that were given, or through the API server."""

from typing import NamedTuple

import msgspec

from reroll.answers.doctor.installation import Installation, tag
from reroll.answers.doctor.scrape import Scrape, parse
from reroll.answers.migration.controllers import Container, is_ours
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.http.fetch import fetch
from reroll.kube import wire
from reroll.kube.errors import ApiError, Forbidden
from reroll.kube.view import View

PATIENCE = 5.0


class Unread(NamedTuple):
    """Metrics that could not be read, and why."""

    where: str
    why: str
    asked_for: bool
    """Somebody named the address."""


class Pod(NamedTuple):
    """One replica."""

    namespace: str
    name: str
    version: str
    """By the tag of its image; empty if there is none."""

    def __str__(self) -> str:
        return f"Pod {self.namespace}/{self.name}"


class _Pod(msgspec.Struct, gc=False):
    class Status(msgspec.Struct, gc=False):
        phase: str = ""

    class Spec(msgspec.Struct, gc=False):
        containers: list[Container] | None = None

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @property
    def version(self) -> str:
        ours = (one.image for one in given(self.spec.containers) if is_ours(one))
        return next(map(tag, ours), "")


async def running(view: View, found: list[Installation]) -> list[Pod]:
    """The replicas of these installations; who may not list them knows nothing of them."""
    pods: list[Pod] = []
    for one in found:
        near = View(view.client, one.key.namespace, view.home)
        listed = await near.every(wire.PODS, _Pod, label_selector=one.selector)
        view.gaps += near.gaps
        pods += [
            Pod(pod.metadata.namespace, pod.metadata.name, pod.version)
            for pod in listed
            if pod.status.phase == "Running"
        ]
    return pods


async def from_urls(urls: tuple[str, ...]) -> list[Scrape | Unread]:
    return [await _from_url(url) for url in urls]


async def _from_url(url: str) -> Scrape | Unread:
    try:
        status, body = await fetch("GET", url, seconds=PATIENCE)
        if status != 200:
            return Unread(url, f"it answered {status}", asked_for=True)
        return parse(url, body.decode("utf-8", "replace"))
    except (OSError, ValueError) as problem:
        return Unread(url, str(problem) or type(problem).__name__, asked_for=True)


async def of_pods(view: View, pods: list[Pod], port: int) -> list[Scrape | Unread]:
    return [await _of_pod(view, pod, port) for pod in pods]


async def _of_pod(view: View, pod: Pod, port: int) -> Scrape | Unread:
    path = f"{wire.PODS.path(pod.namespace, f'{pod.name}:{port}')}/proxy/metrics"
    request = wire.Request("GET", path, accept="*/*", verb="get", resource=wire.PODS)
    try:
        return parse(str(pod), (await view.client.send(request, timeout=PATIENCE)).decode())
    except Forbidden:
        why = "it may not be reached; grant `get` on pods/proxy"
        return Unread(str(pod), why, asked_for=False)
    except (ApiError, ValueError) as problem:
        return Unread(str(pod), str(problem), asked_for=False)
