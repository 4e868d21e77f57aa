"""A plan: a reason, a sentence, and the actions that follow. A plan does nothing by itself."""

from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.core.decide.actions import READS, Action, GoBack, Patch, Pause, Resume, records
from reroll.core.model.gates import Phase
from reroll.core.model.key import Problem
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Change
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


class Effect(StrEnum):
    """What a plan comes to, in a word for lists."""

    ROLLS = "rolls"
    EVICTS = "evicts pods"
    RELOADS = "reloads"
    STARTS_JOB = "starts a Job"
    RECREATES = "recreated"
    NEXT_RUN = "next run"
    NOTIFIES = "notify"
    GOES_ON = "goes on"
    RECORDED = "recorded"
    HELD = "held"
    STALE = "stale"
    DECLINED = "declined"
    FAILING = "failing"
    GOES_BACK = "goes back"
    GONE_BACK = "rolled back"
    NOTHING = "-"

    @property
    def reaches_pods(self) -> bool:
        """Whether pods get another configuration by it."""
        return self in _REACHES_PODS


_REACHES_PODS = frozenset(
    (Effect.ROLLS, Effect.EVICTS, Effect.RELOADS, Effect.STARTS_JOB, Effect.RECREATES)
)
_OF_STRATEGY = {
    Strategy.EVICT: Effect.EVICTS,
    Strategy.RELOAD: Effect.RELOADS,
    Strategy.TRIGGER: Effect.STARTS_JOB,
    Strategy.RECREATE: Effect.RECREATES,
    Strategy.NEXT_RUN: Effect.NEXT_RUN,
    Strategy.NOTIFY: Effect.NOTIFIES,
}
_OF_REASON = {
    Reason.PODS_OLDER: Effect.STALE,
    Reason.DECLINED: Effect.DECLINED,
    Reason.FAILING: Effect.FAILING,
    Reason.STUCK: Effect.FAILING,
    Reason.ROLLED_BACK: Effect.GONE_BACK,
    Reason.ROLLBACK_FAILED: Effect.FAILING,
}


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What should happen and why."""

    reason: Reason
    message: str
    actions: tuple[Action, ...] = ()
    look_at: datetime | None = None
    """Look again then at the latest, whatever comes of the actions."""
    problems: tuple[Problem, ...] = ()
    strategy: Strategy | None = None
    """How it rolls, for the report; `None`: it does not."""
    stamp: str = ""
    changes: tuple[Change, ...] = ()
    """What it rolls for."""
    asks: Phase | None = None
    """Its gates have to be asked, because it waits for them or soaks behind them."""
    late_at: datetime | None = None
    """When whoever stays looks again, to tell of a rollout that does not get on; nothing waits."""
    calls: bool = False
    """Somebody has to decide, and is told so whatever was told before."""

    @property
    def record(self) -> Record | None:
        """The record that it writes."""
        for action in self.actions:
            if (record := records(action)) is not None:
                return record
        return None

    @property
    def effect(self) -> Effect:
        if self.goes_back:
            return Effect.GOES_BACK
        if self.strategy is not None:
            return _OF_STRATEGY.get(self.strategy, Effect.ROLLS)
        if self.reason in _OF_REASON:
            return _OF_REASON[self.reason]
        if self.reason.held or all(isinstance(one, READS) for one in self.actions):
            return Effect.NOTHING if self.reason.quiet else Effect.HELD
        return Effect.GOES_ON if self.reason is Reason.CONTINUED else Effect.RECORDED

    @property
    def goes_back(self) -> bool:
        """Whether it takes the workload back; the same reason is kept once that is done."""
        is_back = self.reason is Reason.ROLLED_BACK
        return is_back and (self.strategy is not None or self.has(GoBack))

    @property
    def pauses(self) -> bool:
        """Whether it begins or ends a pause of the workload."""
        edits = (edit for one in self.actions if isinstance(one, Patch) for edit in one.edits)
        return any(isinstance(edit, Pause | Resume) for edit in edits)

    def has(self, action: type[Action]) -> bool:
        return any(isinstance(one, action) for one in self.actions)


def without_action(reason: Reason, detail: str = "", *, look_at: datetime | None = None) -> Plan:
    """Nothing to do, or nothing that may be done now; `detail` comes after the sentence."""
    message = f"{reason.sentence}{detail}"
    return Plan(reason, message, look_at=look_at)
