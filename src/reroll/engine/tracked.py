"""An opted-in workload, with what follows from its annotations."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Policy
from reroll.core.tables import limits

RAREST = timedelta(minutes=10)
"""A record that is removed again and again is put back so rarely at most."""


class Tracked:
    __slots__ = (
        "doubt",
        "handovers",
        "judged",
        "policy",
        "quiet_since",
        "recorded",
        "references",
        "removals",
        "removed_at",
        "waiting_since",
        "workload",
    )

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self.workload = workload
        self.policy = policy
        self.references: tuple[Reference, ...] = ()
        self.recorded = 0
        """The version at which its record was first seen."""
        self.handovers = 0
        """How often its record changed between a key of ours and one that is not known here."""
        self.doubt: Record | None = None
        """What decisions take for its record until that changes: see `Listing.distrust`."""
        self.removals = 0
        """How often another writer removed its record in a row, or set it back."""
        self.removed_at: datetime | None = None
        """When that was the last time."""
        self.judged: tuple[Mapping[str, str], ...] | None = None
        """The annotations that the policy was made from."""
        self.waiting_since: datetime | None = None
        self.quiet_since: datetime | None = None

    def record_changed(self, before: Workload | None, at: datetime) -> None:
        """Its record is another one than `before`."""
        self.recorded, self.doubt = self.workload.version, None
        if before is None or before.last is not None or self.workload.last is None:
            return
        is_first = self.removed_at is None or at - self.removed_at > 2 * RAREST
        self.removals = 1 if is_first else self.removals + 1
        self.removed_at = at

    @property
    def for_decisions(self) -> Workload:
        """The workload, with the record that is in doubt in the place of its own."""
        if self.doubt is None:
            return self.workload
        return msgspec.structs.replace(self.workload, record=self.doubt, last=None)

    @property
    def restores_at(self) -> datetime | None:
        """When its record may be put back that another writer keeps removing; `None`: at once."""
        if self.removed_at is None or self.removals < 2:
            return None
        return self.removed_at + min(RAREST, timedelta(seconds=2 ** min(self.removals - 2, 20)))

    @property
    def is_crowded(self) -> bool:
        """Whether it has more sources than one workload may have."""
        too_many = len(self.references) > limits.SOURCES.number
        return too_many or len(self.workload.uses) > limits.USES.number


def is_news(before: Workload, now: Workload, expected: tuple[int, str] | None) -> bool:
    """Whether a workload is another than before, as far as a decision goes."""
    state = now.generation, now.record_text
    if state not in ((before.generation, before.record_text), expected):
        return True
    if (before.ended, before.idle) != (now.ended, now.idle):
        return True
    return before.observed != now.observed


def has_leftovers(found: Policy) -> bool:
    """Whether there is something to tell, or to bring to its end, of one that is not in."""
    return bool(found.problems or found.repair or (found.pause and found.pause.since))


def copies_of(workload: Workload | None) -> dict[Key, Key]:
    """The copies that its template names, and what they are copies of."""
    if workload is None or not workload.pins:
        return {}
    home = workload.key.namespace
    return {
        Key(kind, home, copy): Key(kind, home, name) for (kind, name), copy in workload.pins.items()
    }
