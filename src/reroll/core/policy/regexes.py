"""Regular expressions over the names of sources: Go's syntax, matched in linear time.

People write them in annotations that others read for them, so none may cost more than its length
times that of a name. RE2 is what Go's own expressions are made after. It is loaded only where
somebody wrote one that is more than a name. A match is always of the whole name.
"""

from functools import lru_cache
from typing import Any

LONGEST = 1000
_MEMORY = 1 << 20
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Regex:
    def __init__(self, text: str) -> None:
        self._matches: Any = _compile(text).fullmatch

    def matches(self, name: str) -> bool:
        return self._matches(name) is not None


@lru_cache(maxsize=512)
def compiled(text: str) -> Regex:
    """The expression; a `ValueError` says what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    return Regex(text)


def _compile(text: str) -> Any:
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        return re2.compile(text, options)
    except UnicodeEncodeError:
        raise ValueError("it is not text") from None
    except re2.error as problem:
        why = problem.args[0] if problem.args else b""
        told = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        raise ValueError(told) from None


def is_plain(text: str) -> bool:
    """Whether it can only mean the one name that it is written like."""
    return bool(text) and frozenset(text) <= _PLAIN
