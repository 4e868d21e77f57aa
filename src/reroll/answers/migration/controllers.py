"""Finds the controllers of a cluster, Reloader, Wave and Reroll, with their configuration.

A Deployment is one of theirs by the image of a container, or by flags that only one of them has.
Reroll is also found by the Lease that its leader keeps renewing, wherever it runs. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from reroll.answers.controllers import OURS, Controller, ControllerContainer, Lease
from reroll.answers.migration.translate import TOOLS, Tool, Translation, of_container
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, pick, replicas, value_in
from reroll.core.model.podspec import given
from reroll.core.tables.kinds import Kind

MANAGER = "reroll"
# The last steps of an image's path.
IMAGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "reloader": (("stakater", "reloader"), ("stakater", "reloader-ubi")),
    "wave": (("wave-k8s", "wave"), ("pusher", "wave")),
}


class ConfiguredController(Controller, frozen=True, gc=False):
    """A controller with its configuration, where that is another tool's."""

    translation: Translation | None = None
    """The configuration as settings of ours."""


def controllers(
    found: Iterable[tuple[Kind, Manifest]], leases: Iterable[Lease], now: datetime
) -> tuple[ConfiguredController, ...]:
    """Every one that is there, in the order of the tools."""
    listed = [one for kind, manifest in found for one in _of(kind, manifest)]
    known = {one.key.namespace for one in listed if one.title == OURS}
    for lease in leases:
        managers = {one.manager for one in given(lease.metadata.managed_fields)}
        namespace = lease.metadata.namespace
        if MANAGER in managers and namespace not in known and lease.is_held(now):
            listed.append(
                ConfiguredController(OURS, Key("Lease", namespace, lease.metadata.name), True)
            )
    return tuple(sorted(listed, key=lambda one: (one.title, one.key)))


def _of(kind: Kind, manifest: Manifest) -> Iterator[ConfiguredController]:
    path = (*kind.template, "spec", "containers") if kind.template else ()
    containers = value_in(pick(manifest, path), list[ControllerContainer])
    metadata = manifest.metadata
    key = Key(kind.name, metadata.namespace, metadata.name)
    for container in given(containers):
        is_active = replicas(kind, manifest) > 0
        if tool := tool_of(container):
            variables = {one.name: one.value for one in given(container.env)}
            translation = of_container(container.words, variables, tool)
            yield ConfiguredController(tool.title, key, is_active, translation)
        elif container.is_ours:
            yield ConfiguredController(OURS, key, is_active)


def tool_of(container: ControllerContainer) -> Tool | None:
    """Whose controller it is, if it is one."""
    steps = tuple(container.repository.split("/"))
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
