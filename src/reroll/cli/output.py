"""How commands show lists: a table in a terminal, plain columns in a pipe, JSON when asked."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any


def add_output_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="(default: table)"
    )


def visible(text: str) -> str:
    """With escapes for what is no character.

    What somebody wrote into an annotation must not move the cursor of whoever looks at it, hide
    text from them, or write over it.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, sort_keys=True))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The rows under their headings; nothing at all if there are none."""
    if not rows:
        return
    rows = [[visible(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        for row in (columns, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold")
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def print_lines(lines: Iterable[str]) -> None:
    """Text as it is; in a terminal, what is too long goes on below its beginning."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in map(visible, lines):
        indent = line[: len(line) - len(line.lstrip())]
        wrapped = textwrap.wrap(line, width, subsequent_indent=indent + "  ") if width else ()
        print("\n".join(wrapped) or line)


def warn(sentences: Iterable[str]) -> None:
    """What the user should know beside the answer."""
    for sentence in sentences:
        print(f"reroll: {visible(sentence)}", file=sys.stderr)
