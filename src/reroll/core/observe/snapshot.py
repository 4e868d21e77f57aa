"""Everything that one decision looks at, and what comparing it with the record gives."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.gates import GateReading
from reroll.core.model.key import Key, Problem
from reroll.core.model.moment import Moment
from reroll.core.model.record import Partition, Record
from reroll.core.model.reference import Reference
from reroll.core.model.timing import Hold
from reroll.core.model.windows import WindowRow
from reroll.core.observe.diagnosis import Diagnosis
from reroll.core.observe.health import Health
from reroll.core.observe.spread import Spread, Traffic
from reroll.core.observe.workload import Workload, latest
from reroll.core.policy.policy import Policy
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.kinds import Kind


class Absence(Enum):
    """Why there is no content of a source."""

    MISSING = "does not exist"
    UNREAD = "has not been read yet"
    FORBIDDEN = "may not be read"


class History(msgspec.Struct, frozen=True, gc=False):
    """What the revisions of a workload tell: read only where nobody watched it happen."""

    newest: datetime | None = None
    """When the current one was made."""
    latest: Record | None = None
    """The copy of a record with the highest number."""
    version: int = 0
    """The resource version of the current one: not even its status was written since."""
    left: bool = False
    """That copy is on another revision than the current one: it was gone back from."""


class Keys(msgspec.Struct, frozen=True, gc=False):
    """The ids of the HMAC keys: the one to write with, and those that can still be checked."""

    current: str = ""
    known: frozenset[str] = frozenset(("",))

    def __contains__(self, key_id: object) -> bool:
        """Whether digests with this key can be checked; a record without one needs none."""
        return key_id in self.known or key_id in {self.current, ""}


class RolloutFacts(msgspec.Struct, frozen=True, gc=False):
    """How the rollout of a workload goes, as it was watched."""

    health: Health
    done_since: datetime | None = None
    """Since when it is complete without a sign of sickness."""
    failed_since: datetime | None = None
    """Since when its controller has given up."""
    progressed_at: datetime | None = None
    """When its numbers last changed."""
    is_foreign: bool = False
    """Its template changed after its last record, by another writer."""
    is_unwatched: bool = False
    """Nobody saw whether it did before the record was first seen: that has to be read."""
    read_at: datetime | None = None
    """When its pods were last read."""
    grew_at: datetime | None = None
    """When more pods were last wanted than before."""

    @property
    def is_read(self) -> bool:
        """Whether they were read since its numbers last changed."""
        if self.read_at is None:
            return False
        return self.progressed_at is None or self.read_at >= self.progressed_at


class CanaryFacts(msgspec.Struct, frozen=True, gc=False):
    """The canary of a workload, as it was watched."""

    of: str
    """What it tries, see `CanaryVerdict.of`."""
    made: datetime
    pins: str = ""
    """Of its template."""
    is_going: bool = False
    """It is being deleted."""
    rollout: RolloutFacts | None = None
    diagnosis: Diagnosis | None = None
    """What its pods tell, where they were read since its numbers last changed."""


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """Everything that one decision looks at."""

    workload: Workload
    kind: Kind
    policy: Policy
    references: tuple[Reference, ...]
    sources: Mapping[Key, Content | Absence]
    gone: Mapping[Key, int] = {}
    """For sources that are missing: the version after which they were, where that is known."""
    keys: Keys = Keys()
    ordered: bool = True
    """Its version and those of its sources are of one store, so they tell which was first."""
    secrets_at: int = 0
    """The highest version of those of its sources that are digested with a key."""
    restores_at: datetime | None = None
    """When its record may be put back, where another writer keeps removing it."""
    handovers: int = 0
    """How often its record changed between a key of ours and one that is not known here."""
    patterns: tuple[str, ...] = ()
    """The globs of the policy: a source that one of them finds later counts as changed."""
    history: History | None = None
    waiting_since: datetime | None = None
    """When a change of what it uses was first noticed that it has not rolled with."""
    quiet_since: datetime | None = None
    """When the last of these changes was noticed."""
    turn_at: datetime | None = None
    """When its turn to roll comes, where the configured rate makes it wait."""
    copies_missing: frozenset[Key] = frozenset()
    """Copies that its template names and that do not exist."""
    problems: tuple[Problem, ...] = ()
    crowded: bool = False
    """It has more sources than one workload may have: `references` are not all of them."""
    has_room: bool = True
    """Its namespace has room for what it uses; else `references` are none of them."""
    governed: bool = False
    """Its rollouts are judged, because it or another user of its sources asks for that."""
    spreads: tuple[Spread, ...] = ()
    """Of those of its sources of which that is so."""
    traffic: Traffic | None = None
    rollout: RolloutFacts | None = None
    canary: CanaryFacts | None = None
    diagnosis: Diagnosis | None = None
    """What its pods tell, where they were read for this decision."""
    writers: Mapping[Key, tuple[str, ...]] | None = None
    """Who writes its sources, where that was read for this decision."""
    calendar: tuple[WindowRow, ...] = ()
    """The windows of the config file."""
    cluster_hold: Hold | None = None
    """Somebody holds everything."""
    gates: tuple[GateReading, ...] = ()
    """Of the gates that its policy names."""
    records_known: bool = True
    """Records that other writers removed are known: one that is not was never written."""

    @property
    def record(self) -> Record | None:
        """Its last record as far as is known: what its pods are compared by.

        Another writer may have removed the one on the object, or put an older one in its place.
        """
        known = latest(self.workload)
        copy = self.history.latest if self.history and self.kind.copies_record else None
        if copy is None or (known is not None and known.n >= copy.n):
            return known
        return copy

    @property
    def is_record_there(self) -> bool:
        """Whether the last record is the one on the object."""
        return self.record is self.workload.record

    def lacks(self, reference: Reference) -> bool:
        """Whether its pods cannot start because of what a reference does not find."""
        held = self.sources.get(reference.source, Absence.UNREAD)
        if held is Absence.UNREAD or held is Absence.FORBIDDEN:
            return False
        return reference.missing_from(held if isinstance(held, Content) else None)

    def may_have_rolled(self, changed: Moment) -> bool:
        """Whether a roll with another content than the last record's may be unknown.

        A source that was not written since the record cannot have had another content. Sources tell
        whole seconds.
        """
        record, workload = self.record, self.workload
        if record is None or record is workload.record:
            return False
        after = workload.blind_after
        if record is not workload.last:  # A copy that a revision has.
            after = None if isinstance(workload.record, Record) else 0
        if after is None or 0 < changed.by <= after:
            return False
        return changed.at is None or changed.at >= record.at.replace(microsecond=0)

    @property
    def staged(self) -> Partition | None:
        """The canary that is in the workload itself, if there is one."""
        record = self.record
        return record.canary.within if record and record.canary else None

    @property
    def pins_text(self) -> str | None:
        """The pins of its template, as they are without a canary."""
        staged = self.staged
        return (staged.old or None) if staged else self.workload.pins_text

    @property
    def pins(self) -> Mapping[tuple[str, str], str]:
        """The same, by kind and name of the source."""
        staged = self.staged
        return read_pins(staged.old) if staged else self.workload.pins

    def pin(self, source: Key) -> str | None:
        """The copy of a source that its template names, or named before its canary."""
        if source.namespace != self.workload.key.namespace:
            return None
        return self.pins.get((source.kind, source.name))


class Change(msgspec.Struct, frozen=True, gc=False):
    """A reference whose content is not what the record says."""

    reference: Reference
    entry: str
    changed: Moment
    keys: frozenset[str] = frozenset()
    """The keys that changed last, where that was watched: names, never values."""
    by: frozenset[str] = frozenset()
    """The dialects that count it; empty: all."""


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """The record against the world."""

    wanted: dict[str, str]
    changes: tuple[Change, ...] = ()
    missing: tuple[Reference, ...] = ()
    unread: tuple[Reference, ...] = ()
    gone: dict[str, str] = {}
    """Of sources that went away: what pods have of them that start now."""
    lost: dict[str, str] = {}
    """Of Secrets whose recorded digests have a key that is not known here: those digests. None of
    these was written after the record."""

    @property
    def started_with(self) -> dict[str, str]:
        """What pods have that start now."""
        return self.wanted | self.gone
