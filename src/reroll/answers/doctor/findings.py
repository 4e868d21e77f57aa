"""What a checkup finds: a sentence, how bad it is, and what to do.

Pure. Every check of this package turns facts into findings; whoever gathers the facts says what it
could not see, which is a finding too and never silence.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple


class Level(StrEnum):
    """From good to bad."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing has to be done."""
    WARNING = "warning"
    """It works, and something will surprise somebody."""
    PROBLEM = "problem"
    """Something that was asked for does not work."""

    @property
    def rank(self) -> int:
        return list(Level).index(self)


class Finding(NamedTuple):
    check: str
    level: Level
    sentence: str
    todo: str = ""


def worst(findings: Iterable[Finding]) -> Level:
    return max((one.level for one in findings), key=lambda level: level.rank, default=Level.OK)


class Check:
    """Findings of one check; its name stands once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def ok(self, sentence: str) -> Finding:
        return Finding(self._name, Level.OK, sentence)

    def note(self, sentence: str, todo: str = "") -> Finding:
        return Finding(self._name, Level.NOTE, sentence, todo)

    def warning(self, sentence: str, todo: str) -> Finding:
        return Finding(self._name, Level.WARNING, sentence, todo)

    def problem(self, sentence: str, todo: str) -> Finding:
        return Finding(self._name, Level.PROBLEM, sentence, todo)


def document(found: list[Finding], version: str) -> dict[str, Any]:
    """For programs."""
    return {
        "version": version,
        "worst": worst(found).value,
        "findings": [finding._asdict() for finding in found],
    }
