"""Finding the controllers of a cluster: Reloader, Wave and Reroll, and what they are told.

A Deployment is one of theirs by the image of a container, or by flags that only one of them has.
Reroll is also found by the Lease that its leader keeps renewing, wherever it runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from reroll.answers.migration.translate import TOOLS, Tool, Translation, of_container
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata, pick, replicas
from reroll.core.model.podspec import given
from reroll.core.tables.kinds import Kind

OURS = "Reroll"
MANAGER = "reroll"
# The last steps of an image's path.
IMAGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "reloader": (("stakater", "reloader"), ("stakater", "reloader-ubi")),
    "wave": (("wave-k8s", "wave"), ("pusher", "wave")),
}


class Variable(msgspec.Struct, gc=False):
    name: str
    value: str | None = None


class Container(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None

    @property
    def words(self) -> list[str]:
        return [*given(self.command), *given(self.args)]


class _PodSpec(msgspec.Struct, gc=False):
    containers: list[Container] | None = None


class _Template(msgspec.Struct, gc=False):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Manager(msgspec.Struct, gc=False):
    manager: str = ""


class _LeaseMetadata(Metadata, gc=False, rename="camel"):
    managed_fields: list[_Manager] | None = None


class _LeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    renew_time: datetime | None = None
    lease_duration_seconds: int | None = None


class Lease(msgspec.Struct, gc=False):
    metadata: _LeaseMetadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)

    def is_held(self, now: datetime) -> bool:
        spec = self.spec
        if not spec.holder_identity or spec.renew_time is None:
            return False
        return now < spec.renew_time + timedelta(seconds=spec.lease_duration_seconds or 15)


class Controller(NamedTuple):
    """One of them, found in the cluster."""

    title: str
    key: Key
    is_active: bool
    told: Translation | None = None
    """What it is told, as settings of ours."""


def controllers(
    found: Iterable[tuple[Kind, Manifest]], leases: Iterable[Lease], now: datetime
) -> tuple[Controller, ...]:
    """Every one that is there, in the order of the tools."""
    listed = [one for kind, manifest in found for one in _of(kind, manifest)]
    known = {one.key.namespace for one in listed if one.title == OURS}
    for lease in leases:
        managers = {one.manager for one in given(lease.metadata.managed_fields)}
        namespace = lease.metadata.namespace
        if MANAGER in managers and namespace not in known and lease.is_held(now):
            listed.append(Controller(OURS, Key("Lease", namespace, lease.metadata.name), True))
    return tuple(sorted(listed, key=lambda one: (one.title, one.key)))


def _of(kind: Kind, manifest: Manifest) -> Iterator[Controller]:
    raw = pick(manifest, kind.template)
    try:
        template = msgspec.json.decode(raw, type=_Template) if raw else _Template()
    except (msgspec.DecodeError, RecursionError):
        return
    metadata = manifest.metadata
    key = Key(kind.name, metadata.namespace, metadata.name)
    for container in given(template.spec.containers):
        is_active = replicas(kind, manifest) > 0
        if tool := tool_of(container):
            variables = {one.name: one.value for one in given(container.env)}
            told = of_container(container.words, variables, tool)
            yield Controller(tool.title, key, is_active, told)
        elif is_ours(container):
            yield Controller(OURS, key, is_active)


def tool_of(container: Container) -> Tool | None:
    """Whose controller it is, if it is one."""
    steps = tuple(_repository(container.image).split("/"))
    for tool in TOOLS:
        if any(steps[-len(image) :] == image for image in IMAGES[tool.name]):
            return tool
    flags = [word.partition("=")[0] for word in container.words if word.startswith("--")]
    for tool in TOOLS:
        others = [other for other in TOOLS if other is not tool]
        if all(map(tool.row, flags)) and any(_is_telling(flag, others) for flag in flags):
            return tool
    return None


def _is_telling(flag: str, others: list[Tool]) -> bool:
    """Whether it is a flag that only few programs have."""
    return flag not in COMMON and not any(other.row(flag) for other in others)


COMMON = frozenset(
    {"--version", "--log-level", "--log-format", "--kubeconfig", "--leader-election"}
    | {"--leader-election-id", "--leader-election-namespace", "--sync-period", "--enable-webhooks"}
    | {"--enable-pprof", "--pprof-addr", "--webhook-url", "--enable-ha", "--namespace-selector"}
    | {"--zap-devel", "--zap-encoder", "--zap-log-level", "--zap-stacktrace-level"}
    | {"--zap-time-encoding"}
)
"""Flags of many programs: they tell nothing about whose they are."""


def is_ours(container: Container) -> bool:
    """Whether it runs the controller of Reroll."""
    named = _repository(container.image).rpartition("/")[2] == "reroll"
    words = container.words
    return (named and "run" in words) or [word.rpartition("/")[2] for word in words[:2]] == [
        "reroll",
        "run",
    ]


def _repository(image: str) -> str:
    """An image without its tag and digest."""
    path, _, last = image.partition("@")[0].rpartition("/")
    return f"{path}/{last.partition(':')[0]}".strip("/")
