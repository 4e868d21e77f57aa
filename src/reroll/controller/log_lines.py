"""The sink that writes log lines: one for all that is news, one for the problems of each reason."""

from reroll.controller.bus import Sink
from reroll.controller.logs import Log
from reroll.controller.report import Report, Result, summary
from reroll.core.model.key import Problem

log = Log("reroll")


class LogLines(Sink):
    def news(self, report: Report) -> None:
        write = log.info if report.severity == "Normal" else log.warning
        write(
            "rolled" if report.rolled and report.result is Result.DONE else report.result.value,
            workload=str(report.key),
            reason=report.reason.word,
            strategy=report.strategy,
            because=report.message,
            stamp=report.stamp,
            seconds=None if report.seconds is None else round(report.seconds, 3),
        )

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        log.warning(
            "bad input",
            workload=str(report.key),
            reason=problems[0].reason.word,
            problem=summary(problems),
        )
