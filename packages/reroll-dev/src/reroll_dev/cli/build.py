"""`reroll dev build`: the programs of a cluster and of what runs beside it, built if missing."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from reroll.cli.errors import CommandError, Exit
from reroll_dev import binaries, kubernetes
from reroll_dev.errors import DevClusterError
from reroll_dev.kubernetes import Minor
from reroll_dev.neighbours import table
from reroll_dev.node import nft, requirements
from reroll_dev.progress import Progress

ROLLOUTS, ROLLOUTS_CRDS = "rollouts-controller", "rollouts-crds.yaml"
EVERYTHING = tuple(row.name for row in binaries.BINARIES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_words(parser, "names", "NAME", (*EVERYTHING, *binaries.NODE, *binaries.PROMETHEUS))
    add_version(parser)
    parser.add_argument("--all", action="store_true", help="also what only some tests need")
    parser.add_argument("--node", action="store_true", help="what a real node needs")
    parser.add_argument("--prometheus", action="store_true", help="Prometheus and Alertmanager")
    parser.add_argument(
        "--neighbours",
        type=neighbours,
        default=(),
        metavar="NAME,…",
        help=f"others that write config: {', '.join(table.NAMES)}, or all",
    )


def run(args: argparse.Namespace, progress: Progress) -> int:
    check_version(args)
    if args.node:
        requirements.require(os.environ)
    names = _names(args)
    found: dict[str, Path] = binaries.ensure(
        names, env=os.environ, progress=progress, binaries=binaries.of(args.kubernetes)
    )
    if args.node:
        found |= nft.ensure(env=os.environ, progress=progress)
    assets = [ROLLOUTS_CRDS] if ROLLOUTS in names else []
    for row in args.neighbours:
        assets += row.definitions
    for name in assets:
        found[name] = binaries.asset(name, env=os.environ, progress=progress)
    width = max(map(len, found))
    for name, path in found.items():
        print(f"{name:<{width}}  {path}")
    return Exit.OK


def _names(args: argparse.Namespace) -> tuple[str, ...]:
    chosen = args.node or args.prometheus or args.neighbours
    names = EVERYTHING if args.all else args.names or (() if chosen else binaries.CORE)
    return (
        *names,
        *(binaries.NODE if args.node else ()),
        *(binaries.PROMETHEUS if args.prometheus else ()),
        *(program for row in args.neighbours for program in row.programs),
    )


def neighbours(text: str) -> tuple[table.Neighbour, ...]:
    """Names with commas between them; `all` is every one."""
    names = table.NAMES if text == "all" else tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in table.NAMES]:
        known = ", ".join(table.NAMES)
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there is {known}")
    return tuple(row for row in table.NEIGHBOURS if row.name in names)


def add_version(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(kubernetes.NAMES)
    parser.add_argument(
        "--kubernetes", type=_minor, metavar="MINOR", help=f"of this version: {known}"
    )


def check_version(args: argparse.Namespace) -> None:
    if args.node and args.kubernetes and not args.kubernetes.is_newest:
        newest, asked = kubernetes.NEWEST.name, args.kubernetes.name
        raise CommandError(
            f"a real node is of Kubernetes {newest}, and a kubelet must not be newer than its API"
            f" server, which would be {asked}; leave out --node or --kubernetes",
            Exit.USAGE,
        )


def _minor(text: str) -> Minor:
    try:
        return kubernetes.named(text)
    except DevClusterError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_words(
    parser: argparse.ArgumentParser, name: str, metavar: str, known: Sequence[str]
) -> None:
    """Any number of known words. (`choices` would refuse none at all in Python 3.11.)"""
    word = _word(known)
    action = parser.add_argument(name, nargs="*", metavar=metavar, type=word, help=", ".join(known))
    action.completer = lambda **_: known  # type: ignore[attr-defined] # read by argcomplete


def _word(known: Sequence[str]) -> Callable[[str], str]:
    def word(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"there is no {text!r}; there is {', '.join(known)}")
        return text

    return word
