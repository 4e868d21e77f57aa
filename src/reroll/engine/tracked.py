"""An opted-in workload, with what follows from its annotations."""

from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.diagnosis import Diagnosis
from reroll.core.observe.workload import Workload, latest
from reroll.core.policy.policy import Policy
from reroll.core.revisions.pins import read_pins
from reroll.core.tables import limits

RAREST = timedelta(minutes=10)
"""A record that is removed again and again is put back so rarely at most."""


class TemplateOf(Enum):
    """Whose template a workload had when its record was first seen."""

    OURS = "ours"
    """It is that of the record."""
    FOREIGN = "foreign"
    """Another writer changed it after the record was written."""
    UNWATCHED = "unwatched"
    """Nobody saw how it came to be: its `managedFields` tell, see `engine.observer`."""


class Arrival(NamedTuple):
    """How the world came to know a state of a workload, see `World.workload_seen`."""

    urgent: bool
    watched: bool
    expected: tuple[int, str] | None


class Tracked:
    __slots__ = (
        "diagnosis",
        "doubt",
        "handovers",
        "judged",
        "policy",
        "quiet_since",
        "read_at",
        "recorded",
        "references",
        "removals",
        "removed_at",
        "template_of",
        "waiting_since",
        "workload",
    )

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self.workload = workload
        self.policy = policy
        self.references: tuple[Reference, ...] = ()
        self.recorded = 0
        """The version at which its record was first seen."""
        self.template_of: TemplateOf = TemplateOf.UNWATCHED
        """Whose template it had then."""
        self.handovers = 0
        """How often its record changed between a key of ours and one that is not known here."""
        self.doubt: Record | None = None
        """What decisions take for its record until that changes: see `Listing.distrust`."""
        self.removals = 0
        """How often another writer removed its record in a row, or set it back."""
        self.removed_at: datetime | None = None
        """When that was the last time."""
        self.judged: tuple[object, ...] | None = None
        """The annotations and the default that the policy was made from."""
        self.waiting_since: datetime | None = None
        self.quiet_since: datetime | None = None
        self.diagnosis: Diagnosis | None = None
        """What its pods told then."""
        self.read_at: datetime | None = None
        """When its pods were last read for a verdict."""

    def record_changed(self, before: Workload | None, at: datetime, *, watched: bool) -> None:
        """Its record is another one than `before`; `watched`: nothing came between the two."""
        self.recorded, self.doubt = self.workload.version, None
        same = before is not None and before.template_hash == self.workload.template_hash
        if not same:
            self.template_of = (
                TemplateOf.OURS if watched and before is not None else TemplateOf.UNWATCHED
            )
        elif self.template_of is TemplateOf.FOREIGN:
            self.template_of = TemplateOf.OURS  # Whoever wrote the record knows of it.
        if before is None or before.last is not None or self.workload.last is None:
            return
        is_first = self.removed_at is None or at - self.removed_at > 2 * RAREST
        self.removals = 1 if is_first else self.removals + 1
        self.removed_at = at

    def source_changed(self, at: datetime) -> None:
        """What it uses is another than before."""
        self.waiting_since = self.waiting_since or at
        self.quiet_since = at

    @property
    def is_foreign(self) -> bool:
        """Whether another writer changed its template after its record."""
        return self.template_of is TemplateOf.FOREIGN or self.workload.template.by > self.recorded

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
        return too_many or self.workload.crowded


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
    """The copies that its template names, and what they are copies of.

    And those of what it was last healthy with, or had before its canary, to go back to.
    """
    if workload is None:
        return {}
    record, home = latest(workload), workload.key.namespace
    good = read_pins(record.good) if record and record.good else {}
    if record and record.canary and record.canary.within:
        good = {**good, **read_pins(record.canary.within.old)}
    return {
        Key(kind, home, copy): Key(kind, home, name)
        for (kind, name), copy in (*good.items(), *workload.pins.items())
    }
