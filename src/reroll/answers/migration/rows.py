"""What a row of a translation table is, and how the values of flags are turned.

A turner takes the text that a flag was given and answers with the value of our setting, `None` if
there is nothing to set, or a `ValueError` whose text says what is wrong.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

Turn = Callable[[str], Any]


class Fate(StrEnum):
    """What becomes of a flag."""

    DECIDE = "you must decide"
    SETTING = "becomes"
    CHART = "a value of the chart"
    UNNEEDED = "not needed"
    MISSING = "no counterpart"


class Takes(StrEnum):
    """How a flag is written."""

    SWITCH = "switch"
    """Alone, or with `=true` or `=false`; never with a word after it."""
    TEXT = "text"
    LIST = "list"
    """Commas between several, and several times."""


class Row(NamedTuple):
    """A flag or environment variable of the other tool."""

    name: str
    fate: Fate
    word: str
    """What to know about it, for people."""
    setting: str = ""
    """The key of our setting."""
    takes: Takes = Takes.TEXT
    turn: Turn = str
    private: bool = False
    """Its value may hold a credential and is never shown."""

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-")


class Value(NamedTuple):
    """A value of the other tool's Helm chart: a path, and the flag that the chart makes of it."""

    path: str
    flag: str = ""
    to: str = ""
    """What the flag is given where the value is true; otherwise the value itself."""
    fate: Fate = Fate.UNNEEDED
    word: str = ""
    private: bool = False
    chart: str = ""
    """The value of our own chart that takes it as it is."""

    def fate_of(self, value: object) -> Fate:
        """What must be decided is so only where it was switched off."""
        return Fate.UNNEEDED if self.fate is Fate.DECIDE and value is not False else self.fate


def carried(path: str, chart: str) -> Value:
    return Value(path, fate=Fate.CHART, chart=chart)


def becomes(
    name: str, setting: str, word: str = "", takes: Takes = Takes.TEXT, turn: Turn = str
) -> Row:
    return Row(name, Fate.SETTING, word, setting, takes, turn)


def unneeded(name: str, word: str, takes: Takes = Takes.TEXT) -> Row:
    return Row(name, Fate.UNNEEDED, word, takes=takes)


def missing(name: str, word: str, takes: Takes = Takes.TEXT) -> Row:
    return Row(name, Fate.MISSING, word, takes=takes)


def truth(text: str) -> bool:
    """As Go reads a boolean."""
    if text in {"1", "t", "T", "TRUE", "true", "True"}:
        return True
    if text in {"0", "f", "F", "FALSE", "false", "False"}:
        return False
    raise ValueError('is neither "true" nor "false"')


def only_true(text: str) -> bool | None:
    """A boolean whose `false` is our default too."""
    return truth(text) or None


def literally_true(text: str) -> bool | None:
    """A text flag that counts only as exactly "true"."""
    return text == "true" or None


def words(text: str) -> list[str] | None:
    return [word for part in text.split(",") if (word := part.strip())] or None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("is not a number") from None


def positive(text: str) -> float | None:
    """A rate; Wave takes its default for zero and less."""
    return value if (value := number(text)) > 0 else None


def whole(text: str) -> int | None:
    value = positive(text)
    return None if value is None else max(1, int(value))


def one_of(**meanings: Any) -> Turn:
    """A turner for a few known words, whatever their case; `_` stands for `-`."""
    known = {word.replace("_", "-"): meaning for word, meaning in meanings.items()}

    def turn(text: str) -> Any:
        if text.lower() not in known:
            raise ValueError(f"is not one of {', '.join(sorted(word for word in known if word))}")
        return known[text.lower()]

    return turn


def each_of(**meanings: str) -> Turn:
    """A turner for a list of a few known words."""
    turn_one = one_of(**meanings)

    def turn(text: str) -> list[str] | None:
        return [turn_one(word) for word in words(text) or ()] or None

    return turn


def selector(text: str) -> str | None:
    """A label selector, with Reloader's old spellings `key:value`, `key:*` and `key=*`."""
    parts = [re.sub(r"^([^=!:()\s]+)[:=]\*$", r"\1", part.strip()) for part in text.split(",")]
    parts = [re.sub(r"^([^=!:()\s]+):([^=:]*)$", r"\1=\2", part) for part in parts]
    return ",".join(part for part in parts if part) or None


def as_text(value: Any) -> str:
    """As a flag or a line for people has it."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ",".join(as_text(each) for each in value)
        case float():
            return f"{value:g}"
        case dict():
            return ",".join(f"{key}={as_text(each)}" for key, each in value.items())
    return str(value)
