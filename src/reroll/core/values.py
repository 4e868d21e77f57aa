"""How the value of a setting is written, by its type.

A parser takes what a flag, a variable or a YAML file gave, and answers with the value or with a
`ValueError` whose text says what to write instead.
"""

# ruff: noqa: TRY004  a wrong type is a wrong value here, told to people and not to programmers

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NewType

from reroll.core.durations import parse_duration
from reroll.core.kinds import KINDS
from reroll.core.selectors import parse_selector

Texts = tuple[str, ...]
LabelSelector = NewType("LabelSelector", str)
Address = NewType("Address", str)
KindNames = NewType("KindNames", tuple[str, ...])


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("is not text; put it in quotes")
    return given


def _texts(given: Any) -> Texts:
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list):
        raise ValueError('is not a list; write e.g. "one,two"')
    return tuple(str(item).strip() for item in items if str(item).strip())


def _kind_names(given: Any) -> Texts:
    names, known = _texts(given), [kind.name for kind in KINDS]
    unknown = sorted({name.lower() for name in names} - {name.lower() for name in known})
    if unknown:
        raise ValueError(f"names no kind with {', '.join(unknown)}; use {', '.join(known)}")
    return names


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
    KindNames: _kind_names,
    LabelSelector: _selector,
    Address: _address,
    timedelta: _duration,
    bool: _boolean,
    int: _whole,
    float: _number,
}
