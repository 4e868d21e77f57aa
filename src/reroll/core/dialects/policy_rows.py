"""Rows `policies:` of a config file: what workloads and sources do that do not say it themselves.

    policies:
      - match: {namespaces: ["shop-*"], workloads: {tier: front}}
        wave: 1
        on-failure: rollback
      - match: {sources: ["secret/ca-*"]}
        max-parallel: doubling

Pure. Everything that is wrong with a file is told at once, a sentence each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from reroll.core.dialects.annotations import ANNOTATIONS, SOURCE_ANNOTATIONS, Annotation
from reroll.core.model.names import quoted
from reroll.core.model.pace import Limits
from reroll.core.policy.patterns import Pattern, parse_patterns
from reroll.core.policy.rows import Policies, PolicyRow
from reroll.core.policy.selectors import selector_in
from reroll.core.tables.catalog import Tables
from reroll.core.tables.custom_rows import Help, converted, listed

_NOT_IN_ROWS = frozenset(("enabled", "hold", "notice", "approved", "rejected"))
"""What is said of one object only."""
WORKLOAD_KEYS = {row.name: row for row in ANNOTATIONS if row.name not in _NOT_IN_ROWS}
SOURCE_KEYS = {row.name: row for row in SOURCE_ANNOTATIONS if row.name not in _NOT_IN_ROWS}
_MOST = 999_999


class MatchRow(msgspec.Struct, forbid_unknown_fields=True):
    """What a row is for; without any of it, all workloads."""

    namespaces: Annotated[list[str], Help("only in these namespaces; globs")] = []
    workloads: Annotated[
        dict[str, str] | str, Help("only workloads with these labels: a map, or a selector")
    ] = ""
    sources: Annotated[
        list[str],
        Help("the row is for these sources, named as in `reroll.dev/sources`, in any namespace"),
    ] = []


class LimitsRow(msgspec.Struct, forbid_unknown_fields=True):
    cluster: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=_MOST)],
        Help("most workloads under way at once in the whole cluster; 0: any number"),
    ] = 0
    namespace: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=_MOST)],
        Help("most workloads under way at once in each namespace; 0: any number"),
    ] = 0


def policies(given: Any, tables: Tables) -> tuple[Policies, list[str]]:
    """The rows of a file, and all that is wrong with them."""
    problems: list[str] = []
    found = tuple(_rows(given, tables, problems))
    return (
        Policies(
            tuple(row for row in found if not row.sources),
            tuple(row for row in found if row.sources),
        ),
        problems,
    )


def limits(given: Any) -> tuple[Limits, list[str]]:
    """What `limits:` of a file says, and all that is wrong with it."""
    problems: list[str] = []
    if given is None:
        return Limits(), problems
    if not isinstance(given, Mapping):
        return Limits(), ["limits: is not a map; write e.g. `limits: {cluster: 20}`"]
    row = converted(given, "limits", LimitsRow, problems)
    return Limits(row.cluster, row.namespace) if row else Limits(), problems


def _rows(given: Any, tables: Tables, problems: list[str]) -> Iterator[PolicyRow]:
    for where, row in listed(given, "policies", "wave: 1", problems):
        match = row.get("match") or {}
        if not isinstance(match, Mapping):
            problems.append(f"{where}: match: is not a map; write e.g. `match: {{workloads: a=b}}`")
            continue
        read = converted(match, f"{where}: match", MatchRow, problems)
        if read is not None:
            yield _row(row, read, where, tables, problems)


def _row(
    row: Mapping[str, Any], match: MatchRow, where: str, tables: Tables, problems: list[str]
) -> PolicyRow:
    if match.workloads and match.sources:
        problems.append(
            f"{where}: match: has workloads and sources; make two rows of it, one for workloads "
            "and one for sources"
        )
    sources: list[Pattern] = []
    for text in match.sources:
        found, bad = parse_patterns(text, f"{where}: match: sources", tables)
        sources += found
        problems += [problem.sentence for problem in bad]
        problems += [
            f"{where}: match: sources: {pattern} names a key; a row is for whole sources"
            for pattern in found
            if pattern.key
        ]
    keys = SOURCE_KEYS if match.sources else WORKLOAD_KEYS
    values = _values(row, keys, where, problems)
    labels = selector_in(match.workloads, f"{where}: match: workloads", problems)
    return PolicyRow(values, where, tuple(match.namespaces), labels, tuple(sources))


def _values(
    row: Mapping[str, Any], keys: Mapping[str, Annotation], where: str, problems: list[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, given in row.items():
        if name == "match":
            continue
        if name not in keys:
            problems.append(f"{where}: {_unknown(str(name), tuple(keys))}")
            continue
        try:
            values[keys[name].field] = keys[name].parse(_text(given))
        except ValueError as error:
            problems.append(f"{where}: {name}: {quoted(str(given))} {error}")
    if not row.keys() - {"match"}:
        problems.append(f"{where}: says nothing; add e.g. `max-parallel: 10%`")
    return values


def _unknown(name: str, keys: Sequence[str]) -> str:
    if name in WORKLOAD_KEYS:
        return f"{name} is for workloads, and this row is for sources; use {', '.join(keys)}"
    from difflib import get_close_matches  # Only who misspells something waits for it.

    near = get_close_matches(name, keys, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"use match, {', '.join(keys)}"
    return f"there is no field {name[:80]!r}; {hint}"


def _text(given: Any) -> str:
    """A value as an annotation has it: YAML makes numbers and booleans of some."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, str | int):
        return str(given)
    raise ValueError("is not text; put it in quotes")
