"""Regular expressions over the names of sources: Go's syntax, matched in bounded time.

A match costs at most the instructions of the expression times the length of the name. A short text
can compile to many instructions, so it is those that are limited, for each workload. RE2 is what
Go's own expressions are made after. It is loaded only where one is written that is more than a
name. A match is always of the whole name.
"""

from functools import lru_cache
from typing import Any

from reroll.core.tables import limits

_MEMORY = 1 << 16
"""Bytes that one may take, with what is cached of its matches."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Regex:
    def __init__(self, text: str) -> None:
        expression = _compile(text)
        self._matches: Any = expression.fullmatch
        self.cost: int = expression.programsize

    def matches(self, name: str) -> bool:
        return self._matches(name) is not None


@lru_cache(maxsize=limits.REGEX_CACHE.number)
def compiled(text: str) -> Regex:
    """The expression; a `ValueError` says what is wrong with it."""
    if len(text) > limits.REGEX_LENGTH.number:
        raise ValueError(f"it is longer than {limits.REGEX_LENGTH.number} characters")
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
