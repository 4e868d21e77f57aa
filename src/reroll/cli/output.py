"""What every command writes with: lines and tables for people, JSON and YAML for programs."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reroll.cli import tables
from reroll.cli.sentences import visible

if TYPE_CHECKING:
    from rich.text import Text

PLAIN: Mapping[str, str] = MappingProxyType({})


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, sort_keys=True))


def print_yaml(value: Any) -> None:
    import yaml

    print(yaml.safe_dump(value, allow_unicode=True), end="")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, str] = PLAIN,
    *,
    fit: bool = True,
) -> None:
    """The rows under their headings; nothing at all if there are none.

    In a terminal, with `fit`, as wide as that. `styles`: of the words in the first column.
    """
    if not sys.stdout.isatty():
        for lines in table_lines(columns, rows):
            print("\n".join(lines))
        return
    from rich.console import Console

    console = Console()
    for line in styled(columns, rows, styles, console.width if fit else None):
        console.print(line, soft_wrap=True)


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> list[list[str]]:
    """The lines of the head and of each row; none if there are no rows."""
    if not rows:
        return []
    return tables.laid_out(columns, [[visible(cell) for cell in row] for row in rows], width)


def styled(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, str],
    width: int | None,
) -> "Iterable[Text]":
    """The lines of a table for a terminal."""
    from rich.text import Text

    for number, lines in enumerate(table_lines(columns, rows, width)):
        if number == 0:
            yield Text(lines[0], style="bold")
            continue
        first, word = Text(lines[0]), rows[number - 1][0]
        first.stylize(styles.get(word, ""), 0, len(word))
        yield from (first, *map(Text, lines[1:]))


def print_lines(lines: Iterable[str]) -> None:
    """Text as it is; in a terminal, what is too long goes on below its beginning."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        print(wrapped(line, width))


def wrapped(line: str, width: int) -> str:
    """A line in this width, its words whole; 0: without a limit."""
    line = visible(line)
    if not width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    parts = textwrap.wrap(
        line, width, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(parts) or line
