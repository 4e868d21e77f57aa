"""What an annotation says of gates: names of rows `gates:`, see `core.policy.gate_rows`."""

import re

from reroll.core.tables.limits import GATES

NAME = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def parse_names(text: str) -> tuple[str, ...]:
    """The names of gates in an annotation; a `ValueError` says what to write instead."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if "://" in name:
            raise ValueError("names an address; write names of gates of the config file")
        if not re.fullmatch(NAME, name):
            raise ValueError('is not a list of names of gates; write e.g. "errors, shop-alerts"')
    if len(names) > GATES.number:
        raise ValueError(f"names more than {GATES.number} gates")
    return tuple(dict.fromkeys(names))
