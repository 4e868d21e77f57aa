"""What a receiver is told of an incident: one value, and the words that are made of it. Pure.

Nothing of it is a value of a source: it names workloads, sources and reasons.
"""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from reroll.core.policy.durations import format_duration
from reroll.core.tables.news import News
from reroll.features.notices.incidents import NAMED, Incident


class State(StrEnum):
    OPEN = "open"
    """It is so."""
    OVER = "over"
    """It was so, and is no longer."""
    TEST = "test"
    """Nothing is so: somebody tries whether this gets through."""


class Bulletin(msgspec.Struct, frozen=True):
    notice: str
    news: News
    state: State
    about: str
    change: str
    since: datetime
    at: datetime
    count: int
    workloads: tuple[tuple[str, str], ...] = ()
    """The first of them, each with what is said of it."""
    namespaces: tuple[str, ...] = ()
    moved_to: News | None = None
    link: str = ""
    cluster: str = ""
    topic: str = ""
    """The id of what it is about."""

    @property
    def thread(self) -> str:
        """Of all that is told of one incident; told again, it is the same."""
        return f"{self.topic}-{int(self.since.timestamp()):x}"

    @property
    def id(self) -> str:
        return f"{self.thread}-{self.state}"

    @property
    def title(self) -> str:
        where = f" [{self.cluster}]" if self.cluster else ""
        if self.state is State.TEST:
            return f"Test: notice {self.notice} gets through{where}"
        if self.state is State.OPEN:
            return f"{self.news.title}: {self.about}{where}"
        if self.moved_to is None:
            return f"{self.news.end}: {self.about}{where}"
        return f"No longer {self.news}, now {self.moved_to}: {self.about}{where}"

    @property
    def summary(self) -> str:
        """One sentence."""
        many = f"{self.count} workload{'s' if self.count != 1 else ''}"
        if self.state is State.TEST:
            return "This is a test of Reroll. Nothing has happened, and nobody has to do anything."
        if self.state is State.OPEN:
            return f"{many} {self.news.sentence}."
        lasted = timedelta(seconds=max(0, round((self.at - self.since).total_seconds())))
        return f"{many} {_was(self.count)} {self.news} for {format_duration(lasted)}."

    @property
    def lines(self) -> tuple[str, ...]:
        """The first workloads, and how many more there are."""
        shown = [f"{name}: {said}" if said else name for name, said in self.workloads]
        if self.workloads and self.count > len(self.workloads):
            shown.append(f"and {self.count - len(self.workloads)} more")
        return tuple(shown)

    @property
    def text(self) -> str:
        return "\n".join((self.summary, *self.lines))


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def bulletin_of(
    incident: Incident,
    state: State,
    at: datetime,
    *,
    notice: str,
    link: str = "",
    cluster: str = "",
) -> Bulletin:
    topic = incident.topic
    members = list(incident.members.items())[:NAMED]
    is_over = state is State.OVER
    return Bulletin(
        notice=notice,
        news=topic.news,
        state=state,
        about=topic.about,
        change=topic.change,
        since=incident.delivery.since if incident.delivery else incident.since,
        at=at,
        count=incident.count if is_over or not topic.news.is_problem else len(incident.members),
        workloads=tuple((f"{key.kind} {key.namespace}/{key.name}", said) for key, said in members),
        namespaces=tuple(incident.namespaces),
        moved_to=incident.moved_to if is_over else None,
        link=link,
        cluster=cluster,
        topic=topic.id,
    )


def values(message: Bulletin) -> dict[str, str]:
    """By the names that a template may use, see `core.policy.receivers.PLACEHOLDERS`."""
    return {
        "title": message.title,
        "text": message.text,
        "news": message.news.word,
        "state": message.state.value,
        "severity": message.news.severity,
        "sources": message.about,
        "change": message.change,
        "count": str(message.count),
        "workloads": "\n".join(message.lines),
        "since": stamp(message.since),
        "time": stamp(message.at),
        "id": message.id,
        "notice": message.notice,
        "cluster": message.cluster,
        "link": message.link,
    }


def document(message: Bulletin) -> dict[str, object]:
    """For programs: the same in a structure."""
    return {
        "id": message.id,
        "incident": message.thread,
        "notice": message.notice,
        "cluster": message.cluster,
        "news": message.news.word,
        "state": message.state.value,
        "severity": message.news.severity,
        "title": message.title,
        "summary": message.summary,
        "sources": message.about,
        "change": message.change,
        "count": message.count,
        "workloads": [{"name": name, "message": said} for name, said in message.workloads],
        "namespaces": list(message.namespaces),
        "since": stamp(message.since),
        "time": stamp(message.at),
        "link": message.link,
    }


def stamp(moment: datetime) -> str:
    """RFC 3339, in UTC."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
