"""The neighbours as a table: their processes, what these are told, and what has to be there first.

Pure. Each process listens on one port of 127.0.0.1, and is ready when that port answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module, Version
from reroll_dev.neighbours import programs

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a neighbour runs: its login, a folder of its own, the ports of those started before."""

    kubeconfig: Path
    folder: Path
    ports: Mapping[str, int] = field(default_factory=dict)

    def at(self, process: str) -> str:
        return f"127.0.0.1:{self.ports[process]}"


def _no_settings(_place: Place) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Part:
    """A process of a neighbour."""

    name: str
    program: str
    arguments: Callable[[Place, int], tuple[str, ...]]
    """Of a place and the port."""
    health: str = "/healthz"
    """The path that answers; none for one that speaks no HTTP: there, an open port will do."""
    settings: Callable[[Place], Mapping[str, str]] = _no_settings


@dataclass(frozen=True, slots=True)
class Neighbour:
    name: str
    title: str
    module: Module
    dependency: str
    """Whose version it is."""
    parts: tuple[Part, ...]
    definitions: tuple[str, ...]
    """Assets with its custom resources."""
    tools: tuple[str, ...] = ()
    objects: tuple[Object, ...] = ()
    """What it does not start without, beside its namespace, which has its name."""

    @property
    def programs(self) -> tuple[str, ...]:
        return (*dict.fromkeys(part.program for part in self.parts), *self.tools)

    @property
    def version(self) -> Version:
        return self.module.version_of(self.dependency)


def _own(place: Place, port: int) -> tuple[str, ...]:
    return (f"--kubeconfig={place.kubeconfig}", f"--listen=127.0.0.1:{port}")


NEIGHBOURS: tuple[Neighbour, ...] = (
    Neighbour(
        "cert-manager",
        "cert-manager",
        programs.CERT_MANAGER,
        programs.CERTS,
        (Part("cert-manager", "cert-manager", _own),),
        ("cert-manager-crds.yaml",),
    ),
    Neighbour(
        "sealed-secrets",
        "Sealed Secrets",
        programs.SEALED_SECRETS,
        programs.SEALED,
        (Part("sealed-secrets", "sealed-secrets", _own),),
        ("sealed-secrets-crds.yaml",),
        tools=("kubeseal",),
    ),
)
NAMES = tuple(row.name for row in NEIGHBOURS)
PROCESSES = tuple(part.name for row in NEIGHBOURS for part in row.parts)


def named(name: str) -> Neighbour:
    for row in NEIGHBOURS:
        if row.name == name:
            return row
    raise DevClusterError(f"there is no neighbour {name!r}; there is {', '.join(NAMES)}")
