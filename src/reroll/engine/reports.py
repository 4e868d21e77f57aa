"""What there is to report of a workload, with and without a decision on it."""

import msgspec

from reroll.clock import Clock
from reroll.controller.report import Report, Result
from reroll.core.decide.plan import Plan
from reroll.core.decide.situation import reported
from reroll.core.decide.superseding import superseded
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.engine.observer import Observer
from reroll.engine.outcome import SLOWLY, Turn, report_of
from reroll.kube import resources
from reroll.kube.errors import ApiError, Forbidden, Invalid, Rejected

_AFTER: tuple[tuple[type[ApiError], Reason], ...] = (
    (Forbidden, Reason.FORBIDDEN),
    (Invalid, Reason.REJECTED),
    (Rejected, Reason.REJECTED),
)


def after(error: Exception) -> tuple[Reason, float]:
    """What an error means, and how many seconds to wait at least."""
    for kind, reason in _AFTER:
        if isinstance(error, kind):
            return reason, SLOWLY
    return Reason.FAILED, 0.0


class Reports:
    def __init__(self, clock: Clock, observer: Observer) -> None:
        self._clock, self._observer = clock, observer

    def of(self, turn: Turn, result: Result) -> Report:
        """Of a plan that came to this."""
        said = reported(turn.snapshot, turn.plan, self._clock.now())
        if said.reason.held and result is Result.NOTHING:
            result = Result.HELD
        report = report_of(turn._replace(plan=said), result)
        since = turn.snapshot.waiting_since
        if since and report.rolled:
            seconds = ((turn.answered or self._clock.now()) - since).total_seconds()
            report = msgspec.structs.replace(report, seconds=seconds)
        return report

    def of_roll(self, turn: Turn) -> tuple[Report, ...]:
        """Of a plan that was carried out, and before it of the rollout that it cuts short."""
        report = self.of(turn, Result.DONE)
        why = superseded(turn.snapshot, turn.plan)
        if not why:
            return (report,)
        cut = Turn(turn.snapshot, Plan(Reason.SUPERSEDED, why))
        return self.of(cut, Result.NOTHING), report

    def without_look(
        self, key: Key, reason: Reason, result: Result, why: str = ""
    ) -> tuple[Report, ...]:
        """What there is to say of a workload, if it is known, without a decision."""
        tracked = self._observer.world.workloads.get(key)
        if tracked is None:
            return ()
        report = Report(
            key=key,
            uid=tracked.workload.uid,
            api_version=resources.of(self._observer.kinds[key.kind]).api_version,
            reason=reason,
            message=f"{reason.sentence}{why}",
            result=result,
            problems=tracked.policy.problems,
        )
        return (report,)
