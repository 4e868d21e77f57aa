"""How people write that a canary goes first.

Each function returns a value, or a `ValueError` says what to write instead.
"""

import re

from reroll.core.model.pace import ALL, Parallel


def parse_size(text: str) -> Parallel:
    word = text.strip()
    if word == "none":
        return ALL
    found = re.fullmatch(r"([1-9]\d{0,3})(%?)", word)
    if found is None or (found[2] and int(found[1]) > 100):
        raise ValueError('is neither a number of pods, a percentage like "10%", nor "none"')
    number = int(found[1])
    return Parallel(percent=number) if found[2] else Parallel(number)


def parse_pause(text: str) -> bool:
    match text.strip():
        case "manual":
            return True
        case "none":
            return False
    raise ValueError('is neither "manual" nor "none"')
