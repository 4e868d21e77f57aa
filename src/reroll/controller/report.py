"""What happened to one key: the one value that metrics, log lines and Events are made from."""

from enum import StrEnum
from typing import Protocol

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason


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

    @property
    def rolled(self) -> bool:
        return bool(self.strategy)


class Teller(Protocol):
    """Whoever is told what happened."""

    def tell(self, report: Report) -> None: ...

    def forget(self, key: Key) -> None:
        """The workload is gone, or no longer opted in."""
