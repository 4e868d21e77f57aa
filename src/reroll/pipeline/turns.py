"""Takes a run through the waves of a change: who waits for others, and until when others wait."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from reroll.controller.report import Report
from reroll.core.model.key import Key
from reroll.core.model.record import Trial
from reroll.core.propagation.member import soak_of
from reroll.core.propagation.verdict import Verdict
from reroll.core.tables.reasons import Reason
from reroll.engine.observer import Observer
from reroll.engine.outcome import Outcome
from reroll.pipeline.follow import POLL, Follow
from reroll.pipeline.work import Stage, Work

WAITING = frozenset((Reason.AFTER_OTHERS, Reason.CROWDED))
_BAD = frozenset((Verdict.FAILED.value, Verdict.STUCK.value))


class Turns:
    def __init__(
        self,
        observer: Observer,
        follow: Follow,
        reconcile: Callable[[Work], Awaitable[Outcome]],
        publish: Callable[[Report], None],
    ) -> None:
        self._observer, self._follow = observer, follow
        self._reconcile, self._publish = reconcile, publish
        self._patience: dict[Key, tuple[str, datetime]] = {}
        """What each waits for that waits for others, and until when it may be just that."""

    async def next(self, work: Work, deadline: datetime) -> bool:
        """Wait for others; `False`: it waits for none, or there was no news until the deadline.

        Its own time begins with its turn.
        """
        if work.stage is not Stage.HELD or work.reason not in WAITING:
            return False
        known = self._patience.get(work.key)
        if known is None or known[0] != work.detail:
            known = self._patience[work.key] = work.detail, deadline
        return await self._follow.sleep(POLL, known[1])

    async def settle(self, work: Work, deadline: datetime) -> None:
        """Where others wait for it: until it has stayed healthy for its soak time."""
        if work.stage is not Stage.ROLLED:
            return
        while (trial := self._trial(work)) and not (trial.v or trial.sick):
            outcome = await self._reconcile(work)
            for report in outcome.reports:
                self._publish(report)
            trial = self._trial(work)
            if trial is None or trial.v or outcome.delay is None:
                break
            snapshot = self._observer.snapshot(work.key)
            soaked = deadline + (soak_of(snapshot) if snapshot else timedelta())
            if not await self._follow.sleep(min(outcome.delay, POLL), soaked):
                self._follow.change(work, Stage.TIMED_OUT, "it was not healthy for its soak time")
                return
        if (trial := self._trial(work)) and trial.v in _BAD:
            self._follow.change(work, Stage.FAILED, trial.why)

    def _trial(self, work: Work) -> Trial | None:
        snapshot = self._observer.snapshot(work.key)
        record = snapshot.record if snapshot and snapshot.governed else None
        return record.trial if record else None
