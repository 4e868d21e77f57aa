"""`reroll render` as a KRM function: a ResourceList on stdin, a ResourceList on stdout.

kustomize and kpt call it. Its `functionConfig` says what flags say on a command line: in the `data`
of a ConfigMap, or in the `spec` of a `Render`. What goes wrong is in the `results` of the list that
comes out, on stderr, and in the exit code.
"""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from reroll.cli.errors import CommandError, Exit
from reroll.manifests.names import Hash
from reroll.manifests.read import Input, UndecodableError, decoded
from reroll.manifests.text.compose import compose
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import at, text_of
from reroll.manifests.text.scalars import value_of

KIND = "Render"
GROUP = "reroll.dev"
_LOOKS = re.compile(rb"""kind["']?\s*:\s*["']?ResourceList\b""")
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])")


def _boolean(value: Any) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise ValueError('is neither "true" nor "false"')
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is not text; put it in quotes")  # noqa: TRY004  told to people
    return value


def _hash(value: Any) -> Hash:
    if value not in [*Hash]:
        raise ValueError(f"is none of {', '.join(Hash)}")
    return Hash(value)


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "annotation": _text,
    "per-source": _boolean,
    "names": _boolean,
    "hash": _hash,
    "namespace": _text,
    "strict": _boolean,
}
"""The flags that a function config can set."""


def is_function_input(given: list[Input]) -> bool:
    """Whether a tool calls us as a function: one document, and it is a ResourceList."""
    if len(given) != 1 or not _LOOKS.search(given[0].data):
        return False
    try:
        document = next(compose(decoded(given[0])), None)
    except (TextError, UndecodableError):
        return False
    kind = at(document.root, ("kind",)) if document and document.root else None
    return kind is not None and text_of(kind) == "ResourceList"


def run(
    args: argparse.Namespace,
    given: Input,
    rendered: Callable[[argparse.Namespace, list[Input]], bytes],
) -> int:
    try:
        _configure(args, given)
        out = rendered(args, [given])
    except CommandError as error:
        print(f"reroll: {error}", file=sys.stderr)
        sys.stdout.buffer.write(_failure(str(error)))
        sys.stdout.buffer.flush()
        return error.code
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()
    return Exit.OK


def _configure(args: argparse.Namespace, given: Input) -> None:
    """Set what the function config says, over what the command line says."""
    if args.with_attach_job:
        raise CommandError("--with-attach-job adds to a stream, not to a ResourceList", Exit.USAGE)
    document = next(compose(decoded(given)))
    node = at(document.root, ("functionConfig",)) if document.root else None
    config = value_of(node) if node is not None else None
    for name, value in _wishes(config or {}).items():
        flag = _CAMEL.sub(r"-\1", str(name)).lower()
        if flag not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise CommandError(f"functionConfig: there is no {name!r}; use {known}", Exit.USAGE)
        try:
            setattr(args, flag.replace("-", "_"), OPTIONS[flag](value))
        except ValueError as error:
            raise CommandError(f"functionConfig: {name}: {value!r} {error}", Exit.USAGE) from None


def _wishes(config: Any) -> dict[str, Any]:
    if not isinstance(config, dict):
        raise CommandError("functionConfig has to be an object", Exit.USAGE)
    kind, group = config.get("kind"), str(config.get("apiVersion", "")).rpartition("/")[0]
    field = {("ConfigMap", ""): "data", (KIND, GROUP): "spec"}.get((str(kind), group))
    if config and field is None:
        raise CommandError(
            f"functionConfig: {kind} of {group or 'v1'!r} is none of ours; use a ConfigMap with "
            f"`data`, or a {KIND} of {GROUP}/v1alpha1 with `spec`",
            Exit.USAGE,
        )
    found = config.get(field) or {} if field else {}
    if not isinstance(found, dict):
        raise CommandError(f"functionConfig: `{field}` has to be a mapping", Exit.USAGE)
    return found


def _failure(message: str) -> bytes:
    lines = [line.strip() for line in message.splitlines()]
    told = lines[1:] if len(lines) > 1 else lines
    results = [{"message": line, "severity": "error"} for line in told]
    failed = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [],
        "results": results,
    }
    return msgspec.json.format(msgspec.json.encode(failed), indent=2) + b"\n"
