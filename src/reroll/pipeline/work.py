"""What becomes of each workload in one run."""

from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.controller.report import Report, Result
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.health import Health
from reroll.core.tables.kinds import Kind, Strategy


class Stage(StrEnum):
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
    DECLINED = "declined"
    """An earlier run took it back from what its sources hold, and they still hold it."""
    LEFT = "not begun"
    """Another one failed before its turn."""


class Work:
    """One workload of a run. Only the run changes it."""

    def __init__(self, kind: Kind, before: Manifest, plan: Plan) -> None:
        metadata = before.metadata
        self.key = Key(kind.name, metadata.namespace, metadata.name)
        self.kind, self.before, self.plan = kind, before, plan
        self.stage = Stage.PENDING
        self.reason = plan.reason
        self.message = plan.message
        self.detail = ""
        """What it waits for, or what is wrong."""
        self.health: Health | None = None
        self.began: datetime | None = None
        self.ended: datetime | None = None
        self.rolled: msgspec.Raw | None = None
        """The template that the roll made."""
        self.failed_as: Stage | None = None
        """What it was before it was rolled back."""
        self.is_declined = False
        """Its sources hold what it was taken back from; as known when the run began."""
        self.is_joined = False
        """This run rolled nothing of it, and waited until it was well."""
        self.reads = ""
        """What pods read that start after it was rolled back."""
        self.is_pending_job = False
        """A Job that is being replaced: it is written down, and may be gone."""

    def replan(self, before: Manifest, plan: Plan) -> None:
        """It waited for its turn, and this is what it is and needs now."""
        self.before, self.plan = before, plan

    def change(self, stage: Stage, detail: str, now: datetime) -> None:
        self.stage, self.detail = stage, detail
        under_way = stage in {Stage.PENDING, Stage.ROLLING}
        self.ended = None if under_way else self.ended or now

    def read(self, report: Report, now: datetime) -> None:
        """What a report says of it."""
        if report.rolled and report.result is Result.DONE:
            self.began, self.reason, self.message = now, report.reason, report.message
            strategy = Strategy(report.strategy)
            waits = strategy in _WAITED_FOR and not self.plan.pauses
            passes = strategy in {Strategy.NEXT_RUN, Strategy.NOTIFY}
            done = Stage.RECORDED if passes else Stage.ROLLED
            self.change(Stage.ROLLING if waits else done, _EFFECTS.get(strategy, ""), now)
        elif self.began is not None:
            is_held = report.result is Result.HELD
            self.change(self.stage, report.message if is_held else "", now)
        elif (stage := _PROGRESS.get(report.result)) is not None:
            self.reason = report.reason
            self.change(stage, report.message, now)

    @property
    def seconds(self) -> float:
        """How long it took, once it is over."""
        return (self.ended - self.began).total_seconds() if self.began and self.ended else 0.0

    @property
    def goes_on(self) -> bool:
        """Whether the cluster brings to an end what was begun, without anybody's help."""
        return not self.is_pending_job and bool(self.began or self.health)

    @property
    def has_failed(self) -> bool:
        return self.stage in {Stage.FAILED, Stage.TIMED_OUT}


_PROGRESS = {
    Result.DONE: Stage.RECORDED,
    Result.HELD: Stage.HELD,
    Result.NOTHING: Stage.NOTHING,
}
_WAITED_FOR = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.EVICT, Strategy.RELOAD)
)
_EFFECTS = {
    Strategy.NEXT_RUN: "its next run has the new configuration",
    Strategy.NOTIFY: "it is reported, nothing is replaced",
    Strategy.TRIGGER: "a Job was started",
}


class Options(msgspec.Struct, frozen=True):
    wait: bool = False
    timeout: float = 300.0
    """Seconds that each workload may take."""
    max_parallel: int = 0
    """Rolls under way at once; 0: all of them."""
    undo: bool = False
    """Go back if one of them fails."""
    fail_fast: bool = True
    """A crash loop is a failure at once, rather than when the time is up."""
