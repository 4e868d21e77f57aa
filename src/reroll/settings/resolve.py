"""Settings from flags, environment variables and the config file, in this order of precedence."""

from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any

from reroll.core.policy.durations import format_duration
from reroll.core.tables.catalog import TABLES, Tables
from reroll.settings.parsers import OF_TABLES, PARSERS
from reroll.settings.rows import Setting
from reroll.settings.table import KIND_ROWS, ROWS, SETTINGS, Settings


class SettingsError(Exception):
    """All problems at once, a sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def resolve(
    flags: Mapping[str, str], environment: Mapping[str, str], file: Mapping[str, Any], path: str
) -> Settings:
    """Flags before environment before file before default."""
    values, problems = _rows(file, path)
    tables = values["tables"]
    known = {row.key for row in SETTINGS} | set(ROWS)
    for key in file:
        if key not in known:
            problems.append(f"{path}: there is no setting {key!r}{_nearest(key, known)}")
    for row in SETTINGS:
        for given, where in (
            (flags.get(row.name), row.flag),
            (environment.get(row.variable), f"${row.variable}"),
            (file.get(row.key), f"{path}: {row.key}"),
        ):
            if given is None:
                continue
            try:
                values[row.name] = _parse(row, given, tables)
            except ValueError as error:
                problems.append(f"{where}: {given!r} {error}")
            break
    problems += _together(values)
    if problems:
        raise SettingsError(problems)
    return Settings(**values)


ROW_READERS = {
    "windows": "reroll.core.policy.window_rows",
    "gates": "reroll.core.policy.gate_rows",
    "notices": "reroll.core.dialects.notice_rows",
}
"""Who reads the rows under a key of the file: a function of the key's name there. Only what a file
has is loaded."""


def _rows(file: Mapping[str, Any], path: str) -> tuple[dict[str, Any], list[str]]:
    """What the file says in rows, by field of `Settings`, and all that is wrong with those."""
    tables, problems = _tables(file)
    values: dict[str, Any] = {"tables": tables}
    if any(key in file for key in ("policies", "limits")):
        from reroll.core.dialects.policy_rows import limits, policies

        values["policies"], bad = policies(file.get("policies"), tables)
        values["limits"], worse = limits(file.get("limits"))
        problems = [*problems, *bad, *worse]
    for key, module in ROW_READERS.items():
        if key in file:
            read = getattr(import_module(module), key)
            values[key], bad = read(file[key])
            problems = [*problems, *bad]
    return values, [f"{path}: {problem}" for problem in problems]


def _tables(file: Mapping[str, Any]) -> tuple[Tables, list[str]]:
    """With the kinds that the file adds."""
    if not any(key in file for key in KIND_ROWS):
        return TABLES, []
    from reroll.core.tables.custom import tables

    return tables(*(file.get(key) for key in KIND_ROWS))


def _together(values: Mapping[str, Any]) -> list[str]:
    """What is wrong only in company."""
    problems = []
    all_values = {row.name: values.get(row.name, row.default) for row in SETTINGS}
    if all_values["namespaces"] and all_values["namespace_selector"]:
        problems.append(
            "--namespace-selector needs to see all namespaces and --namespaces does not; use one"
        )
    quiet, limit = all_values["debounce"], all_values["debounce_limit"]
    if quiet > limit:
        problems.append(
            f"--debounce ({format_duration(quiet)}) is longer than --debounce-limit "
            f"({format_duration(limit)}); lower one or raise the other"
        )
    return problems


def _parse(row: Setting, given: Any, tables: Tables) -> Any:
    """The value, or a `ValueError` whose text says what to write instead."""
    if row.choices:
        if str(given) not in row.choices:
            raise ValueError(
                f"is not one of {', '.join(choice for choice in row.choices if choice)}"
            )
        return str(given)
    if row.type in OF_TABLES:
        return OF_TABLES[row.type](given, tables)
    value = PARSERS[row.type](given)
    if isinstance(value, timedelta) and value < row.about.least:
        raise ValueError(f"is too short; give it at least {format_duration(row.about.least)}")
    return value


def _nearest(word: str, known: set[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    return f"; did you mean {near[0]!r}?" if near else "; see `reroll run --help`"
