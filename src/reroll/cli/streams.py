"""Read the files, folders and standard input that commands are given, up to a limit."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from reroll.cli.errors import CommandError, Exit
from reroll.manifests.model import BadInputError, Input, Manifests
from reroll.manifests.options import CustomKinds, Options
from reroll.manifests.read import read

LARGEST = 256 * 2**20
SUFFIXES = (".yaml", ".yml", ".json")
_SIZE = r"([0-9]{1,9})([KMG]i?)?B?"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def size(text: str) -> int:
    match = re.fullmatch(_SIZE, text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write e.g. 256Mi")
    return int(match[1]) * _UNITS[match[2] or ""]


def manifests(names: list[str], namespace: str, custom: CustomKinds | None = None) -> Manifests:
    """The manifests in files, folders and standard input (`-`)."""
    return parsed(list(inputs(names, LARGEST)), namespace, custom)


def parsed(given: list[Input], namespace: str, custom: CustomKinds | None = None) -> Manifests:
    with refusing():
        return read(given, Options(namespace, custom=custom or CustomKinds()))


@contextmanager
def refusing() -> Iterator[None]:
    """End the command if manifests are refused."""
    try:
        yield
    except BadInputError as error:
        raise CommandError(str(error), Exit.USAGE) from None


def inputs(names: list[str], limit: int) -> Iterator[Input]:
    """What files, folders and standard input (`-`) hold; not more than `limit` bytes together."""
    left = limit
    for name in names:
        for path in [None] if name == "-" else _files(name):
            given = _stdin(left, limit) if path is None else _file(path, left, limit)
            left -= len(given.data)
            yield given


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):  # noqa: PTH112  pathlib takes 4 ms, which a file need not wait for
        return [name]
    from pathlib import Path

    path = Path(name)
    files = sorted(
        each
        for each in path.rglob("*")
        if each.suffix in SUFFIXES
        and each.is_file()
        and not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not files:
        raise CommandError(
            f"folder {path} has no manifests; they have to end in {', '.join(SUFFIXES)}",
            Exit.USAGE,
        )
    return [str(each) for each in files]


def _stdin(left: int, limit: int) -> Input:
    if sys.stdin.isatty():
        raise CommandError("no manifests; name files, or pipe them in", Exit.USAGE)
    return Input("<stdin>", _limited(sys.stdin.buffer, "standard input", left, limit))


def _file(path: str, left: int, limit: int) -> Input:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  see above
            return Input(path, _limited(file, path, left, limit))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}", Exit.USAGE) from None


def _limited(file: IO[bytes], name: str, left: int, limit: int) -> bytes:
    """All of a file, unless it is too much; then no more of it than that is read."""
    data = file.read(left + 1)
    if len(data) > left:
        raise CommandError(
            f"{name}: the manifests are larger than {_human(limit)} together; "
            "render them in parts, or raise --max-size",
            Exit.USAGE,
        )
    return data


def _human(size: int) -> str:
    for unit in ("Gi", "Mi", "Ki"):
        if size >= _UNITS[unit] and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}B"
    return f"{size} bytes"
