"""The replicas that run, and their metrics: read at given addresses, or through the API server."""

from typing import NamedTuple

import msgspec

from reroll.answers.controllers import ControllerContainer
from reroll.answers.doctor.scrape import Scrape, parse
from reroll.answers.installations import Installation, tagged_version
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.http.fetch import fetch
from reroll.kube import resources, wire
from reroll.kube.errors import ApiError, Forbidden
from reroll.kube.view import View

PATIENCE = 5.0


class UnreadMetrics(NamedTuple):
    """Metrics that could not be read, and why."""

    where: str
    why: str
    asked_for: bool
    """The address was given by hand."""


class Replica(NamedTuple):
    """A pod of the controller that runs."""

    namespace: str
    name: str
    version: str
    """By the tag of its image; empty if that names none."""

    def __str__(self) -> str:
        return f"Pod {self.namespace}/{self.name}"


class _Pod(msgspec.Struct, gc=False):
    class Status(msgspec.Struct, gc=False):
        phase: str = ""

    class Spec(msgspec.Struct, gc=False):
        containers: list[ControllerContainer] | None = None

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @property
    def version(self) -> str:
        ours = (one.image for one in given(self.spec.containers) if one.is_ours)
        return next(map(tagged_version, ours), "")


async def running(view: View, installations: list[Installation]) -> list[Replica]:
    """The replicas of these installations; who may not list them knows nothing of them."""
    pods: list[Replica] = []
    for one in installations:
        near = View(view.client, one.key.namespace, view.home)
        listed = await near.every(resources.PODS, _Pod, label_selector=one.selector)
        view.gaps += near.gaps
        pods += [
            Replica(pod.metadata.namespace, pod.metadata.name, pod.version)
            for pod in listed
            if pod.status.phase == "Running"
        ]
    return pods


async def from_urls(urls: tuple[str, ...]) -> list[Scrape | UnreadMetrics]:
    return [await _from_url(url) for url in urls]


async def _from_url(url: str) -> Scrape | UnreadMetrics:
    try:
        status, body = await fetch("GET", url, seconds=PATIENCE)
        if status != 200:
            return UnreadMetrics(url, f"it answered {status}", asked_for=True)
        return parse(url, body.decode("utf-8", "replace"))
    except (OSError, ValueError) as problem:
        return UnreadMetrics(url, str(problem) or type(problem).__name__, asked_for=True)


async def of_replicas(
    view: View, replicas: list[Replica], port: int
) -> list[Scrape | UnreadMetrics]:
    return [await _of_replica(view, each, port) for each in replicas]


async def _of_replica(view: View, pod: Replica, port: int) -> Scrape | UnreadMetrics:
    path = f"{resources.PODS.path(pod.namespace, f'{pod.name}:{port}')}/proxy/metrics"
    request = wire.Request("GET", path, accept="*/*", verb="get", resource=resources.PODS)
    try:
        return parse(str(pod), (await view.client.send(request, timeout=PATIENCE)).decode())
    except Forbidden:
        why = "it may not be reached; grant `get` on pods/proxy"
        return UnreadMetrics(str(pod), why, asked_for=False)
    except (ApiError, ValueError) as problem:
        return UnreadMetrics(str(pod), str(problem), asked_for=False)
