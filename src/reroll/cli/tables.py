"""Lays a table out in a width: words stay whole, what does not fit goes below its row. Pure."""

import textwrap
from collections.abc import Iterator, Sequence

GAP = "  "
READABLE = 24
"""Characters that a column of sentences needs, or else they are easier to read below the row."""
SHORT = 10
"""Characters up to which a cell is never wrapped."""
INDENT = "    "
EMPTY = ("", "-")
"""Cells that say nothing: below a row they are left out."""

Row = Sequence[str]


def laid_out(columns: Row, rows: Sequence[Row], width: int | None = None) -> list[list[str]]:
    """The lines of the head, then those of each row; `width`: `None` for no limit."""
    widths = _natural(columns, rows)
    beside = len(columns)
    if width is not None:
        beside, widths = _fitted(columns, rows, width)
    head = [_line(columns[:beside], widths)]
    return [head, *(list(_lines(columns, row, widths, width)) for row in rows)]


def _natural(columns: Row, rows: Sequence[Row]) -> list[int]:
    """As wide as the longest line of each column."""
    cells = zip(columns, *rows, strict=True)
    return [max(len(line) for cell in one for line in cell.split("\n")) for one in cells]


def _fitted(columns: Row, rows: Sequence[Row], width: int) -> tuple[int, list[int]]:
    """How many columns stay beside each other, and how wide they are then."""
    natural = _natural(columns, rows)
    for beside in range(len(columns), 0, -1):
        least = [max(len(columns[at]), *(_least(row[at]) for row in rows)) for at in range(beside)]
        room = width - len(GAP) * (beside - 1)
        widths = _shrunk(natural[:beside], least, room)
        is_cramped = widths[-1] < min(natural[beside - 1], READABLE)
        if sum(widths) <= room and (beside == 1 or not is_cramped):
            return beside, widths
    return 1, [min(width, natural[0])]


def _shrunk(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Take from the widest first, and from none more than its words allow."""
    widths = list(natural)
    while sum(widths) > room:
        able = [at for at, width in enumerate(widths) if width > least[at]]
        if not able:
            break
        widths[max(able, key=lambda at: widths[at])] -= 1
    return widths


def _least(cell: str) -> int:
    """How wide it has to be: its longest word, and a few words such as `3h ago` stay together."""
    return len(cell) if len(cell) <= SHORT else max(map(len, cell.split()), default=0)


def _lines(columns: Row, row: Row, widths: Sequence[int], width: int | None) -> Iterator[str]:
    beside = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=False)]
    for number in range(max(map(len, beside))):
        yield _line([cell[number] if number < len(cell) else "" for cell in beside], widths)
    for name, cell in zip(columns[len(widths) :], row[len(widths) :], strict=True):
        for line in cell.split("\n") if cell not in EMPTY else ():
            text = f"{INDENT}{name.lower()}: {line}"
            yield from _wrapped(text, width or len(text), INDENT + GAP)


def _wrapped(text: str, width: int, below: str = "") -> list[str]:
    lines = [
        part
        for line in text.split("\n")
        for part in textwrap.wrap(
            line, max(1, width), subsequent_indent=below,
            break_long_words=False, break_on_hyphens=False,
        )
    ]  # fmt: skip
    return lines or [""]


def _line(cells: Row, widths: Sequence[int]) -> str:
    return GAP.join(c.ljust(width) for c, width in zip(cells, widths, strict=True)).rstrip()
