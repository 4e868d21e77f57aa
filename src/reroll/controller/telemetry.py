"""A report to metric, log line and Event: the only place that does, after the fact.

What is held is looked at again and again; people are told once, and again when the reason changes.
"""

from reroll.controller.events import Recorder
from reroll.controller.logs import Log
from reroll.controller.metrics import Metrics
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason

log = Log("reroll")

# Worth an Event on the workload even though nothing rolled.
TOLD: frozenset[Reason] = frozenset(
    {
        Reason.SOURCE_MISSING,
        Reason.TOO_MANY_SOURCES,
        Reason.HELD,
        Reason.HELD_AT,
        Reason.REVISION_MISSING,
        Reason.PINS_REMOVED,
        Reason.COPY_REFUSED,
        Reason.COPY_RESTORED,
        Reason.PAUSED,
        Reason.RESTING,
        Reason.RESUMED,
        Reason.UNDONE,
        Reason.REPAIRED,
        Reason.KEY_LOST,
        Reason.REJECTED,
        Reason.FORBIDDEN,
        Reason.SOURCE_FORBIDDEN,
        Reason.FAILED,
        Reason.EVICTION_REFUSED,
        Reason.RELOAD_REFUSED,
        Reason.INJECTED,
        Reason.DRY_RUN,
        Reason.REMOVED,
        Reason.CLAIMED,
        Reason.TAKEN_BACK,
        Reason.NOT_ALLOWED,
        Reason.TARGET_MISSING,
        Reason.INVALID_INJECTION,
        Reason.INVALID_VALUE,
        Reason.LOOP,
    }
)


LASTING: frozenset[Reason] = frozenset({Reason.OTHER_CONTROLLER, Reason.PODS_NOT_REWRITTEN})


class Telemetry:
    def __init__(self, metrics: Metrics, recorder: Recorder) -> None:
        self.metrics, self._recorder = metrics, recorder
        # With the uid: what was told of one is news of another with its name.
        self._told: dict[Key, tuple[str, Reason, str]] = {}
        self._problems: dict[Key, tuple[str, frozenset[Problem]]] = {}

    def tell(self, report: Report) -> None:
        self._count(report)
        self._tell_problems(report)
        if report.rolled or report.result is Result.DONE:
            self._told.pop(report.key, None)
            self._write(report)
            if report.rolled or report.reason in TOLD:
                self._recorder.record(report)
        elif report.reason in TOLD and self._told.get(report.key) != (
            told := (report.uid, report.reason, report.message)
        ):
            self._told[report.key] = told
            self._write(report)
            self._recorder.record(report)
        elif report.result is Result.NOTHING:
            self._told.pop(report.key, None)  # All is well: what comes after it is news.

    def forget(self, key: Key) -> None:
        self._told.pop(key, None)
        self._problems.pop(key, None)

    def _count(self, report: Report) -> None:
        self.metrics.decisions.labels(report.reason.word, report.result.value).inc()
        if report.rolled:
            labels = (report.reason.word, report.strategy, report.key.kind, report.result.value)
            self.metrics.rolls.labels(*labels).inc()
            if report.seconds is not None and report.result is Result.DONE:
                self.metrics.latency.observe(report.seconds)

    def _tell_problems(self, report: Report) -> None:
        uid, known = self._problems.get(report.key, ("", frozenset()))
        if uid != report.uid:
            known = frozenset()
        # That another controller acted stays so, though the next look may not show it.
        now = frozenset(report.problems) | {p for p in known if p.reason in LASTING}
        new = now - known
        if now:
            self._problems[report.key] = (report.uid, now)
        else:
            self._problems.pop(report.key, None)
        for problem in sorted(new, key=lambda problem: problem.sentence):
            self.metrics.problems.labels(report.key.kind, report.key.namespace).inc()
            log.warning(
                "bad input",
                workload=str(report.key),
                reason=problem.reason.word,
                problem=problem.sentence,
            )
            self._recorder.problem(report, problem)

    def _write(self, report: Report) -> None:
        write = log.info if report.result is Result.DONE else log.warning
        write(
            "rolled" if report.rolled and report.result is Result.DONE else report.result.value,
            workload=str(report.key),
            reason=report.reason.word,
            strategy=report.strategy,
            because=report.message,
            stamp=report.stamp,
            seconds="" if report.seconds is None else round(report.seconds, 3),
        )
