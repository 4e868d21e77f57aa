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


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, sort_keys=True))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The rows under their headings; nothing at all if there are none."""
    if not rows:
        return
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
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        wrapped = textwrap.wrap(line, width, subsequent_indent=indent + "  ") if width else ()
        print("\n".join(wrapped) or line)


def warn(sentences: Iterable[str]) -> None:
    """What the user should know beside the answer."""
    for sentence in sentences:
        print(f"reroll: {sentence}", file=sys.stderr)
