"""Rows `windows:` of a config file: windows that annotations name, or that are for namespaces.

    windows:
      - {name: nights, allow: "daily 02:00+3h Europe/Oslo", last-start: 30m}
      - {name: black-week, deny: "2026-11-23 to 2026-12-01 Europe/Oslo", namespaces: ["shop-*"]}

Pure. Everything that is wrong with a file is told at once, a sentence each.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import msgspec

from reroll.core.model.windows import DAY, Calendar, Window, WindowRow
from reroll.core.policy.windows import MOST, UTC, parse_name, parse_window, whole_minutes
from reroll.core.tables.custom_rows import Help, converted, listed

MOST_ROWS = 200
Texts = str | list[str]


class WindowFields(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    name: Annotated[str, Help("what annotations call it, and what is told of it")]
    allow: Annotated[
        Texts, Help("rolls begin only then: days, times and a zone, or dates; a list for several")
    ] = ""
    deny: Annotated[Texts, Help("no roll begins then: a freeze; one of `allow` and `deny`")] = ""
    zone: Annotated[str, Help("the time zone of those that name none")] = UTC
    last_start: Annotated[
        str, Help("no roll begins so shortly before an `allow` closes, e.g. `30m`")
    ] = ""
    namespaces: Annotated[
        list[str],
        Help(
            "it is for all workloads of these namespaces; globs; without it, for those that name it"
        ),
    ] = []


def windows(given: Any) -> tuple[Calendar, list[str]]:
    """The rows of a file, and all that is wrong with them."""
    problems: list[str] = []
    if isinstance(given, list) and len(given) > MOST_ROWS:
        return Calendar(), [f"windows: has more than {MOST_ROWS} rows; remove some"]
    rows = tuple(_rows(given, problems))
    names = [row.name for row in rows]
    problems += [
        f"windows: two rows are called {name!r}; give each a name of its own"
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    return Calendar(rows), problems


def _rows(given: Any, problems: list[str]) -> Iterator[WindowRow]:
    for where, row in listed(given, "windows", '{name: nights, allow: "…"}', problems):
        read = converted(row, where, WindowFields, problems)
        if read is None:
            continue
        try:
            yield _row(read)
        except ValueError as error:
            problems.append(f"{where}: {error}")


def _row(row: WindowFields) -> WindowRow:
    if bool(row.allow) == bool(row.deny):
        raise ValueError("say one of allow and deny")
    denies, given = bool(row.deny), row.allow or row.deny
    texts = [given] if isinstance(given, str) else given
    if len(texts) > MOST:
        raise ValueError(f"has more than {MOST} windows; make two rows of it")
    if denies and row.last_start:
        raise ValueError("last-start: is for a row with allow; remove it")
    last = timedelta()
    if row.last_start:
        try:
            last = timedelta(minutes=whole_minutes(row.last_start, DAY))
        except ValueError as error:
            raise ValueError(f"last-start: {error}") from None
    name = parse_name(row.name)
    return WindowRow(
        name,
        tuple(_window(text, row.zone, name, last, denies=denies) for text in texts),
        tuple(row.namespaces),
    )


def _window(text: str, zone: str, name: str, last: timedelta, *, denies: bool) -> Window:
    word = "deny" if denies else "allow"
    try:
        found = parse_window(text, zone)
    except ValueError as error:
        raise ValueError(f"{word}: {text[:80]!r} {error}") from None
    if found.denies:
        raise ValueError(f"{word}: {text[:80]!r} says `deny` itself; leave that to the field")
    return msgspec.structs.replace(found, denies=denies, name=name, last_start=last)
