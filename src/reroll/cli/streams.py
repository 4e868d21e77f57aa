"""Streams of manifests that people give to commands, read whole unless they are too large."""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from reroll.cli.errors import CommandError, Exit
from reroll.manifests.read import Input

LARGEST = 256 * 2**20
SUFFIXES = (".yaml", ".yml", ".json")
_SIZE = re.compile(r"([0-9]{1,9})([KMG]i?)?B?")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def told(problems: list[str]) -> str:
    """One sentence, or a list of them."""
    if len(problems) == 1:
        return problems[0]
    lines = "\n".join(f"  {problem}" for problem in problems)
    return f"these manifests cannot be rendered:\n{lines}"


def size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write e.g. 256Mi")
    return int(found[1]) * _UNITS[found[2] or ""]


def inputs(names: list[str], limit: int) -> Iterator[Input]:
    """What files, folders and standard input (`-`) hold; not more than `limit` bytes together."""
    left = limit
    for name in names:
        for path in [None] if name == "-" else _files(Path(name)):
            found = _stdin(left, limit) if path is None else _file(path, left, limit)
            left -= len(found.data)
            yield found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        each
        for each in path.rglob("*")
        if each.suffix in SUFFIXES
        and each.is_file()
        and not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not found:
        raise CommandError(
            f"folder {path} has no manifests; they have to end in {', '.join(SUFFIXES)}",
            Exit.USAGE,
        )
    return found


def _stdin(left: int, limit: int) -> Input:
    if sys.stdin.isatty():
        raise CommandError("no manifests; name files, or pipe them in", Exit.USAGE)
    return Input("<stdin>", _limited(sys.stdin.buffer, "standard input", left, limit))


def _file(path: Path, left: int, limit: int) -> Input:
    try:
        with path.open("rb") as file:
            return Input(str(path), _limited(file, str(path), left, limit))
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
