"""What happened to one key: the one value that metrics, log lines and Events are made from."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason, Severity

UNPUBLISHED = datetime.min.replace(tzinfo=UTC)


class Result(StrEnum):
    DONE = "done"
    """It was written to the cluster."""
    HELD = "held"
    """Something stands in the way; it is looked at again."""
    FAILED = "failed"
    NOTHING = "nothing"


class Report(msgspec.Struct, frozen=True, gc=False):
    key: Key
    uid: str
    api_version: str
    reason: Reason
    message: str
    result: Result
    strategy: str = ""
    sources: tuple[Key, ...] = ()
    stamp: str = ""
    seconds: float | None = None
    """From the first change noticed to the answer of the API server."""
    problems: tuple[Problem, ...] = ()
    change: str = ""
    """The change it belongs to, see `change_id`; empty where none is involved."""
    done: str = ""
    """What was done, before the message of its Event."""
    calls: bool = False
    """Somebody has to decide."""
    id: str = ""
    """Unique among all reports of all processes; the bus sets it."""
    at: datetime = UNPUBLISHED
    """When it was published; the bus sets it."""

    @property
    def rolled(self) -> bool:
        return bool(self.strategy)

    @property
    def severity(self) -> Severity:
        return "Warning" if self.result is Result.FAILED else self.reason.severity


def summary(problems: Sequence[Problem]) -> str:
    """The sentences of problems as one: the first of them, and how many more there are."""
    shown = problems[0].sentence[:_LONGEST]
    for place, problem in enumerate(problems[1:], 1):
        if len(shown) + len(problem.sentence) > _LONGEST:
            return f"{shown}; and {len(problems) - place} more"
        shown = f"{shown}; {problem.sentence}"
    return shown


_LONGEST = 900
"""Characters: the API server takes Events with a message of at most 1024."""


def change_id(changes: Iterable[tuple[Key, str]]) -> str:
    """The change from which these sources have these digests now; empty for no source.

    It depends on nothing else: all workloads that roll because one source got one digest share it,
    on every replica and after every restart. A roll for several sources is a change of its own, and
    so is one for other keys of a source, whose digest is another.
    """
    lines = sorted(f"{key} {digest}" for key, digest in changes)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""
