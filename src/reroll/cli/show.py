"""How a command shows its answer: a document for programs, or tables and lines for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from reroll.cli.output import print_json, print_lines, print_table
from reroll.cli.times import moment
from reroll.core.model.key import Key


class Table(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(output: str, document: Mapping[str, Any], text: Iterable[Table | str]) -> None:
    """The document if JSON was asked for, else the text, a part after the other."""
    if output == "json":
        print_json(plain(document))
        return
    for part in text:
        if isinstance(part, Table):
            print_table(*part)
        else:
            print_lines([part])


def plain(value: Any) -> Any:
    """A value as JSON has it: keys as objects, times in RFC 3339, sets in order."""
    match value:
        case Key():
            return value._asdict()
        case datetime():
            return moment(value)
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case frozenset():
            return sorted(map(plain, value))
        case list() | tuple():
            return [plain(each) for each in value]
    return value
