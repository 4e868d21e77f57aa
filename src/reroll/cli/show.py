"""How a command shows its answer: a table of forms, chosen with `-o`.

A command makes one `Answer`: a document for programs, tables and lines for people, and the names of
what it lists. What is printed of it is decided here, for all commands alike.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reroll.answers.documents import plain
from reroll.cli.errors import Exit
from reroll.cli.output import PLAIN, print_json, print_lines, print_table, print_yaml
from reroll.cli.sentences import warn
from reroll.core.model.key import Key
from reroll.core.tables.kinds import api_kind

TABLE, WIDE, JSON, YAML, NAME = "table", "wide", "json", "yaml", "name"
LISTS = (TABLE, WIDE, JSON, YAML, NAME)
"""Of a command that lists objects."""
ANSWERS = (TABLE, JSON, YAML)
"""Of a command that lists none."""
PROGRAMS = frozenset((JSON, YAML))


def add_output_flag(parser: argparse.ArgumentParser, forms: Sequence[str] = LISTS) -> None:
    about = {WIDE: "more columns, nothing shortened", NAME: "only KIND/NAME"}
    notes = [f"{form}: {about[form]}" for form in forms if form in about]
    parser.add_argument(
        "-o",
        "--output",
        choices=forms,
        default=forms[0],
        help=" ".join(filter(None, ("; ".join(notes), f"(default: {forms[0]})"))),
    )


class Table(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: Collection[str] = ()
    """Columns that only `-o wide` has."""
    facts: Sequence[Any] = ()
    """What each row is about, for `--watch`: a row is new if this is; by default, its cells."""
    styles: Mapping[str, str] = PLAIN
    """Of words in the first column."""

    def form(self, output: str) -> "Table":
        """With the columns that were asked for."""
        if output == WIDE or not self.wide:
            return self
        at = [n for n, name in enumerate(self.columns) if name not in self.wide]
        rows = [[row[n] for n in at] for row in self.rows]
        return self._replace(columns=[self.columns[n] for n in at], rows=rows, wide=())


class Answer(NamedTuple):
    document: Mapping[str, Any]
    text: Sequence[Table | str]
    names: Sequence[str] = ()
    """What it lists, as commands take it."""
    warnings: Sequence[str] = ()
    code: int = Exit.OK


def show(output: str, answer: Answer) -> int:
    """Print it in the form that was asked for, and what there is to say beside it; its code."""
    _FORMS.get(output, _text)(output, answer)
    warn(answer.warnings)
    return answer.code


def _text(output: str, answer: Answer) -> None:
    for part in answer.text:
        if isinstance(part, Table):
            table = part.form(output)
            print_table(table.columns, table.rows, table.styles, fit=output != WIDE)
        else:
            print_lines([part])


def _names(_: str, answer: Answer) -> None:
    for name in dict.fromkeys(answer.names):
        print(name)


_FORMS: Mapping[str, Callable[[str, Answer], None]] = {
    JSON: lambda _, answer: print_json(plain(answer.document)),
    YAML: lambda _, answer: print_yaml(plain(answer.document)),
    NAME: _names,
}


# Objects


def target(key: Key) -> str:
    """As people name it on a command line: `deployment/web`."""
    return f"{api_kind(key.kind).lower()}/{key.name}"


class Place(NamedTuple):
    """The columns that say which object a row is about."""

    everywhere: bool
    """With its namespace."""
    name: str = "WORKLOAD"

    @classmethod
    def of(
        cls, keys: Iterable[Key], name: str = "WORKLOAD", *, everywhere: bool = False
    ) -> "Place":
        """With the namespace if it was not the one asked for, or if there are several."""
        return cls(everywhere or len({key.namespace for key in keys}) > 1, name)

    @property
    def columns(self) -> tuple[str, ...]:
        return ("NAMESPACE", self.name) if self.everywhere else (self.name,)

    def cells(self, key: Key) -> tuple[str, ...]:
        return (key.namespace, target(key)) if self.everywhere else (target(key),)
