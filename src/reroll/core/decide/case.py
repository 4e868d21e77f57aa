"""One decision's evidence, computed once: the snapshot, its comparison, its pins, and the time."""

from datetime import datetime, timedelta
from typing import Unpack

import msgspec

from reroll.core.decide.actions import Patch, WriteRecord
from reroll.core.decide.pin_state import PinState, pin_state
from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import Dialects
from reroll.core.model.content import Content
from reroll.core.model.digest import stamp
from reroll.core.model.record import Burst, Record, RecordFields, Trial, successor
from reroll.core.model.windows import ALWAYS_OPEN
from reroll.core.observe.approval import waiting
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


class Case:
    __slots__ = ("comparison", "dialects", "now", "pause", "pins", "record", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime, dialects: Dialects) -> None:
        self.snapshot, self.now, self.dialects = snapshot, now, dialects
        self.pins = pin_state(snapshot)
        found = _with_shared(compare(snapshot), snapshot)
        self.comparison = _without_withheld(found, snapshot, self.pins)
        self.pause = snapshot.policy.pause
        self.record = snapshot.record
        """The last one, see there; the one on the object may be another."""

    @property
    def trial(self) -> Trial | None:
        """The last roll as a test of what it brought, where that was asked for."""
        return self.record.trial if self.record else None

    @property
    def canary_id(self) -> str:
        """What a canary of it tries: a digest of what it would roll with, and of its template."""
        staged = self.snapshot.staged
        template = staged.template if staged else self.snapshot.workload.template_hash.hex()
        return stamp({**self.comparison.started_with, "template": template})

    @property
    def is_tried(self) -> bool:
        """Whether its canary has that."""
        facts = self.snapshot.canary
        return facts is not None and not facts.is_going and facts.of == self.canary_id

    @property
    def is_paused_by_us(self) -> bool:
        return self.pause is not None and self.pause.since is not None

    @property
    def pause_keeps_back(self) -> bool:
        """Whether a pause of the workload keeps a written roll back."""
        strategy = self.snapshot.policy.strategy_for(self.snapshot.kind)
        return self.snapshot.kind.keeps_back and strategy in _ON_TEMPLATE

    @property
    def is_released(self) -> bool:
        """It was taken back, and somebody lets it roll with what failed."""
        record = self.record
        if record is None or record.why != Reason.RELEASED.word or self.pins.applies:
            return False
        return record.rolled is None or record.rolled < record.at

    @property
    def burst(self) -> Burst | None:
        """Its rolls in the present time of the breaker; `None`: there was none."""
        record, period = self.record, self.snapshot.policy.pace.max_rolls.period
        if record is None or record.rolled is None:
            return None
        known = record.burst or Burst(1, record.rolled)
        return known if self.now - known.since < period else None

    # Records that follow from it

    def recorded(self, reason: Reason, message: str = "", **fields: Unpack[RecordFields]) -> Plan:
        """A plan that writes the record and rolls nothing."""
        edits = (WriteRecord(self.next_record(reason, **fields)),)
        return Plan(reason, message or reason.sentence, (Patch(edits),))

    def next_record(self, reason: Reason, **fields: Unpack[RecordFields]) -> Record:
        """The record of what the sources hold now."""
        usual: RecordFields = {
            "at": self.now,
            "why": reason.word,
            "s": self.comparison.wanted,
            "k": self.snapshot.keys.current,
            "rv": self.snapshot.secrets_at,
            "expires": self.expires,
        }
        return successor(self.record, self.number, **(usual | fields))

    @property
    def expires(self) -> datetime | None:
        """When the first certificate of its sources runs out, where windows may put a roll off."""
        snapshot, policy = self.snapshot, self.snapshot.policy
        if not (policy.before_expiry or policy.window != ALWAYS_OPEN or snapshot.calendar):
            return None
        sources = (snapshot.sources.get(one.source) for one in snapshot.references)
        ends = (one.expires for one in sources if isinstance(one, Content))
        return min((end for end in ends if end is not None), default=None)

    @property
    def rewrites_at(self) -> datetime | None:
        """When a record may be rewritten only because its key is not known here; `None`: never.

        The key is lost, or another installation has it and rewrites the record too. Each has its
        say once: from then on both trust the other's record.
        """
        record, comparison = self.record, self.comparison
        if record is None or not self.has_unknown_key or comparison.changes:
            return None
        differs = record.s != comparison.wanted | comparison.lost
        may_be_lost = comparison.lost and self.snapshot.handovers < _A_SAY_EACH
        return record.at + REWRITE if differs or may_be_lost else None

    @property
    def has_unknown_key(self) -> bool:
        """Whether the digests of Secrets in its record say nothing here."""
        record, keys = self.record, self.snapshot.keys
        return record is not None and (record.k not in keys or bool(self.comparison.lost))

    @property
    def number(self) -> int:
        """The number that the next record comes after."""
        number = self.record.n if self.record else 0
        if not self.snapshot.kind.copies_record:
            return number
        # An undo is noticed by numbers, and no process has seen them all: so they grow with time.
        return max(number, int(self.now.timestamp()))


def _with_shared(found: Comparison, snapshot: Snapshot) -> Comparison:
    """With what another installation put into the record and this one sees no use of.

    It may read annotations that this one does not: each would leave out what the other looks for.
    """
    record = snapshot.record
    if record is None or (record.k in snapshot.keys and not snapshot.handovers):
        return found
    return msgspec.structs.replace(found, wanted={**record.s, **found.wanted})


def _without_withheld(found: Comparison, snapshot: Snapshot, pins: PinState) -> Comparison:
    """The comparison less the changes that were stopped, or that nobody approved yet.

    Only where its pods can go without them: with revisions they keep the copy that they have, and
    roll for the rest.
    """
    if len(found.changes) < 2 or not pins.applies:
        return found
    withheld = {spread.source for spread in snapshot.spreads if spread.stopped_by}
    withheld |= {one.source for one in waiting(snapshot, found)}
    left = [change for change in found.changes if change.reference.source in withheld]
    rest = tuple(change for change in found.changes if change.reference.source not in withheld)
    record = snapshot.record
    if not left or not rest or record is None:
        return found
    if not all(change.reference.source in pins.template for change in left):
        return found
    kept = {change.entry: record.s[change.entry] for change in left if change.entry in record.s}
    return msgspec.structs.replace(found, changes=rest, wanted=found.wanted | kept)


REWRITE = timedelta(minutes=1)
"""How old a record with an unknown key gets before it is rewritten."""
_A_SAY_EACH = 2
_ON_TEMPLATE = frozenset((Strategy.STAMP, Strategy.ENV, Strategy.RESTART))
