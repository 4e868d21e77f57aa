"""The tables about other tools, in their guides and references, generated from the tables.

`python -m tests.support.guide_tables` rewrites them between their marks; tests/test_guides.py
compares.
"""

import re
from collections.abc import Callable
from pathlib import Path

from tests.support.table_reference import _table

from reroll.answers.migration.differences import DIFFERENCES
from reroll.answers.migration.rows import Fate, Row
from reroll.answers.migration.translate import Tool, tool_named
from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import DIALECTS

FOLDER = Path(__file__).parents[2] / "docs"
UPDATE = "python -m tests.support.guide_tables"
PAGES = {
    "guides/from-reloader.md": "reloader",
    "reference/reloader.md": "reloader",
    "guides/from-wave.md": "wave",
    "reference/wave.md": "wave",
}
PART = re.compile(r"<!-- (\w+): generated, do not edit -->\n.*?<!-- end -->", re.DOTALL)


def _keys(tool: Tool) -> str:
    dialect = next(row for row in DIALECTS if row.name == tool.name)
    rows = []
    for word in dialect.words(Options()):
        example = f"`{word.example}`" if word.example else ""
        rows.append((f"`{word.key}`", ", ".join(word.places), word.help, example))
    return _table(("key", "where", "meaning, the same in Reroll", "example"), rows)


def _became(row: Row) -> str:
    return f"`{row.setting}`" if row.fate is Fate.SETTING else row.fate.value


def _flags(tool: Tool) -> str:
    rows = [(f"`{row.name}`", _became(row), row.word) for row in (*tool.flags, *tool.variables)]
    return _table(("flag or variable", "in Reroll", ""), rows)


def _values(tool: Tool) -> str:
    rows = []
    for value in tool.values:
        if ".env." in value.path:
            continue  # The variables are listed with the flags.
        row = tool.row(value.flag) if value.flag else None
        given = f"={value.to}" if value.to else ""
        told = f"as `{value.flag}{given}`: {_became(row)}" if row else value.fate.value
        if value.chart:
            told = f"the chart's `{value.chart}`"
        rows.append((f"`{value.path}`", told, "" if row else value.word))
    return _table(("value", "in Reroll", ""), rows)


def _differences(tool: Tool) -> str:
    found = [row for row in DIFFERENCES if row.dialect == tool.name]
    return _table((tool.title, "Reroll"), [(row.theirs, row.ours) for row in found])


PARTS: dict[str, Callable[[Tool], str]] = {
    "keys": _keys,
    "flags": _flags,
    "values": _values,
    "differences": _differences,
}


def current(name: str) -> str:
    """A page with its tables as they should be."""
    tool = tool_named(PAGES[name])

    def made(found: re.Match[str]) -> str:
        part = found[1]
        return f"<!-- {part}: generated, do not edit -->\n\n{PARTS[part](tool)}\n\n<!-- end -->"

    return PART.sub(made, (FOLDER / name).read_text(encoding="utf-8"))


def main() -> None:
    for name in PAGES:
        (FOLDER / name).write_text(current(name), encoding="utf-8")


if __name__ == "__main__":
    main()
