"""What `reroll dev up` starts beside the control plane: Argo Rollouts, Prometheus, neighbours."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from reroll_dev import binaries, monitoring
from reroll_dev.cli.build import ROLLOUTS, ROLLOUTS_CRDS, neighbours
from reroll_dev.cluster import DevCluster
from reroll_dev.neighbours.table import NAMES, Neighbour
from reroll_dev.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rollouts", action="store_true", help="with Argo Rollouts")
    parser.add_argument(
        "--prometheus", action="store_true", help="with a Prometheus and an Alertmanager"
    )
    parser.add_argument(
        "--with",
        dest="neighbours",
        type=neighbours,
        default=(),
        metavar="NAME,…",
        help=f"with others that write config: {', '.join(NAMES)}, or all",
    )


def names(args: argparse.Namespace) -> list[str]:
    """The programs that the arguments ask for."""
    return [
        *([ROLLOUTS] if args.rollouts else []),
        *(binaries.PROMETHEUS if args.prometheus else ()),
        *(program for row in args.neighbours for program in row.programs),
    ]


def add(
    args: argparse.Namespace,
    cluster: DevCluster,
    programs: Mapping[str, Path],
    progress: Progress,
) -> None:
    if args.rollouts:
        crds = binaries.asset(ROLLOUTS_CRDS, env=os.environ, progress=progress)
        with progress.step("adding Argo Rollouts"):
            cluster.add_rollouts(programs[ROLLOUTS], crds)
    if args.prometheus:
        with progress.step("adding Prometheus and Alertmanager"):
            addresses = cluster.add_prometheus(programs)
        for name, address in addresses.items():
            progress.say(f"{name}: {address}")
        progress.say(f"rules and targets are files in {monitoring.folder(cluster.layout)}")
    for row in args.neighbours:
        _add(row, cluster, programs, progress)


def _add(
    row: Neighbour, cluster: DevCluster, programs: Mapping[str, Path], progress: Progress
) -> None:
    crds = [binaries.asset(name, env=os.environ, progress=progress) for name in row.definitions]
    with progress.step(f"adding {row.title}"):
        ports = cluster.add_neighbour(row, programs, crds)
    at = ", ".join(f"{name} at 127.0.0.1:{port}" for name, port in ports.items())
    progress.say(f"{row.title} {row.version} runs: {at}")
