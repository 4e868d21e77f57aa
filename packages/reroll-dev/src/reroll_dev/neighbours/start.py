"""The start of a neighbour beside a control plane that runs: resources, login, then its parts."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from reroll_dev import access, readiness
from reroll_dev.access import MASTERS, Identity
from reroll_dev.layout import Layout
from reroll_dev.neighbours.table import Neighbour, Part, Place
from reroll_dev.processes import Process
from reroll_dev.state import State

GRACE = 2.0


class Starter(Protocol):
    """The start of a cluster, as far as a neighbour needs it."""

    @property
    def layout(self) -> Layout: ...

    @property
    def binaries(self) -> Mapping[str, Path]: ...

    @property
    def state(self) -> State: ...

    def define(self, definitions: Path) -> None:
        """Have the custom resources of this file served."""

    def make(self, *manifests: Mapping[str, Any]) -> None:
        """Have these objects."""

    def serve(
        self,
        name: str,
        command: Callable[[int], Sequence[str]],
        is_ready: Callable[[int], bool],
        *,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start what listens on a port, and wait until it does."""

    def withdraw(self, name: str, *, grace: float) -> None:
        """End one, so that it is none of the cluster's any more."""


def add(start: Starter, neighbour: Neighbour, definitions: Sequence[Path]) -> None:
    """Have it run, with all its parts; one that does not start takes the others with it."""
    for file in definitions:
        start.define(file)
    start.make(_namespace(neighbour.name), *neighbour.objects)
    place = _place(start, neighbour)
    try:
        for part in neighbour.parts:
            process = _start(start, part, place)
            place = replace(place, ports={**place.ports, part.name: process.port or 0})
    except BaseException:
        for name in place.ports:
            start.withdraw(name, grace=GRACE)
        raise


def _start(start: Starter, part: Part, place: Place) -> Process:
    program = str(start.binaries[part.program])
    return start.serve(
        part.name,
        lambda port: [program, *part.arguments(place, port)],
        partial(readiness.answers, path=part.health) if part.health else readiness.listens,
        env={
            "KUBECONFIG": str(place.kubeconfig),
            "PATH": f"{_bin(place.folder)}{os.pathsep}{os.defpath}",
            **part.settings(place),
        },
    )


def _place(start: Starter, neighbour: Neighbour) -> Place:
    """With a login of its own, so that the audit log says who did what."""
    layout = start.layout
    kubeconfig = layout.kubeconfig(neighbour.name)
    if not kubeconfig.exists():
        login = access.certificate_login(layout, neighbour.name, MASTERS)
        access.write_kubeconfig(layout, Identity(neighbour.name), start.state.server, login)
    folder = layout.config / neighbour.name
    _bin(folder).mkdir(parents=True, exist_ok=True)
    for name, text in neighbour.scripts.items():
        script = _bin(folder) / name
        script.write_text(text, encoding="utf-8")
        script.chmod(0o700)
    return Place(kubeconfig, folder)


def _bin(folder: Path) -> Path:
    return folder / "bin"


def _namespace(name: str) -> Mapping[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
