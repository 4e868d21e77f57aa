"""The page docs/reference/commands.md, generated from the parsers themselves.

`python -m tests.support.command_reference` rewrites the page; tests/test_project.py compares. The
parsers are walked, not printed: argparse's own help text differs between versions of Python, and
with the terminal's width.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from reroll.cli.app import COMMANDS, parser_for

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
UPDATE = "python -m tests.support.command_reference"

INTRODUCTION = f"""\
# Commands

<!-- Generated from the parsers: do not edit. `{UPDATE}` rewrites it. -->

`reroll --version` prints the version, and `--help` after any command prints what is on this page.
How a command ends is in [exit codes](exit-codes.md).
"""


def reference() -> str:
    """The whole page, equal on every machine and every version of Python."""
    parser = parser_for([], completing=True)
    sections = [INTRODUCTION, _overview()]
    for name, sub in _subcommands(parser).items():
        sections += _sections(f"reroll {name}", sub, level=2)
    return "\n".join(sections)


def _overview() -> str:
    rows = [
        f"| [`reroll {name}`](#reroll-{name}) | {_cell(summary)} |"
        for name, summary in COMMANDS.items()
    ]
    return "\n".join(["| command | what it is for |", "|---|---|", *rows, ""])


def _sections(name: str, parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """One section for a command, and one below it for each of its subcommands."""
    yield f"{'#' * level} {name}\n"
    yield from _description(parser.description or "")
    rows = [_row(parser, action) for action in _shown(parser)]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows, ""])
    for sub_name, sub in _subcommands(parser).items():
        yield from _sections(f"{name} {sub_name}", sub, level + 1)


def _description(text: str) -> Iterator[str]:
    """Paragraphs as they are; an indented one, which argparse prints as it stands, as code."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(" "):
            yield f"```text\n{paragraph}\n```\n"
        elif paragraph:
            yield f"{paragraph}\n"


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_value(action)}"
    names = [f"`{name}{value}`" for name in action.option_strings] or [f"`{_value(action)}`"]
    help_text = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"| {_cell(', '.join(names))} | {_cell(help_text)} |"


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        # A bar would end the cell of the table, and its escape shows inside code.
        is_choice = "|" in action.metavar
        return "{" + action.metavar.replace("|", ",") + "}" if is_choice else action.metavar
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _shown(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return (a for a in parser._actions if not isinstance(a, hidden) and a.help != argparse.SUPPRESS)


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def main() -> None:
    PAGE.write_text(reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
