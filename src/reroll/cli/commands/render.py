"""`reroll render`: manifests in, manifests with checksums or content names out."""

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator
from functools import partial

from reroll import __version__
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_bytes, read_yaml
from reroll.cli.flags import add_flags
from reroll.cli.sentences import warn
from reroll.cli.streams import LARGEST, inputs, refusing, size
from reroll.core.tables.annotations import NAMES
from reroll.manifests import options
from reroll.manifests.model import Input
from reroll.manifests.options import ANNOTATION, CustomKinds, Hash, Options
from reroll.manifests.render import render
from reroll.manifests.text.nodes import Node

KEY_VARIABLE = "REROLL_RENDER_KEY"
_NAME = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

DESCRIPTION = """\
Write a checksum of the ConfigMaps and Secrets that each workload uses into its pod template, in
manifests on their way to the cluster. Everything else stays byte for byte.

  helm template shop ./chart | reroll render | kubectl apply -f -
  kustomize build overlays/prod | reroll render --strict > prod.yaml
  reroll render base/ --namespace shop"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="YAML or JSON files, folders of them, or - for standard input (default: -)",
    )
    parser.add_argument(
        "--summary", action="store_true", help="say on standard error what was done"
    )
    _add_checksum_flags(parser.add_argument_group("checksums"))
    _add_name_flags(parser.add_argument_group("content names"))
    _add_reading_flags(parser.add_argument_group("reading"))
    add_flags(parser, places=False)


def _add_checksum_flags(checksums: argparse._ActionsContainer) -> None:
    checksums.add_argument(
        "--annotation",
        metavar="NAME",
        default=ANNOTATION,
        help=f"annotation of the pod template (default: {ANNOTATION})",
    )
    checksums.add_argument(
        "--per-source",
        action="store_true",
        help="one annotation for each source, such as checksum.reroll.dev/configmap-app",
    )
    checksums.add_argument(
        "--key-file",
        metavar="FILE",
        help=f"file with the key for checksums of Secrets (also the text in ${KEY_VARIABLE})",
    )


def _add_name_flags(names: argparse._ActionsContainer) -> None:
    names.add_argument(
        "--names",
        action="store_true",
        help="make the ConfigMaps and Secrets that pods use an immutable <name>-<hash>, and let "
        "all references follow; one that something else uses by its name keeps it, and the "
        f"annotation {NAMES}: always or never on one decides for itself",
    )
    names.add_argument(
        "--all-names",
        action="store_true",
        help="the same for all of them, whatever uses them",
    )
    names.add_argument(
        "--hash",
        choices=[each.value for each in Hash],
        default=Hash.REROLL,
        help="how it is made (default: reroll); kustomize's has no key, also for Secrets",
    )
    names.add_argument(
        "--with-attach-job",
        action="store_true",
        help="add a Job that runs `reroll attach` after the deploy, with the rights for that",
    )
    names.add_argument(
        "--attach-image",
        metavar="IMAGE",
        default=f"reroll:{__version__}",
        help=f"image of that Job (default: reroll:{__version__})",
    )


def _add_reading_flags(reading: argparse._ActionsContainer) -> None:
    reading.add_argument(
        "-n", "--namespace", metavar="NAME", default="", help="namespace of objects that name none"
    )
    reading.add_argument(
        "--strict", action="store_true", help="refuse references that nothing defines"
    )
    reading.add_argument(
        "--live", action="store_true", help="read sources that are not there from the cluster"
    )
    add_config_flag(reading)
    reading.add_argument(
        "--max-size",
        metavar="SIZE",
        type=size,
        default=LARGEST,
        help="refuse input that is larger (default: 256Mi)",
    )


def add_config_flag(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="YAML file with `kinds` that are not built in (also $REROLL_CONFIG)",
    )


def run(args: argparse.Namespace) -> int:
    # A stream becomes millions of small objects, none in a cycle: looking for cycles costs a fifth.
    gc.disable()
    try:
        return _run(args)
    finally:
        gc.enable()


def _run(args: argparse.Namespace) -> int:
    given = list(inputs(args.files or ["-"], args.max_size))
    if len(given) == 1 and b"ResourceList" in given[0].data:
        from reroll.manifests import krm

        called = krm.resource_list(given[0])
        if called is not None:
            return _run_as_function(args, given, called)
    with refusing():
        _write(_rendered(args, given, _options(args)))
    return Exit.OK


def _run_as_function(args: argparse.Namespace, given: list[Input], called: Node) -> int:
    """For kustomize or kpt: options come in the list, and problems go out in one."""
    from reroll.manifests import krm

    try:
        with refusing():
            _write(_rendered(args, given, krm.configured(_options(args), called)))
    except CommandError as error:
        warn([str(error)])
        _write(krm.failure(str(error)))
        return error.code
    return Exit.OK


def _write(out: bytes) -> None:
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()


def _rendered(args: argparse.Namespace, given: list[Input], chosen: Options) -> bytes:
    if chosen.annotation != ANNOTATION and not re.fullmatch(_NAME, chosen.annotation):
        raise CommandError(
            f"--annotation: {chosen.annotation[:80]!r} is not the name of an annotation; "
            f"write e.g. {ANNOTATION}",
            Exit.USAGE,
        )
    lookup = None
    if args.live:
        from reroll.cli import live_sources

        lookup = partial(live_sources.contents, args, chosen.key)
    rendered = render(_taken(given), chosen, lookup)
    for note in rendered.notes:
        print(f"reroll: note: {note}", file=sys.stderr)
    if args.summary:
        print(*rendered.summary, sep="\n", file=sys.stderr)
    return rendered.data


def _taken(given: list[Input]) -> Iterator[Input]:
    """Each input once: its bytes need not stay in memory when it is decoded."""
    while given:
        yield given.pop(0)


def _options(args: argparse.Namespace) -> Options:
    return Options(
        namespace=args.namespace,
        key=_key(args),
        custom=custom_kinds(args),
        annotation=args.annotation,
        per_source=args.per_source,
        strict=args.strict,
        names=args.names or args.all_names,
        all_names=args.all_names,
        hash=Hash(args.hash),
        attach_image=args.attach_image if args.with_attach_job else "",
    )


def custom_kinds(args: argparse.Namespace) -> CustomKinds:
    """The table of kinds with those of the config file."""
    path = args.config or os.environ.get("REROLL_CONFIG") or ""
    try:
        return options.custom_kinds(read_yaml(path, "config file")) if path else CustomKinds()
    except ValueError as error:
        raise CommandError(f"config file {path}: {error}", Exit.USAGE) from None


def _key(args: argparse.Namespace) -> bytes | None:
    """The key for Secrets, from a file or the environment; `None` if there is none."""
    if args.key_file:
        key = read_bytes(args.key_file, "--key-file").strip()
        where = f"--key-file {args.key_file}"
    else:
        key, where = os.environb.get(KEY_VARIABLE.encode(), b"").strip(), f"${KEY_VARIABLE}"
        if not key:
            return None
    if len(key) < 16:
        raise CommandError(
            f"{where}: a key of {len(key)} bytes can be guessed; use at least 16, "
            "e.g. from `openssl rand -hex 32`",
            Exit.USAGE,
        )
    return key
