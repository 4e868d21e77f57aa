"""`reroll dev`: a real control plane on this machine, to try things on and to test with.

Talk goes to stderr; stdout carries only what was asked for (a path, a kubeconfig, a table, logs).
"""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reroll.cli.errors import CommandError, Exit
from reroll.cli.output import print_table
from reroll_dev import binaries, monitoring
from reroll_dev.cli import beside, build, image
from reroll_dev.cluster import DevCluster, Phase, Row, Status
from reroll_dev.errors import DevClusterError
from reroll_dev.kubernetes import Switches
from reroll_dev.layout import default_folder
from reroll_dev.logs import AUDIT, follow, show
from reroll_dev.neighbours.table import PROCESSES as NEIGHBOURS
from reroll_dev.node import nft, requirements
from reroll_dev.node.programs import PROCESSES
from reroll_dev.progress import Progress, progress_on
from reroll_dev.start import Options

LOGS = (
    *(name for name in binaries.CORE if name != "kubectl"),
    *(build.ROLLOUTS, *PROCESSES, monitoring.ALERTMANAGER, monitoring.PROMETHEUS),
    *(*NEIGHBOURS, AUDIT),
)
COLUMNS = ("process", "pid", "state", "port", "log")

DESCRIPTION = (
    "Run a real control plane on this machine: etcd, API server, controller manager and\n"
    "scheduler, with nodes and pods played by KWOK. Nothing runs in the pods; the rest is\n"
    "Kubernetes. With --node there is also a real node that runs pods; this needs Linux and\n"
    "root.\n\n"
    "  reroll dev up\n"
    "  export KUBECONFIG=$(reroll dev kubeconfig --path)\n"
    "  kubectl get nodes\n"
    "  reroll dev down"
)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="dev_command", metavar="COMMAND", required=True)
    for name, summary, add_arguments, action in COMMANDS:
        sub = commands.add_parser(name, help=summary, description=summary)
        if name not in {"build", "check"}:
            _add_place(sub)
        add_arguments(sub)
        sub.set_defaults(dev_action=action)


def run(args: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace, Progress], int] = args.dev_action
    try:
        return action(args, progress_on(sys.stderr, env=os.environ))
    except DevClusterError as error:
        raise CommandError(str(error)) from error


def _up(args: argparse.Namespace, progress: Progress) -> int:
    options = _options(args)
    names = [*binaries.CORE, *beside.names(args)]
    if args.node:
        requirements.require(os.environ)
        names += binaries.NODE
    rows = binaries.of(args.kubernetes)
    programs = binaries.ensure(names, env=os.environ, progress=progress, binaries=rows)
    if args.node:
        programs |= nft.ensure(env=os.environ, progress=progress)
    cluster = _cluster(args, progress)
    with progress.step("starting the control plane"):
        started = cluster.up(programs, options)
    beside.add(args, cluster, programs, progress)
    progress.say(f"the cluster {'is up' if started else 'was up already'}: {cluster.server}")
    progress.say(f"next: export KUBECONFIG=$(reroll dev kubeconfig --path{_place(args)})")
    return Exit.OK


def _options(args: argparse.Namespace) -> Options:
    if args.nodes == 0 and not args.node:
        raise CommandError("--nodes 0 leaves no node at all; add --node", Exit.USAGE)
    build.check_version(args)
    usual = 0 if args.node else Options().nodes
    nodes = usual if args.nodes is None else args.nodes
    minor = args.kubernetes.name if args.kubernetes else ""
    switches = Switches(args.feature_gates, args.runtime_config)
    return Options(nodes, args.port, node=args.node, kubernetes=minor, switches=switches)


def _down(args: argparse.Namespace, progress: Progress) -> int:
    cluster = _cluster(args, progress)
    if cluster.down():
        progress.say(f"the cluster is down; its logs stay in {cluster.layout.logs}")
    else:
        progress.say(f"there is no cluster in {cluster.folder}; nothing to end")
    return Exit.OK


def _status(args: argparse.Namespace, progress: Progress) -> int:
    cluster = _cluster(args, progress)
    status = cluster.status()
    if args.output == "json":
        print(json.dumps(_status_document(cluster, status), indent=2))
    else:
        if status.rows:
            _print_table([_cells(row) for row in status.rows])
        progress.say(f"the cluster in {cluster.folder} is {status.phase}: {status.message}")
        if status.phase is not Phase.UP:
            progress.say(f"next: reroll dev up{_place(args)}")
    return Exit.OK if status.phase is Phase.UP else Exit.FAILED


def _kubeconfig(args: argparse.Namespace, progress: Progress) -> int:
    path = _cluster(args, progress).kubeconfig(args.identity)
    print(path if args.path else path.read_text(), end="\n" if args.path else "")
    return Exit.OK


def _logs(args: argparse.Namespace, progress: Progress) -> int:
    layout = _cluster(args, progress).layout
    if not layout.logs.is_dir():
        raise CommandError(f"there are no logs in {layout.logs}; start a cluster: reroll dev up")
    for line in show(layout, args.processes or LOGS, count=args.lines):
        print(line)
    if args.follow:
        for line in follow(layout, args.processes or LOGS):
            print(line, flush=True)
    return Exit.OK


def _image(args: argparse.Namespace, progress: Progress) -> int:
    return image.run(args, _cluster(args, progress), progress)


def _check(_args: argparse.Namespace, progress: Progress) -> int:
    sentences = requirements.missing(os.environ)
    for sentence in sentences or ("this machine can run a real node: reroll dev up --node",):
        progress.say(sentence)
    return Exit.FAILED if sentences else Exit.OK


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", default="default", help="name of the cluster, if you have several"
    )
    parser.add_argument(
        "--folder", type=Path, help="where its files are (default: below XDG_STATE_HOME, by name)"
    )


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nodes",
        type=_number(0, 1000),
        help="how many nodes KWOK plays (default: 3, or none with --node)",
    )
    parser.add_argument(
        "--node", action="store_true", help="add a real node that runs pods; needs Linux and root"
    )
    parser.add_argument("--port", type=_number(1, 65535), help="port of the API server")
    build.add_version(parser)
    for name, example in (
        ("--feature-gates", "WatchList=false"),
        ("--runtime-config", "api/beta=true"),
    ):
        parser.add_argument(
            name, default="", metavar="NAME=BOOL,…", help=f"of the API server, e.g. {example}"
        )
    beside.add_arguments(parser)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def _add_kubeconfig(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", default="admin", help="admin, reroll or alice (no rights)")
    parser.add_argument("--path", action="store_true", help="print the path of the file")


def _add_logs(parser: argparse.ArgumentParser) -> None:
    build.add_words(parser, "processes", "PROCESS", LOGS)
    parser.add_argument("-n", "--lines", type=_number(0, 1_000_000), default=20)
    parser.add_argument("-f", "--follow", action="store_true")


def _nothing_more(_parser: argparse.ArgumentParser) -> None:
    pass


COMMANDS: tuple[
    tuple[
        str,
        str,
        Callable[[argparse.ArgumentParser], None],
        Callable[[argparse.Namespace, Progress], int],
    ],
    ...,
] = (
    ("up", "start the cluster, if it is not up", _add_up, _up),
    ("down", "stop the cluster; its data is deleted, its logs stay", _nothing_more, _down),
    ("status", "show its processes; exits with 1 if it is not up", _add_status, _status),
    ("kubeconfig", "print the kubeconfig", _add_kubeconfig, _kubeconfig),
    ("logs", "print the end of its logs", _add_logs, _logs),
    ("check", "say whether this machine can run a real node", _nothing_more, _check),
    ("build", "build its missing programs", build.add_arguments, build.run),
    ("image", "give the node an image, without a registry", image.add_arguments, _image),
)


def _number(low: int, high: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number


def _cluster(args: argparse.Namespace, progress: Progress) -> DevCluster:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", args.name):
        raise CommandError(
            f"--name {args.name!r} cannot be a name; use letters, digits, dots and dashes",
            Exit.USAGE,
        )
    return DevCluster(args.folder or default_folder(args.name, os.environ), progress=progress)


def _place(args: argparse.Namespace) -> str:
    """The options that lead the next command to the same cluster."""
    if args.folder:
        return f" --folder {shlex.quote(str(args.folder))}"
    return f" --name {args.name}" if args.name != "default" else ""


def _facts(row: Row) -> tuple[str | int | None, ...]:
    process = row.process
    state = "running" if row.is_running else "died"
    return (process.name, process.pid, state, process.port, process.log or None)


def _cells(row: Row) -> tuple[str, ...]:
    return tuple("-" if fact is None else str(fact) for fact in _facts(row))


def _status_document(cluster: DevCluster, status: Status) -> dict[str, Any]:
    return {
        "folder": str(cluster.folder),
        "phase": status.phase,
        "message": status.message,
        "server": status.server,
        "processes": [dict(zip(COLUMNS, _facts(row), strict=True)) for row in status.rows],
    }


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        print_table(COLUMNS, rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*COLUMNS, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row, style="red" if row[2] == "died" else None)
    Console().print(table)
