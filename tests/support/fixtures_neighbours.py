"""Fixtures of the tests with real neighbours: others that write what workloads use.

A test that uses one of them carries the marker `neighbours`, and runs only with
`make test-neighbours`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import session

from reroll_dev import binaries
from reroll_dev.cluster import DevCluster
from reroll_dev.neighbours.table import named


@dataclass(frozen=True, slots=True)
class Running:
    """A neighbour that runs on the control plane of this run."""

    programs: Mapping[str, Path]
    ports: Mapping[str, int]
    folder: Path
    """Of its own files."""


@pytest.fixture(scope="session")
def neighbour(cluster: DevCluster) -> Callable[[str], Running]:
    """`neighbour("cert-manager")`: it runs on the control plane; nobody ends it before the run."""

    def running(name: str) -> Running:
        row = named(name)
        found = binaries.find(row.programs, env=os.environ)
        if missing := [program for program, path in found.items() if path is None]:
            pytest.fail(
                f"{', '.join(missing)} missing; run `reroll dev build --neighbours {name}`"
                " (minutes, once)",
                pytrace=False,
            )
        programs = {program: path for program, path in found.items() if path}
        files = [
            binaries.asset(one, env=os.environ, progress=session.quiet()) for one in row.definitions
        ]
        ports = cluster.add_neighbour(row, programs, files)
        return Running(programs, ports, cluster.layout.config / name)

    return running
