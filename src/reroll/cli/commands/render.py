"""`reroll render`: manifests in, manifests with checksums or content names out."""

import argparse
import gc
import os
import re
import sys
from pathlib import Path

import msgspec

from reroll import __version__
from reroll.cli import krm
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.cli.flags import add_flags
from reroll.cli.streams import LARGEST, inputs, size, told
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.manifests.attach_job import attach_jobs
from reroll.manifests.custom import Custom, custom
from reroll.manifests.names import NAMES, Hash, Naming
from reroll.manifests.read import BadInputError, Input, Manifests, Reading, read
from reroll.manifests.render import ANNOTATION, Options, changes, edited, outside
from reroll.manifests.summary import summary, unfollowed

KEY_VARIABLE = "REROLL_RENDER_KEY"
_NAME = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a checksum of the ConfigMaps and Secrets that each workload uses into its pod\n"
        "template, in manifests on their way to the cluster. All else stays byte for byte.\n\n"
        "  helm template shop ./chart | reroll render | kubectl apply -f -\n"
        "  kustomize build overlays/prod | reroll render --strict > prod.yaml\n"
        "  reroll render base/ --namespace shop"
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="YAML or JSON files, folders of them, or - for standard input (default: -)",
    )
    parser.add_argument(
        "--summary", action="store_true", help="say on standard error what was done"
    )
    checksums = parser.add_argument_group("checksums")
    checksums.add_argument(
        "--annotation",
        metavar="NAME",
        default=ANNOTATION,
        help=f"annotation of the pod template (default: {ANNOTATION})",
    )
    checksums.add_argument(
        "--per-source",
        action="store_true",
        help="one annotation for each source, such as checksum/configmap-app",
    )
    checksums.add_argument(
        "--key-file",
        metavar="FILE",
        help=f"file with the key for checksums of Secrets (also the text in ${KEY_VARIABLE})",
    )
    names = parser.add_argument_group("content names")
    names.add_argument(
        "--names",
        action="store_true",
        help="make each ConfigMap and Secret an immutable <name>-<hash>, and let all references "
        f'follow; the annotation {NAMES}: "true" or "false" on one decides for itself',
    )
    names.add_argument(
        "--hash",
        choices=[one.value for one in Hash],
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
    reading = parser.add_argument_group("reading")
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
    add_flags(parser, places=False)


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
    if krm.is_function_input(given):
        return krm.run(args, given[0], _rendered)
    rendered = _rendered(args, given)
    sys.stdout.buffer.write(rendered)
    sys.stdout.buffer.flush()
    return Exit.OK


def _rendered(args: argparse.Namespace, given: list[Input]) -> bytes:
    key = _key(args)
    if not _NAME.fullmatch(args.annotation):
        raise CommandError(
            f"--annotation: {args.annotation[:80]!r} is no name of an annotation; "
            f"write e.g. {ANNOTATION}",
            Exit.USAGE,
        )
    try:
        more = custom_kinds(args)
        reading = Reading(args.namespace, key, more.tables, only_checksums=not args.names)
        manifests = read(given, reading)
        if not args.names and any(NAMES in one.annotations for one in manifests.objects):
            manifests = read(given, msgspec.structs.replace(reading, only_checksums=False))
        given.clear()
        options = Options(
            annotation=args.annotation,
            per_source=args.per_source,
            strict=args.strict,
            naming=Naming(
                args.names, Hash(args.hash), key is not None, more.tables.kinds, more.fields
            ),
        )
        made = changes(manifests, options, _elsewhere(args, manifests, key))
        rendered = edited(manifests, made)
        for note in unfollowed(manifests, made, options.naming):
            print(f"reroll: note: {note}", file=sys.stderr)
        if args.summary:
            print(*summary(manifests, made), sep="\n", file=sys.stderr)
        if args.with_attach_job:
            rendered += _attach_jobs(args, rendered)
    except BadInputError as error:
        raise CommandError(told(error.problems), Exit.USAGE) from None
    return rendered


def custom_kinds(args: argparse.Namespace) -> Custom:
    """The table of kinds with those of the config file."""
    path = args.config or os.environ.get("REROLL_CONFIG") or ""
    try:
        return custom(read_yaml(path, "config file")) if path else Custom()
    except ValueError as error:
        raise CommandError(f"config file {path}: {error}", Exit.USAGE) from None


def _elsewhere(
    args: argparse.Namespace, manifests: Manifests, key: bytes | None
) -> dict[Key, Content]:
    """What the cluster has of the sources that are not in the stream, if it was asked for."""
    if not args.live:
        return {}
    from reroll.cli import live_sources

    return live_sources.contents(args, outside(manifests), key)


def _attach_jobs(args: argparse.Namespace, rendered: bytes) -> bytes:
    """What is to be deployed along with a stream, in the form that the stream has."""
    manifests = read([Input("<rendered>", rendered)], Reading(args.namespace))
    objects = attach_jobs(manifests, args.attach_image)
    if not objects:
        return b""
    broken = b"" if rendered.endswith(b"\n") else b"\n"
    if manifests.objects[-1].place.document.is_json:
        return broken + b"".join(msgspec.json.encode(one) + b"\n" for one in objects)
    import yaml

    return broken + yaml.safe_dump_all(objects, explicit_start=True, sort_keys=False).encode()


def _key(args: argparse.Namespace) -> bytes | None:
    """The key for Secrets, from a file or the environment; `None` if there is none."""
    if args.key_file:
        try:
            key = Path(args.key_file).read_bytes().strip()
        except OSError as error:
            raise CommandError(
                f"--key-file {args.key_file}: {error.strerror}", Exit.USAGE
            ) from None
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
