"""The past of workloads, out of records, their copies on revisions, and Events.

Pure. A record has the last roll and the last thing that was written; Kubernetes copies it to each
revision, so a roll is known as long as its revision is. Events have also what was not written, as
long as the cluster keeps them. What is in both is listed once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from reroll.core.decide.roll import read_described
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.provenance import Writes
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.kinds import Kind
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
    result: str = ""
    """What became of the last roll, see `Situation.last_roll`; empty for those before it."""


class RecordCopy(NamedTuple):
    """A record, on its workload or where Kubernetes copied it."""

    workload: Key
    record: Record
    revision: str = ""


class LastRoll(Protocol):
    """What is so now of the last roll of a workload."""

    @property
    def record(self) -> Record | None: ...
    @property
    def last_roll(self) -> str:
        """See `Situation.last_roll`."""


class Subject(NamedTuple):
    """A workload whose past is asked for."""

    kind: Kind
    key: Key
    uid: str
    own: Record | None = None
    """The record that is on it."""
    record: Record | None = None
    """The last one, also where another writer took it off."""
    last_roll: str = ""

    def so(self, now: LastRoll | None) -> "Subject":
        """With what is so of it now."""
        return self._replace(record=now.record, last_roll=now.last_roll) if now else self

    @property
    def copies(self) -> Iterator[RecordCopy]:
        for record in (self.own, self.record if self.record != self.own else None):
            if record:
                yield RecordCopy(self.key, record)


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
    told: dict[Key, list[ReportedEvent]] = {}
    for event in events:
        told.setdefault(event.workload, []).append(event)
    past = [
        _with_detail(entry, told.get(workload, ()))
        for workload, known in by_workload.items()
        for entry in _with_writers(known.values(), writes)
    ]
    every = (event for some in told.values() for event in some)
    past += [_of_event(event) for event in every if not _is_known(event, by_workload)]
    return sorted(past, key=lambda entry: (entry.at, entry.workload), reverse=True)


def with_results(past: Iterable[HistoryEntry], known: Mapping[Key, LastRoll]) -> list[HistoryEntry]:
    """With what became of the roll that the record of each workload tells of."""
    return [
        one._replace(result=found.last_roll)
        if (found := known.get(one.workload)) and found.record and found.record.rolled == one.at
        else one
        for one in past
    ]


def sources_of(past: Iterable[HistoryEntry]) -> set[Key]:
    """The sources that rolled something, as records tell."""
    return {
        source
        for one in past
        for part in one.parts
        if one.origin == "record" and (source := source_of(part.entry, one.workload.namespace))
    }


def source_of(entry: str, home: str) -> Key | None:
    """The source in an entry of a record; `None` if it is none that we know."""
    named, _, _ = entry.partition("#")
    kind, _, rest = named.partition("/")
    row = source_kind(kind)
    namespace, _, name = rest.rpartition("/")
    return Key(row.name, namespace or home, name) if row and name else None


def beside(entries: Iterable[str], keys: Collection[str]) -> str:
    """Entries of a record, each without its keys where those are shown beside it."""
    sources = (
        entry.partition("#")[0] if (named := keys_of(entry)) and named <= set(keys) else entry
        for entry in entries
    )
    return ", ".join(dict.fromkeys(sources))


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
            keys=tuple(record.keys or ()) or _keys_of(map(SourceChange, record.by or ())),
            revision=copy.revision,
        )
    if record.at != record.rolled:
        yield HistoryEntry(record.at, copy.workload, record.why, revision=copy.revision)


def _of_event(event: ReportedEvent) -> HistoryEntry:
    """What a roll was for is in the sentence of its Event, where that is ours."""
    entries, keys = read_described(event.message)
    parts = tuple(SourceChange(entry) for entry in entries)
    message = "" if parts else _detail(event)
    keys = keys or _keys_of(parts)
    return HistoryEntry(
        event.at, event.workload, event.reason, message, parts, keys, origin="event"
    )


def _keys_of(parts: Iterable[SourceChange]) -> tuple[str, ...]:
    """The keys that must have changed: those of uses that have a single one."""
    named = [keys for part in parts if (keys := keys_of(part.entry)) and len(keys) == 1]
    return tuple(sorted({key for keys in named for key in keys}))


def _detail(event: ReportedEvent) -> str:
    """What an Event says beyond the sentence of its reason."""
    reason = _REASONS.get(event.reason)
    said = event.message.removeprefix(reason.sentence) if reason else event.message
    return said.lstrip(":; ").strip()


def _with_detail(entry: HistoryEntry, events: Iterable[ReportedEvent]) -> HistoryEntry:
    """A restart with its reason, which only its Event has."""
    if entry.reason != Reason.RESTARTED.word:
        return entry
    near = (event for event in events if _is_of(event, entry))
    return entry._replace(message=next((said for e in near if (said := _detail(e))), ""))


def _is_of(event: ReportedEvent, entry: HistoryEntry) -> bool:
    is_same = (event.workload, event.reason) == (entry.workload, entry.reason)
    return is_same and abs(entry.at - event.at) <= NEAR


_REASONS = {reason.word: reason for reason in Reason}


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
        before = one.at


def _written(
    part: SourceChange, one: HistoryEntry, before: datetime | None, writes: Mapping[Key, Writes]
) -> SourceChange:
    """With the manager that changed it, where `managedFields` prove that.

    A manager that owns nothing but what is used, and wrote between what is known before and this
    roll, changed it then. And who changed the value of a key last owns it: if one manager alone
    owns the keys that changed, of those that wrote since, and none of them wrote again after this
    roll, it was that one.
    """
    source = source_of(part.entry, one.workload.namespace)
    known = writes.get(source) if source else None
    all_writes = known.known if known else ()
    since = before.replace(microsecond=0) if before else None
    within = [write for write in all_writes if since and since < write.at <= one.at]
    found = [write for write in within if write.is_sure_for(keys_of(part.entry))]
    if not found and (changed := _changed(part, one)):
        found = [w for w in all_writes if w.keys & changed and (not since or w.at >= since)]
        if len({w.by for w in found}) != 1 or any(w.at > one.at for w in found):
            return part
    last = max(found, key=lambda write: write.at, default=None)
    return part._replace(by=last.by, at=last.at) if last else part


def _changed(part: SourceChange, one: HistoryEntry) -> frozenset[str]:
    """The keys of a source that changed, where that is certain."""
    keys = keys_of(part.entry)
    if keys is not None and len(keys) == 1:
        return keys
    # The keys of a roll are those of all its sources together.
    return frozenset(one.keys) if len(one.parts) == 1 else frozenset()


def facts_of(entry: HistoryEntry) -> dict[str, Any]:
    """For programs."""
    return {
        "at": entry.at,
        "workload": entry.workload,
        "reason": entry.reason,
        "message": entry.message,
        "sources": [
            {"entry": part.entry, "changed": part.at, "changedBy": part.by or None}
            for part in entry.parts
        ],
        "keys": entry.keys,
        "revision": entry.revision or None,
        "toldBy": entry.origin,
        "result": entry.result or None,
    }
