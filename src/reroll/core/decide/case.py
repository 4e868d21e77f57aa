"""One decision's evidence, computed once: the snapshot, its comparison, its pins, and the time."""

from datetime import datetime, timedelta
from typing import Unpack

from reroll.core.decide.actions import Patch, WriteRecord
from reroll.core.decide.pin_state import pin_state
from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import Dialects
from reroll.core.model.record import Record, RecordFields, successor
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


class Case:
    __slots__ = ("comparison", "dialects", "now", "pause", "pins", "record", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime, dialects: Dialects) -> None:
        self.snapshot, self.now, self.dialects = snapshot, now, dialects
        self.comparison = compare(snapshot)
        self.pins = pin_state(snapshot)
        self.pause = snapshot.policy.pause
        self.record = snapshot.record
        """The last one, see there; the one on the object may be another."""

    @property
    def is_paused_by_us(self) -> bool:
        return self.pause is not None and self.pause.since is not None

    @property
    def pause_keeps_back(self) -> bool:
        """Whether a pause of the workload keeps a written roll back."""
        strategy = self.snapshot.policy.strategy_for(self.snapshot.kind)
        return self.snapshot.kind.keeps_back and strategy in _ON_TEMPLATE

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
        }
        return successor(self.record, self.number, **(usual | fields))

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


REWRITE = timedelta(minutes=1)
"""How old a record with an unknown key gets before it is rewritten."""
_A_SAY_EACH = 2
_ON_TEMPLATE = frozenset((Strategy.STAMP, Strategy.ENV, Strategy.RESTART))
