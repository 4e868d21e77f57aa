"""`reroll dev image`: an image of whatever is there, for the node or as a file; no registry."""

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from reroll.cli.errors import CommandError, Exit
from reroll_dev.cluster import DevCluster
from reroll_dev.images.archive import archive, full_name
from reroll_dev.images.image import Config
from reroll_dev.images.made import MADE, made, name_of
from reroll_dev.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = ", ".join(MADE)
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help=f"a folder, an OCI layout, a tar (docker save, docker export), or one of {words}, "
        "which are made here; ./web is a folder of that name",
    )
    parser.add_argument("-t", "--tag", help="what pods call it: web:1 (default: localhost/…:dev)")
    parser.add_argument("--base", help=f"for a folder: the image below it, a path or {words}")
    parser.add_argument("--entrypoint", type=shlex.split, help="the program, as a shell writes it")
    parser.add_argument("--cmd", type=shlex.split, help="its arguments, as a shell writes them")
    parser.add_argument(
        "-e", "--env", type=_pair, action="append", default=[], metavar="NAME=VALUE"
    )
    parser.add_argument("--user", help="a number: 65532:65532")
    parser.add_argument("--workdir", help="the folder that it starts in")
    parser.add_argument("--port", type=int, action="append", default=[], help="that it listens on")
    parser.add_argument("--to", type=Path, metavar="FILE", help="write a tar; no node needed")


def run(args: argparse.Namespace, cluster: DevCluster, progress: Progress) -> int:
    if args.to:
        print(write(args, args.to, env=os.environ, progress=progress))
        return Exit.OK
    node = cluster.node
    with TemporaryDirectory(prefix=".image-", dir=cluster.folder) as work:
        tar = write(args, Path(work) / "image.tar", env=os.environ, progress=progress)
        node.load_image(tar)
    progress.say(f"the node has {full_name(_tag(args))}; its pods need a pull policy: IfNotPresent")
    return Exit.OK


def write(
    args: argparse.Namespace, target: Path, *, env: Mapping[str, str], progress: Progress
) -> Path:
    """The image that the arguments ask for, in the file `target`."""
    config = Config(
        entrypoint=None if args.entrypoint is None else tuple(args.entrypoint),
        cmd=None if args.cmd is None else tuple(args.cmd),
        env=dict(args.env),
        user=args.user,
        working_dir=args.workdir,
        ports=tuple(args.port),
    )
    source = _image(args.source, env=env, progress=progress)
    base = _image(args.base, env=env, progress=progress) if args.base else None
    tag = _tag(args)
    if not target.absolute().parent.is_dir():
        raise CommandError(f"there is no folder {target.absolute().parent}; make it first")
    return archive(source, tag, config, target=target.absolute(), base=base)


def _tag(args: argparse.Namespace) -> str:
    if not args.tag and args.source not in MADE:
        raise CommandError("say what pods call the image: --tag web:1", Exit.USAGE)
    return str(args.tag or name_of(args.source))


def _image(source: str, *, env: Mapping[str, str], progress: Progress) -> Path:
    return made(source, env=env, progress=progress) if source in MADE else Path(source)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value
