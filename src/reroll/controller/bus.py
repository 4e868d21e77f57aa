"""The report bus: what happened is published once, and every sink makes of it what it is for.

What is held is looked at again and again: the bus knows which reports are news to people, and says
so once, and again when the reason changes. A bus without sinks is silent.
"""

import secrets
from itertools import count

import msgspec

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.tables.reasons import Reason

_DONE = ""
"""For a message: it was done, and the next look says so in other words."""


class Sink:
    """Takes what is published; a sink overrides what it is for."""

    def report(self, report: Report) -> None:
        """Every report."""

    def news(self, report: Report) -> None:
        """A report that people do not know yet, after `report`."""

    def problems(self, report: Report, problems: tuple[Problem, ...]) -> None:
        """Bad input that a report names, each once: of one reason, never none."""

    def forget(self, key: Key) -> None:
        """The object is gone, or no longer opted in."""


class Bus:
    def __init__(self, clock: Clock, *sinks: Sink) -> None:
        self._clock, self._sinks = clock, list(sinks)
        self._prefix, self._numbers = secrets.token_hex(4), count(1)
        # With the uid: another object by the same name is news.
        self._known: dict[Key, tuple[str, Reason, str]] = {}
        self._problems: dict[Key, tuple[str, frozenset[Problem]]] = {}

    def subscribe(self, sink: Sink) -> None:
        self._sinks.append(sink)

    def publish(self, report: Report) -> None:
        if not self._sinks:
            return
        number = f"{self._prefix}-{next(self._numbers)}"
        report = msgspec.structs.replace(report, id=number, at=self._clock.now())
        problems = _by_reason(self._new_problems(report))
        is_news = self._is_news(report)
        for sink in self._sinks:
            try:
                sink.report(report)
                for together in problems:
                    sink.problems(report, together)
                if is_news:
                    sink.news(report)
            except Exception as error:  # noqa: BLE001  the other sinks, and the work itself, go on
                bugs.report(Part.REPORT, error, object=str(report.key))

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)
        self._problems.pop(key, None)
        for sink in self._sinks:
            with bugs.contained(Part.REPORT, object=str(key)):
                sink.forget(key)

    def _is_news(self, report: Report) -> bool:
        if report.rolled or report.result is Result.DONE:
            self._known.pop(report.key, None)
            if report.result is Result.DONE and report.reason.event:
                self._known[report.key] = (report.uid, report.reason, _DONE)
            return True
        state, known = (report.uid, report.reason, report.message), self._known.get(report.key)
        if report.reason.event and known != state:
            self._known[report.key] = state
            return report.calls or known != (report.uid, report.reason, _DONE)
        # All is well: what comes after it is news. That a rollout is complete is told without a
        # look: what holds the workload still does.
        if report.result is Result.NOTHING and report.reason is not Reason.COMPLETE:
            self._known.pop(report.key, None)
        return False

    def _new_problems(self, report: Report) -> list[Problem]:
        if not report.problems and report.key not in self._problems:
            return []
        uid, known = self._problems.get(report.key, ("", frozenset()))
        if uid != report.uid:
            known = frozenset()
        now = frozenset(report.problems) | {p for p in known if p.reason.lasting}
        if now:
            self._problems[report.key] = (report.uid, now)
        else:
            self._problems.pop(report.key, None)
        return sorted(now - known, key=lambda problem: problem.sentence)


def _by_reason(problems: list[Problem]) -> list[tuple[Problem, ...]]:
    """Together what has one reason: many problems of one object are one thing to tell."""
    found: dict[Reason, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.reason, []).append(problem)
    return [tuple(each) for each in found.values()]
