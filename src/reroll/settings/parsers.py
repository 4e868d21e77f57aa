"""How the value of a setting is written, by its type.

A parser takes what a flag, a variable or a YAML file gave, and answers with the value or with a
`ValueError` whose text says what to write instead.
"""

# ruff: noqa: TRY004  a wrong type is a wrong value here, told to people and not to programmers

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NewType

from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import DIALECTS
from reroll.core.model.pace import Parallel, Rolls
from reroll.core.policy.durations import parse_duration
from reroll.core.policy.pace import parse_parallel, parse_rolls
from reroll.core.policy.selectors import parse_selector
from reroll.core.tables.catalog import Tables
from reroll.core.tables.rights import OPTIONAL

Texts = tuple[str, ...]
_ANNOTATION = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?"
)
_HOST = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?|[0-9a-f:.]*:[0-9a-f:.]*")
LabelSelector = NewType("LabelSelector", str)
Address = NewType("Address", str)
KindNames = NewType("KindNames", tuple[str, ...])
SourceKinds = NewType("SourceKinds", tuple[str, ...])
DialectNames = NewType("DialectNames", tuple[str, ...])
FeatureNames = NewType("FeatureNames", tuple[str, ...])
Hosts = NewType("Hosts", tuple[str, ...])
"""Names of hosts, or addresses."""
OtherNames = NewType("OtherNames", tuple[str, ...])
"""`name=other` each."""


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("is not text; put it in quotes")
    return given


def _texts(given: Any) -> Texts:
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list):
        raise ValueError('is not a list; write e.g. "one,two"')
    return tuple(str(item).strip() for item in items if str(item).strip())


def _kind_names(given: Any, tables: Tables) -> Texts:
    names, known = _texts(given), [kind.name for kind in tables.kinds]
    unknown = sorted({name.lower() for name in names} - {name.lower() for name in known})
    if unknown:
        raise ValueError(f"names no kind with {', '.join(unknown)}; use {', '.join(known)}")
    return names


def _source_kinds(given: Any, tables: Tables) -> Texts:
    names = _texts(given)
    unknown = [name for name in names if tables.source_kind(name) is None]
    if unknown:
        known = ", ".join(row.name for row in tables.sources)
        raise ValueError(f"names no kind of source with {', '.join(unknown)}; use {known}")
    return tuple(kind.name for name in names if (kind := tables.source_kind(name)))


def _dialects(given: Any) -> Texts:
    names, known = _texts(given), [row.name for row in DIALECTS]
    unknown = sorted(set(names) - set(known))
    if unknown or not names:
        raise ValueError(f"names no dialect{_with(unknown)}; use {', '.join(known)}")
    return names


def _features(given: Any) -> Texts:
    names, known = _texts(given), [feature.value for feature in OPTIONAL]
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"names no feature{_with(unknown)}; use {', '.join(known)}")
    return names


def _with(unknown: list[str]) -> str:
    return f" with {', '.join(unknown)}" if unknown else ""


def _other_names(given: Any) -> Texts:
    pairs = [f"{k}={v}" for k, v in given.items()] if isinstance(given, dict) else _texts(given)
    known = [w.key for row in DIALECTS for w in row.words(Options()) if w.renamed]
    for pair in pairs:
        name, _, other = pair.partition("=")
        if name not in known:
            raise ValueError(f"renames {name!r}; only these have other names: {', '.join(known)}")
        if not _ANNOTATION.fullmatch(other):
            raise ValueError(f"renames {name} to {other!r}, which is not the name of an annotation")
    return tuple(pairs)


def _hosts(given: Any) -> Texts:
    hosts = _texts(given)
    if wrong := [host for host in hosts if not _HOST.fullmatch(host)]:
        raise ValueError(f"names no host with {wrong[0]!r}; write e.g. reroll-webhook.reroll.svc")
    return hosts


def _selector(given: Any) -> str:
    if parse_selector(text := _text(given)) is None:
        raise ValueError('is not a label selector; write e.g. "team=shop"')
    return text


def _address(given: Any) -> str:
    _, colon, port = (text := _text(given)).rpartition(":")
    if text and not (colon and port.isdecimal() and len(port) <= 5 and int(port) < 65536):
        raise ValueError('is not an address; write e.g. ":8080"')
    return text


def _duration(given: Any) -> timedelta:
    duration = parse_duration(str(given))
    if duration is None:
        raise ValueError('is not a duration; write e.g. "500ms", "5s" or "1m30s"')
    return duration


def _parallel(given: Any) -> Parallel:
    return parse_parallel(str(given))


def _rolls(given: Any) -> Rolls:
    return parse_rolls(str(given))


def _boolean(given: Any) -> bool:
    match str(given).strip().lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
    raise ValueError('is neither "true" nor "false"')


def _whole(given: Any) -> int:
    text = str(given).strip()
    if not (text.isdecimal() and len(text) <= 6 and int(text)):
        raise ValueError("is not a whole number from 1 to 999999")
    return int(text)


def _number(given: Any) -> float:
    try:
        number = float(str(given))
    except ValueError:
        number = 0.0
    if not 0 < number < 1_000_000:
        raise ValueError("is not a number above 0 and below 1000000")
    return number


PARSERS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    Texts: _texts,
    DialectNames: _dialects,
    FeatureNames: _features,
    Hosts: _hosts,
    OtherNames: _other_names,
    LabelSelector: _selector,
    Address: _address,
    timedelta: _duration,
    timedelta | None: _duration,
    Parallel: _parallel,
    Rolls: _rolls,
    bool: _boolean,
    int: _whole,
    float: _number,
}

OF_TABLES: dict[Any, Callable[[Any, Tables], Any]] = {
    KindNames: _kind_names,
    SourceKinds: _source_kinds,
}
"""Those that need the rows that this installation has."""
