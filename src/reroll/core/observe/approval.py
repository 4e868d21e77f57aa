"""Contents that wait for an approval: a source is approved with one content, by its digest.

A further change is another content, and waits again.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from reroll.core.model.approval import Approval, Ruling
from reroll.core.model.content import Content
from reroll.core.model.digest import content_digest
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.tables.source_kinds import SOURCE_KINDS, Watched

_MOUNTED = frozenset(row.name for row in SOURCE_KINDS if row.watched is Watched.STATUSES)
"""Pods have what these hold before anybody could approve it."""


class Waiting(NamedTuple):
    """A source whose content waits for an approval."""

    source: Key
    content: str
    """The id to approve; empty where it must not be shown."""
    since: datetime | None
    timeout: timedelta | None
    rejected: Ruling | None = None

    def is_overdue(self, now: datetime) -> bool:
        until = self.until
        return until is not None and now >= until

    @property
    def until(self) -> datetime | None:
        """When people are told again."""
        if self.since is None or self.timeout is None or self.rejected:
            return None
        return self.since + self.timeout

    def __str__(self) -> str:
        if self.rejected:
            return f"{self.source} was rejected by {self.rejected.by}: {self.rejected.why}"
        if not self.content:
            return f"{self.source}"
        word = f"{self.source.api_kind.lower()}/{self.source.name}"
        place = f"-n {self.source.namespace} --content {self.content}"
        return f"{self.source}; `reroll approve {word} {place}`"


def waiting(snapshot: Snapshot, comparison: Comparison) -> Iterator[Waiting]:
    """The changed sources whose content may not be rolled with yet, each once."""
    home, asked = snapshot.workload.key.namespace, snapshot.policy.approval
    for source in dict.fromkeys(change.reference.source for change in comparison.changes):
        content = snapshot.sources.get(source)
        if not isinstance(content, Content) or source.kind in _MOUNTED:
            continue  # What is not there needs no approval either.
        said = content.approval or Approval()
        if content.timing and content.timing.urgent:
            continue
        if not (asked.required or said.required):
            continue
        ids = content_ids(source, content)
        rejected = said.rejected if said.rejected and said.rejected.content in ids else None
        if rejected is None and said.approved and said.approved.content in ids:
            continue
        # Who may not read a source could guess from a plain digest what it holds.
        shown = content_digest(source, content, snapshot.keys.current) or ""
        since = content.changed.at or snapshot.waiting_since
        timeout = said.timeout or asked.timeout
        yield Waiting(source, shown if source.namespace == home else "", since, timeout, rejected)


def needs_approval(snapshot: Snapshot) -> bool:
    """Whether something that it uses is rolled with only if somebody approved it."""
    said = (one.approval for one in snapshot.sources.values() if isinstance(one, Content))
    return snapshot.policy.approval.required or any(one.required for one in said if one)


def content_ids(source: Key, content: Content) -> frozenset[str]:
    """What the content may be called: one id for each HMAC key that is known."""
    found = (content_digest(source, content, key_id) for key_id in content.digests)
    return frozenset(filter(None, found))
