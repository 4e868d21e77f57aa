"""Workloads that are held, and since when: news only if it lasts, whoever leads meanwhile.

What has lasted for a while is in the state, as what was told is, so that a new leader does not
begin to count anew. Pure.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.features.notices.incidents import MOST, Delivery, Topic

ENTRY = "held.lasting"
"""Of the object with the state; no row of a config file can be called that."""
LASTING = timedelta(minutes=1)
"""After which it is written down since when something is held: most holds are over before."""


class Waiting(NamedTuple):
    """A workload that is held, which is no news yet."""

    topic: Topic
    message: str
    since: datetime


class Held:
    def __init__(self) -> None:
        self._of: dict[Key, Waiting] = {}
        self._count: Counter[str] = Counter()
        """How many are held by each topic."""
        self._known: dict[str, Delivery] = {}
        """What is written down, by the id of its topic."""
        self.is_unwritten = False

    def get(self, key: Key) -> Waiting | None:
        return self._of.get(key)

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(self._of)

    def entries(self) -> list[Delivery]:
        return list(self._known.values())[:MOST]

    def recall(self, known: Iterable[Delivery]) -> None:
        """What another leader saw; what is held now may be known already."""
        self._known = {one.topic.id: one for one in known}
        for key, one in self._of.items():
            self._of[key] = one._replace(since=self._since(one.topic, one.since))

    def put(self, key: Key, topic: Topic, message: str, now: datetime) -> None:
        before = self._of.get(key)
        since = before.since if before else self._since(topic, now)
        self._count[topic.id] += 1
        self.drop(key)
        self._of[key] = Waiting(topic, message, since)

    def drop(self, key: Key) -> None:
        gone = self._of.pop(key, None)
        if gone is not None:
            self._count[gone.topic.id] -= 1
            self._forget_if_over(gone.topic.id)

    def swept(self) -> None:
        """Every workload was looked at: what nobody is held by is over."""
        for known in tuple(self._known):
            self._forget_if_over(known)

    def note(self, key: Key, now: datetime) -> float | None:
        """Note whatever has lasted, if this one has; else seconds until it has."""
        if self._of[key].topic.id in self._known or len(self._known) >= MOST:
            return None
        if (left := self._of[key].since + LASTING - now) > timedelta():
            return left.total_seconds()
        for topic, _, since in self._of.values():
            if since + LASTING <= now and topic.id not in self._known:
                entry = Delivery(topic.news.word, topic.about, since, topic.change)
                self._known[topic.id] = entry
        self.is_unwritten = True
        return None

    def clear(self) -> None:
        self._of.clear()
        self._count.clear()
        self._known.clear()
        self.is_unwritten = False

    def _since(self, topic: Topic, since: datetime) -> datetime:
        known = self._known.get(topic.id)
        return min(known.since, since) if known else since

    def _forget_if_over(self, topic_id: str) -> None:
        if self._count[topic_id] <= 0:
            del self._count[topic_id]
            if self._known.pop(topic_id, None) is not None:
                self.is_unwritten = True
