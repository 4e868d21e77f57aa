"""News of many workloads, gathered: one incident for each change and kind of news.

Pure. An incident is keyed by what it is about, never by its text: the sources, what they hold, and
the kind of news. It is open as long as a workload is in it. What has been told of it is beside it,
and outlives the process, see `state`.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.tables.news import BY_WORD, News

MOST = 100
"""Incidents that are told one by one, of problems; those beyond share one for each kind of news."""
MOST_INFORMATION = 50
"""Changes whose information is remembered to have been told."""
NAMED = 5
"""Workloads that a message names."""
_LONGEST = 200


class Topic(NamedTuple):
    """What an incident is about."""

    news: News
    about: str
    """The sources, or what else they have in common, for people."""
    change: str = ""
    """The change that the sources came to hold this with, see `controller.report`."""

    @property
    def id(self) -> str:
        text = f"{self.news}\n{self.about}\n{self.change}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def topic(news: News, sources: Iterable[Key], change: str, workload: Key) -> Topic:
    """Of a report about these sources; without any, of its namespace."""
    names = [f"{one.kind.lower()} {one.namespace}/{one.name}" for one in sources]
    about = several(names)[:_LONGEST] if names else f"namespace {workload.namespace}"
    return Topic(news, about, change)


def overflow(news: News) -> Topic:
    return Topic(news, "more changes than are reported one by one")


def _line(message: str) -> str:
    """One line: others' words may be in it, and may not look like more lines of ours."""
    text = "".join(each if each.isprintable() else " " for each in message[: 2 * _LONGEST])
    return " ".join(text.split())[:_LONGEST]


class Delivery(msgspec.Struct, omit_defaults=True):
    """What is known of an incident beyond this process; all of it is in the state."""

    news: str
    about: str
    since: datetime
    change: str = ""
    sent: bool = False
    """A receiver took it."""
    ref: str = ""
    """By which the receiver knows its first message, to update it."""
    count: int = 0
    """Of workloads, when it was last told."""
    dropped: bool = False
    """It could not be told for so long that nobody tries any more."""

    @property
    def topic(self) -> Topic:
        return Topic(BY_WORD[self.news], self.about, self.change)


class Incident:
    __slots__ = ("count", "delivery", "members", "moved_to", "namespaces", "since", "topic")

    def __init__(self, topic: Topic, since: datetime, delivery: Delivery | None = None) -> None:
        self.topic, self.since, self.delivery = topic, since, delivery
        self.members: dict[Key, str] = {}
        """What is said of each of the first, and nothing of the others."""
        self.namespaces: dict[str, None] = {}
        self.count = delivery.count if delivery else 0
        """The most that it ever had; of information, all."""
        self.moved_to: News | None = None
        """The problem that the last to leave has instead, if it is not well."""

    @property
    def is_open(self) -> bool:
        return bool(self.members)

    def put(self, key: Key, message: str) -> bool:
        """Whether it was not in it yet."""
        is_new = key not in self.members
        shown = len(self.members) < NAMED or (not is_new and bool(self.members[key]))
        self.members[key] = _line(message) if shown else ""
        if len(self.namespaces) < NAMED:
            self.namespaces[key.namespace] = None
        self.count = max(self.count, len(self.members))
        if is_new:
            self.moved_to = None
        return is_new

    def note(self, key: Key, message: str) -> None:
        """One more that something was done to; nobody asks for it again."""
        self.count += 1
        if len(self.members) < NAMED:
            self.members[key] = _line(message)
            self.namespaces[key.namespace] = None


class Incidents:
    """Of one notice. Methods return the ids of the incidents that something became of."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.open: dict[str, Incident] = {}
        self._of: dict[Key, str] = {}
        """The problem that each workload has."""

    def recall(self, known: Iterable[Delivery]) -> None:
        """What was told before this process began; what is so now may be known already."""
        for told in known:
            incident = self.open.setdefault(told.topic.id, Incident(told.topic, told.since, told))
            incident.delivery, incident.since = told, told.since
            incident.count = max(incident.count, told.count)

    def entries(self) -> list[Delivery]:
        return [one.delivery for one in self.open.values() if one.delivery is not None]

    def is_known(self, topic: Topic) -> bool:
        return topic.id in self.open

    def problem(self, key: Key, topic: Topic, message: str, now: datetime) -> set[str]:
        """A workload has this problem, and no other."""
        incident = self._incident(topic, now)
        found = incident.topic.id
        touched = self.leave(key, topic.news) if self._of.get(key, found) != found else set()
        self._of[key] = found
        return touched | {found} if incident.put(key, message) else touched

    def problem_of(self, key: Key) -> News | None:
        """The problem that it has, as far as that is told here."""
        incident = self.open.get(self._of.get(key, ""))
        return incident.topic.news if incident else None

    def done(self, key: Key, topic: Topic, message: str, now: datetime) -> set[str]:
        """Information about a workload."""
        incident = self._incident(topic, now)
        incident.note(key, message)
        self._forget_oldest(incident)
        return {topic.id}

    def forget(self, incident_id: str) -> None:
        """It is over, and nothing more will be told of it."""
        self.open.pop(incident_id, None)

    def over(self) -> Iterator[str]:
        """The problems that no workload has any more."""
        known = tuple(self.open.items())
        return (id_ for id_, one in known if not one.is_open and one.topic.news.is_problem)

    def _incident(self, topic: Topic, now: datetime) -> Incident:
        if topic.id not in self.open and topic.news.is_problem:
            problems = sum(one.topic.news.is_problem for one in self.open.values())
            if problems >= self._most:
                topic = overflow(topic.news)
        if topic.id not in self.open:
            self.open[topic.id] = Incident(topic, now)
        return self.open[topic.id]

    def leave(self, key: Key, moved_to: News | None = None) -> set[str]:
        """A workload has no problem that is told here; at most this one."""
        found = self._of.pop(key, None)
        incident = self.open.get(found) if found else None
        if found is None or incident is None:
            return set()
        incident.members.pop(key, None)
        if not incident.members:
            incident.moved_to = moved_to
        return {found}

    def _forget_oldest(self, but: Incident) -> None:
        told = [
            (one.since, id_)
            for id_, one in self.open.items()
            if not one.topic.news.is_problem and one is not but
        ]
        if len(told) >= MOST_INFORMATION:
            self.forget(min(told)[1])
