"""The past of workloads, out of records, their copies on revisions, and Events.

Pure. A record has the last roll and the last thing that was written; Kubernetes copies it to each
revision, so a roll is known as long as its revision is. Events have also what was not written, as
long as the cluster keeps them. What is in both is listed once.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.provenance import Writes
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.reasons import Reason
from reroll.engine.our_events import ReportedEvent

NEAR = timedelta(seconds=10)
"""An Event is written a moment after what it tells of."""


class SourceChange(NamedTuple):
    """A source that rolled a workload, and who had changed it, where that is still known."""

    entry: str
    """As the record has it: `configmap/app#level`."""
    by: str = ""
    at: datetime | None = None


class HistoryEntry(NamedTuple):
    """One thing that happened to a workload."""

    at: datetime
    workload: Key
    reason: str
    message: str = ""
    parts: tuple[SourceChange, ...] = ()
    keys: tuple[str, ...] = ()
    """The keys that changed, where that is known: names, never values."""
    revision: str = ""
    """The ReplicaSet or ControllerRevision that has the copy; empty if the workload itself."""
    origin: str = "record"
    """`record` or `event`."""


class RecordCopy(NamedTuple):
    """A record, on its workload or where Kubernetes copied it."""

    workload: Key
    record: Record
    revision: str = ""


def history(
    copies: Iterable[RecordCopy], events: Iterable[ReportedEvent], writes: Mapping[Key, Writes]
) -> list[HistoryEntry]:
    """Everything that happened, the newest first."""
    by_workload: dict[Key, dict[tuple[datetime, str], HistoryEntry]] = {}
    for copy in copies:
        known = by_workload.setdefault(copy.workload, {})
        for entry in _of_record(copy):
            other = known.get((entry.at, entry.reason))
            if other is None or not other.revision:
                known[entry.at, entry.reason] = entry
    past = [
        entry for known in by_workload.values() for entry in _with_writers(known.values(), writes)
    ]
    past += [_of_event(event) for event in events if not _is_known(event, by_workload)]
    return sorted(past, key=lambda entry: (entry.at, entry.workload), reverse=True)


def entries(copies: Iterable[RecordCopy]) -> set[Key]:
    """The sources that rolled something."""
    return {
        source
        for copy in copies
        for entry in copy.record.by or ()
        if (source := source_of(entry, copy.workload.namespace))
    }


def source_of(entry: str, home: str) -> Key | None:
    """The source in an entry of a record; `None` if it is none that we know."""
    named, _, _ = entry.partition("#")
    kind, _, rest = named.partition("/")
    row = source_kind(kind)
    namespace, _, name = rest.rpartition("/")
    return Key(row.name, namespace or home, name) if row and name else None


def keys_of(entry: str) -> frozenset[str] | None:
    """The keys in an entry of a record; `None`: all, or all but some."""
    _, _, keys = entry.partition("#")
    return None if not keys or keys.startswith("!") else frozenset(keys.split(","))


def _of_record(copy: RecordCopy) -> Iterator[HistoryEntry]:
    record = copy.record
    if record.rolled:
        # A later record keeps what the last roll was for; a restart was for nothing that changed.
        kept = Reason.CONFIG_CHANGED if record.by else Reason.RESTARTED
        reason = record.why if record.rolled == record.at else kept.word
        yield HistoryEntry(
            at=record.rolled,
            workload=copy.workload,
            reason=reason,
            parts=tuple(SourceChange(entry) for entry in record.by or ()),
            keys=tuple(record.keys or ()),
            revision=copy.revision,
        )
    if record.at != record.rolled:
        yield HistoryEntry(record.at, copy.workload, record.why, revision=copy.revision)


def _of_event(event: ReportedEvent) -> HistoryEntry:
    return HistoryEntry(event.at, event.workload, event.reason, event.message, origin="event")


def _is_known(
    event: ReportedEvent, known: Mapping[Key, Mapping[tuple[datetime, str], HistoryEntry]]
) -> bool:
    return any(
        reason == event.reason and abs(at - event.at) <= NEAR
        for at, reason in known.get(event.workload, {})
    )


def _with_writers(
    found: Iterable[HistoryEntry], writes: Mapping[Key, Writes]
) -> Iterator[HistoryEntry]:
    """With who wrote the sources before each roll, and after the roll before it."""
    before: datetime | None = None
    for one in sorted(found, key=lambda one: one.at):
        parts = tuple(_written(part, one, before, writes) for part in one.parts)
        yield one._replace(parts=parts)
        before = one.at if one.parts else before


def _written(
    part: SourceChange, one: HistoryEntry, before: datetime | None, writes: Mapping[Key, Writes]
) -> SourceChange:
    source = source_of(part.entry, one.workload.namespace)
    known = writes.get(source) if source else None
    keys = keys_of(part.entry)
    candidates = [
        write
        for write in (known.known if known else ())
        if (keys is None or write.keys & keys) and write.at <= one.at
    ]
    last = max(candidates, key=lambda write: write.at, default=None)
    if last is None or (before and last.at < before.replace(microsecond=0)):
        return part
    return part._replace(by=last.by, at=last.at)
