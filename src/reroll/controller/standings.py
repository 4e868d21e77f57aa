"""How workloads stand, as far as metrics go: what holds them, and what became of their rollouts.

It follows from reports alone. A verdict is in the record, so that it is reported as done once; what
is merely seen again, by the next look or after a restart, is not counted again. An open breaker
is: another replica that takes over finds it open, and cannot tell since when.
"""

from collections import Counter

from reroll.controller.bus import Sink
from reroll.controller.exposition import Family
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key
from reroll.core.tables.kinds import INJECTION
from reroll.core.tables.reasons import Reason

ROLLOUTS = {
    Reason.COMPLETE: "complete",
    Reason.HEALTHY: "healthy",
    Reason.FAILING: "failed",
    Reason.STUCK: "stuck",
}
ROLLBACKS = {Reason.ROLLED_BACK: "done", Reason.ROLLBACK_FAILED: "failed"}
UNHEALTHY = (Reason.FAILING, Reason.STUCK, Reason.ROLLED_BACK, Reason.ROLLBACK_FAILED)
"""They stand until the workload rolls again, or is well."""


class Standings(Sink):
    """Counts outcomes in the families that it is given."""

    def __init__(self, rollouts: Family, rollbacks: Family, trips: Family) -> None:
        self._trips = trips
        self._counted = {reason: (rollouts, label) for reason, label in ROLLOUTS.items()}
        self._counted |= {reason: (rollbacks, label) for reason, label in ROLLBACKS.items()}
        for family, label in self._counted.values():
            family.set(0, label)  # A counter that appears with its first event has no increase.
        self._held: dict[Key, Reason] = {}
        self._unhealthy: dict[Key, Reason] = {}
        self._rolled: set[Key] = set()
        """Those whose rollout is not known to be over."""
        self._tripped: set[Key] = set()

    def held(self) -> Counter[Reason]:
        return Counter(self._held.values())

    def unhealthy(self) -> dict[Reason, int]:
        found = Counter(self._unhealthy.values())
        return {reason: found[reason] for reason in UNHEALTHY}

    def report(self, report: Report) -> None:
        if report.key.kind == INJECTION:
            return
        if report.reason in self._counted and self._is_new(report):
            family, label = self._counted[report.reason]
            family.inc(label)
        if report.reason is Reason.FLAPPING and report.key not in self._tripped:
            self._tripped.add(report.key)
            self._trips.inc()
        self._place(report)

    def forget(self, key: Key) -> None:
        for known in (self._held, self._unhealthy):
            known.pop(key, None)
        for keys in (self._rolled, self._tripped):
            keys.discard(key)

    def _is_new(self, report: Report) -> bool:
        """Whether an outcome is one that was not counted, by this process or by another."""
        if report.reason is Reason.COMPLETE:
            return True
        before = self._unhealthy.get(report.key)
        is_ours = before is not None or report.key in self._rolled
        return before is not report.reason and (report.result is Result.DONE or is_ours)

    def _place(self, report: Report) -> None:
        key, reason = report.key, report.reason
        if reason is Reason.COMPLETE:  # Told without a look: what holds it still does.
            self._unhealthy.pop(key, None)
            self._rolled.discard(key)
        elif reason in UNHEALTHY:
            self._held.pop(key, None)
            self._rolled.discard(key)
            self._unhealthy[key] = reason
        elif report.result is Result.HELD:
            self._held[key] = reason
        else:
            self._held.pop(key, None)
            if report.result is Result.NOTHING or reason is Reason.HEALTHY or _has_rolled(report):
                self._settle(report)

    def _settle(self, report: Report) -> None:
        """It is well, or rolls: what was before it does not count any more."""
        self._unhealthy.pop(report.key, None)
        self._tripped.discard(report.key)
        if _has_rolled(report):
            self._rolled.add(report.key)
        elif report.reason is Reason.HEALTHY:
            self._rolled.discard(report.key)


def _has_rolled(report: Report) -> bool:
    return report.rolled and report.result is Result.DONE
