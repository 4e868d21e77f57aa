"""What becomes of each workload in one run, and who is told about it."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.controller.report import Report, Result
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key, Problem
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import Health
from reroll.core.tables.kinds import Kind


class Outcome(StrEnum):
    PENDING = "pending"
    ROLLING = "rolling"
    ROLLED = "rolled"
    RECORDED = "recorded"
    """Its record was written; no pod is replaced."""
    NOTHING = "nothing to do"
    HELD = "held"
    """It would roll, and something stands in the way."""
    FAILED = "failed"
    TIMED_OUT = "timed out"
    UNDONE = "rolled back"
    LEFT = "not begun"
    """Another one failed before its turn."""


class Work:
    """One workload of a run; changes as the run goes on."""

    def __init__(self, kind: Kind, before: Manifest, plan: Plan) -> None:
        metadata = before.metadata
        self.key = Key(kind.name, metadata.namespace, metadata.name)
        self.kind, self.before, self.plan = kind, before, plan
        self.outcome = Outcome.PENDING
        self.reason = plan.reason.word
        self.message = plan.message
        self.detail = ""
        """What it waits for, or what is wrong."""
        self.health: Health | None = None
        self.began: datetime | None = None
        self.ended: datetime | None = None
        self.after: object = None
        """The template that the roll made."""
        self.failed_as: Outcome | None = None
        """What it was before it was rolled back."""
        self.kept = False
        """A Job that is being made anew: it is written down, and may be gone."""

    @property
    def seconds(self) -> float:
        """How long it took, once it is over."""
        return (self.ended - self.began).total_seconds() if self.began and self.ended else 0.0

    @property
    def goes_on(self) -> bool:
        """Whether the cluster brings to an end what was begun, without anybody's help."""
        return not self.kept and bool(self.began or self.health)

    @property
    def has_failed(self) -> bool:
        return self.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}


class Options(msgspec.Struct, frozen=True):
    wait: bool = False
    timeout: float = 300.0
    """Seconds that each workload may take."""
    max_parallel: int = 0
    """Rolls under way at once; 0: all of them."""
    undo: bool = False
    """Go back if one of them fails."""


class Journal:
    """The last report about each workload; Events go on to the recorder, as the controller's do."""

    def __init__(self, record: Callable[[Report], None] | None = None) -> None:
        self.record = record
        self.problems: dict[str, Problem] = {}
        self._last: dict[Key, Report] = {}
        self._news = asyncio.Event()

    def tell(self, report: Report) -> None:
        self._last[report.key] = report
        self._news.set()
        for problem in report.problems:
            self.problems[problem.sentence] = problem
        done = report.result is Result.DONE
        if self.record and (report.rolled or report.reason.event) and (done or report.rolled):
            self.record(report)

    def forget(self, key: Key) -> None:
        self._last.pop(key, None)

    def take(self, key: Key) -> Report | None:
        return self._last.pop(key, None)

    async def wait(self, key: Key) -> Report:
        """The next report about a workload."""
        while (found := self.take(key)) is None:
            self._news.clear()
            await self._news.wait()
        return found
