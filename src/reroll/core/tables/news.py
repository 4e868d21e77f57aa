"""The table of news: what notices are about, and which reasons belong to it.

A reason that is no news by itself may be one if it lasts: what stands in the way of a roll is
`held`. Information tells that something was done; the others are problems, and have an end.
"""

# ruff: noqa: E501  the table reads best one row a line

from enum import Enum

from reroll.core.tables.reasons import Reason


class News(Enum):
    def __init__(self, word: str, severity: str, title: str, sentence: str) -> None:
        self.word = word
        self.severity = severity
        """As Alertmanager's users have it: `critical`, `warning` or `info`."""
        self.title = title
        self.sentence = sentence
        """What is so of the workloads, after their number."""

    def __str__(self) -> str:
        return self.word

    @property
    def is_problem(self) -> bool:
        return self.severity != "info"

    @property
    def end(self) -> str:
        """The title of its end: what was critical was about health."""
        return "Healthy again" if self.severity == "critical" else f"No longer {self.word}"

    # fmt: off
    STOPPED = "stopped", "critical", "Stopped", "not rolled, because a workload failed with this configuration"
    FAILED = "failed", "critical", "Failed", "not healthy with this configuration"
    ROLLED_BACK = "rolled-back", "critical", "Rolled back", "taken back to the configuration before"
    FLAPPING = "flapping", "warning", "Flapping", "held, because this configuration keeps changing"
    HELD = "held", "warning", "Held", "held for a long time"
    UNAPPROVED = "unapproved", "warning", "Waits for approval", "not rolled, because this configuration waits for approval"
    FORBIDDEN = "forbidden", "warning", "Forbidden", "not rolled, because that is not allowed"
    ROLLED = "rolled", "info", "Rolled", "rolled with this configuration"
    # fmt: on


PROBLEMS: tuple[News, ...] = tuple(news for news in News if news.is_problem)
BY_WORD: dict[str, News] = {news.word: news for news in News}
_OF_REASON: dict[Reason, News] = {
    Reason.STOPPED: News.STOPPED,
    Reason.FAILING: News.FAILED,
    Reason.STUCK: News.FAILED,
    Reason.ROLLBACK_FAILED: News.FAILED,
    Reason.ROLLED_BACK: News.ROLLED_BACK,
    Reason.FLAPPING: News.FLAPPING,
    Reason.UNAPPROVED: News.UNAPPROVED,
    Reason.FORBIDDEN: News.FORBIDDEN,
    Reason.REJECTED: News.FORBIDDEN,
    Reason.SOURCE_FORBIDDEN: News.FORBIDDEN,
    Reason.NOT_ALLOWED: News.FORBIDDEN,
    Reason.FAILED: News.HELD,
}
_UNSETTLED = frozenset((Reason.SOAKING, Reason.SUPERSEDED, Reason.DRY_RUN))


def problem_of(reason: Reason) -> News | None:
    """The problem that a reason tells of; `HELD` is one only if it lasts."""
    if found := _OF_REASON.get(reason):
        return found
    return News.HELD if reason.held and reason.severity == "Warning" else None


def is_passing(reason: Reason) -> bool:
    """Whether it says neither that a problem is there nor that it is over."""
    return reason.held or reason in _UNSETTLED
