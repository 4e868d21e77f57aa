"""How people write the pace at which a change propagates.

Each function returns a value of `core.model.pace`, or a `ValueError` says what to write instead.
"""

import re
from datetime import timedelta

from reroll.core.model.pace import ALL, OnFailure, Parallel, Rolls
from reroll.core.policy.durations import format_duration, parse_duration


def parse_parallel(text: str) -> Parallel:
    word = text.strip()
    if word in _WORDS:
        return _WORDS[word]
    found = re.fullmatch(r"([1-9]\d{0,5})(%?)", word)
    if found is None:
        raise ValueError(
            'is not one of "all", "one", "doubling", a number, or a percentage like "10%"'
        )
    number = int(found[1])
    if not found[2]:
        return Parallel(number)
    if number > 100:
        raise ValueError("is more than 100%")
    return Parallel(percent=number)


_WORDS = {"all": ALL, "one": Parallel(1), "doubling": Parallel(doubling=True)}


def parse_rolls(text: str) -> Rolls:
    number, _, period = text.partition("/")
    every = parse_duration(period)
    if not number.strip().isdecimal() or len(number) > 6 or not every:
        raise ValueError(
            'is not a number of rolls in a time; write e.g. "20/1h", or "0/1h" for any'
        )
    if every > timedelta(days=1):
        raise ValueError("is for longer than a day")
    return Rolls(int(number), every)


def format_rolls(rolls: Rolls) -> str:
    return f"{rolls.number}/{format_duration(rolls.period)}"


def parse_wave(text: str) -> int:
    found = re.fullmatch(r"-?\d{1,6}", text.strip())
    if found is None:
        raise ValueError('is not a whole number; write e.g. "1"')
    return int(found[0])


def parse_on_failure(text: str) -> OnFailure:
    try:
        return OnFailure(text.strip())
    except ValueError:
        raise ValueError(f"is not one of {', '.join(OnFailure)}") from None


def parse_group(text: str) -> str:
    name = text.strip()
    if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", name):
        raise ValueError("is not the name of a group: letters, digits, `-`, `_` and `.`")
    return name
