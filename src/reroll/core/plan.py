"""Turn what is seen into what should be done.

Pure: no I/O, no clock. Same arguments, same plan. A gate returns a plan to stop, `None` to pass on;
the first answer wins. The order of GATES is behaviour that users see: docs/concepts/decisions.md.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum

import msgspec

from reroll.core.digest import ABSENT, AWAITED, reference_digest, stamp
from reroll.core.kinds import SOURCE_KINDS, Kind, Strategy, Watched
from reroll.core.objects import Content, Key, Moment, Problem, Reference
from reroll.core.policy import STATE, Policy
from reroll.core.reasons import Reason
from reroll.core.records import Record, Todo, Unreadable, successor
from reroll.core.workloads import Workload


class Absence(Enum):
    """Why there is no content of a source."""

    MISSING = "does not exist"
    UNREAD = "has not been read yet"
    FORBIDDEN = "may not be read"


class History(msgspec.Struct, frozen=True, gc=False):
    """What the revisions of a workload tell: read only where nobody watched it happen."""

    newest: datetime | None = None
    latest: Record | None = None
    """The copy of a record with the highest number."""


class Keys(msgspec.Struct, frozen=True, gc=False):
    """The ids of the HMAC keys: the one to write with, and those that can still be checked."""

    current: str = ""
    known: frozenset[str] = frozenset(("",))


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
    patterns: tuple[str, ...] = ()
    """The globs of the policy: a source that one of them finds later counts as changed."""
    history: History | None = None
    waiting_since: datetime | None = None
    """When a change of what it uses was first noticed that it has not rolled with."""
    quiet_since: datetime | None = None
    """When the last of these changes was noticed."""
    problems: tuple[Problem, ...] = ()


class Change(msgspec.Struct, frozen=True, gc=False):
    """A reference whose content is not what the record says."""

    reference: Reference
    entry: str
    changed: Moment
    keys: frozenset[str] = frozenset()
    """The keys that changed last, where that was watched: names, never values."""


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """The record against the world."""

    wanted: dict[str, str]
    changes: tuple[Change, ...] = ()
    missing: tuple[Reference, ...] = ()
    unread: tuple[Reference, ...] = ()
    gone: dict[str, str] = {}
    """Of sources that went away: what pods have of them that start now."""
    lost: bool = False
    """Secrets could not be compared: the key of the record is gone."""

    @property
    def started_with(self) -> dict[str, str]:
        """What pods have that start now."""
        return self.wanted | self.gone


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What should happen and why; nothing here does anything."""

    reason: Reason
    message: str
    record: Record | None = None
    """The record to write; with `roll`, in one patch with the stamp."""
    roll: Strategy | None = None
    stamp: str = ""
    changes: tuple[Change, ...] = ()
    resume: Todo | None = None
    """Work of an earlier roll to go on with."""
    look_back: bool = False
    """The revisions of the workload are needed to decide."""
    revisit_at: datetime | None = None
    problems: tuple[Problem, ...] = ()


Gate = Callable[[Snapshot, Comparison, datetime], Plan | None]


def plan(seen: Snapshot, now: datetime) -> Plan:
    """What should happen to one workload now."""
    comparison = compare(seen)
    found = next((p for gate in GATES if (p := gate(seen, comparison, now))), None)
    problems = seen.policy.problems + seen.workload.problems + seen.problems + _spoilt(seen)
    if found is None:
        found = _roll(seen, comparison, now)
    return msgspec.structs.replace(found, problems=problems) if problems else found


def _spoilt(seen: Snapshot) -> tuple[Problem, ...]:
    record = seen.workload.record
    if not isinstance(record, Unreadable):
        return ()
    where = f"annotation {STATE} on {seen.workload.key}"
    return (Problem(f"{where} cannot be used: {record.why}; it is written anew"),)


def compare(seen: Snapshot) -> Comparison:
    """What the sources hold now against what the record says."""
    record = seen.workload.record
    known = record.s if isinstance(record, Record) else {}
    known = seen.workload.back.had if seen.workload.back else known
    wanted: dict[str, str] = dict.fromkeys(seen.patterns, "*")
    changes: list[Change] = []
    missing: list[Reference] = []
    unread: list[Reference] = []
    gone: dict[str, str] = {}
    lost = False
    for reference in seen.references:
        content = seen.sources.get(reference.source, Absence.UNREAD)
        there = content if isinstance(content, Content) else None
        digest = reference_digest(reference, there, seen.keys.current) if there else None
        if content is Absence.UNREAD or (there and digest is None):
            unread.append(reference)
            continue
        if there and there.ignored:
            continue
        if content is not Absence.FORBIDDEN and reference.missing_from(there):
            missing.append(reference)
        if reference.only_presence_matters:
            continue
        entry = reference.entry(seen.workload.key.namespace)
        recorded = known.get(entry)
        if there is None or digest is None:
            if content is Absence.MISSING:
                gone[entry] = AWAITED if reference.required else ABSENT
                wanted[entry] = _kept(seen, reference, recorded) or gone[entry]
            elif recorded is not None:
                wanted[entry] = recorded
            continue
        wanted[entry] = digest
        changed = _has_changed(seen, reference, recorded, there)
        if changed is None:
            lost = True
        elif changed:
            changes.append(Change(reference, entry, there.changed, _keys(reference, there)))
    return Comparison(wanted, tuple(changes), tuple(missing), tuple(unread), gone, lost)


def _kept(seen: Snapshot, reference: Reference, recorded: str | None) -> str | None:
    """What is still known of a source that went away; `None` if no pod has it any more.

    It rolls nothing by going away. It counts again when it comes back different, or if pods were
    made in the meantime.
    """
    since = seen.gone.get(reference.source, 0)
    replaced = seen.workload.replaces_pods and 0 < since <= seen.workload.template.after
    return None if recorded in _NEVER_THERE or replaced else recorded


_NEVER_THERE = frozenset((None, ABSENT, AWAITED))
_TOLD_BY_PODS = frozenset(row.name for row in SOURCE_KINDS if row.watched is Watched.STATUSES)


def _keys(reference: Reference, content: Content) -> frozenset[str]:
    """The keys that changed, of those that the workload uses."""
    keys = content.changed_keys - reference.without
    return keys if reference.keys is None else keys & reference.keys


def _has_changed(
    seen: Snapshot, reference: Reference, recorded: str | None, content: Content
) -> bool | None:
    """Whether a content that exists is news to the workload's pods; `None` if nothing can tell."""
    record = seen.workload.record
    if recorded not in _NEVER_THERE and isinstance(record, Record):
        now = reference_digest(reference, content, record.k)
        return None if now is None else now != recorded
    if reference.source.kind in _TOLD_BY_PODS or (reference.required and content.created):
        # No pod can have started without a required source, so its first content is no news.
        return False
    if recorded is not None:
        return True
    changed = content.changed
    if not isinstance(record, Record):
        # Not adopted yet, but the change was watched after the workload was: its pods are older.
        return 0 < seen.workload.seen <= changed.after
    if reference.pattern:
        # A glob that the record knows found one more source.
        return reference.pattern in record.s
    # A new reference: its pods came with the template that made it, unless the content is newer.
    # Sources tell whole seconds.
    return (
        not reference.added
        and bool(changed.at and changed.at >= record.at.replace(microsecond=0))
        and _is_newer_than_pods(seen, changed)
    )


def _oldest_pods(seen: Snapshot) -> Moment:
    """When the template took effect that the oldest of its pods may have."""
    back = seen.workload.back
    return back.since if back else seen.workload.template


def _is_newer_than_pods(seen: Snapshot, changed: Moment) -> bool:
    """Whether a content came after the pods' template, as well as that is known; in doubt, yes."""
    if not seen.workload.replaces_pods:
        return True
    template = _oldest_pods(seen)
    if seen.history is not None and seen.history.newest is not None:
        template = msgspec.structs.replace(template, at=seen.history.newest)
    return template.is_later_than(changed) is not True


# Gates, each named for the situation that it finds


def ended(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    return _nothing(Reason.ENDED) if seen.workload.ended else None


def not_enabled(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    if seen.policy.enabled:
        return None
    return _nothing(Reason.NOT_ENABLED if seen.policy.enabled is None else Reason.OPTED_OUT)


def unread(_: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if not found.unread:
        return None
    names = ", ".join(str(reference.source) for reference in found.unread)
    return Plan(Reason.WAITING, f"{Reason.WAITING.sentence}: {names}")


def new_here(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Seen for the first time, or its record cannot be read: adopting never rolls."""
    record = seen.workload.record
    if isinstance(record, Record) or found.changes:
        return None
    message = Reason.ADOPTED.sentence
    if isinstance(record, Unreadable):
        message = f"its record could not be used ({record.why}); {message}"
    return _write(seen, found, now, Reason.ADOPTED, message)


def unfinished(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """An earlier roll is still being carried out, and nothing has changed since."""
    record = seen.workload.record
    if not isinstance(record, Record) or record.todo is None or found.changes:
        return None
    return source_missing(seen, found, now) or Plan(
        Reason.CONTINUED, Reason.CONTINUED.sentence, resume=record.todo
    )


def went_back(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """An undo put an older record back: the current content is declined until it changes again."""
    record = seen.workload.record
    if not isinstance(record, Record) or not seen.kind.copies_record:
        return None
    if record.n >= _highest(seen) or _moved_on(seen, found):
        return None
    return _write(seen, found, now, Reason.UNDONE, Reason.UNDONE.sentence)


def _moved_on(seen: Snapshot, found: Comparison) -> bool:
    """Whether a source changed after the record that somebody went back from was written."""
    left = seen.history.latest if seen.history else None
    if left is None or left.k != seen.keys.current:
        return False
    entries = [change.entry for change in found.changes if change.entry in left.s]
    return any(left.s[entry] != found.wanted[entry] for entry in entries)


def unchanged(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    record = seen.workload.record
    if found.changes or not isinstance(record, Record):
        return None
    if found.lost:
        return _write(seen, found, now, Reason.KEY_LOST, Reason.KEY_LOST.sentence)
    if record.k != seen.keys.current and record.s != found.wanted:
        return _write(seen, found, now, Reason.KEY_ROTATED, Reason.KEY_ROTATED.sentence)
    if record.s != found.wanted:
        return _write(seen, found, now, Reason.RECORDED, Reason.RECORDED.sentence)
    return _nothing(Reason.UP_TO_DATE)


def looking_back(seen: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    """A change that nobody watched: the workload's revisions tell what happened meanwhile."""
    if seen.history is not None or not seen.kind.revisions:
        return None
    if all(_order_is_known(seen, change.changed) for change in found.changes):
        return None
    return Plan(Reason.LOOKING_BACK, Reason.LOOKING_BACK.sentence, look_back=True)


def rolled_elsewhere(seen: Snapshot, found: Comparison, now: datetime) -> Plan | None:
    """Somebody changed the template after the content changed: the new pods have it already."""
    if any(_is_newer_than_pods(seen, change.changed) for change in found.changes):
        return None
    found = msgspec.structs.replace(found, wanted=found.started_with)
    return _write(seen, found, now, Reason.ROLLED_ELSEWHERE, Reason.ROLLED_ELSEWHERE.sentence)


def source_missing(_: Snapshot, found: Comparison, _now: datetime) -> Plan | None:
    if not found.missing:
        return None
    names = ", ".join(str(reference.source) for reference in found.missing)
    return Plan(Reason.SOURCE_MISSING, f"{Reason.SOURCE_MISSING.sentence}: {names}; create it")


def paused(seen: Snapshot, _: Comparison, _now: datetime) -> Plan | None:
    return _nothing(Reason.PAUSED) if seen.workload.still else None


def debouncing(seen: Snapshot, _: Comparison, now: datetime) -> Plan | None:
    since = seen.waiting_since or now
    quiet = (seen.quiet_since or since) + seen.policy.debounce
    # A workload that asks for more quiet than the limit gets it once.
    limit = max(seen.policy.debounce, seen.policy.debounce_limit)
    until = min(quiet, since + limit)
    if now >= until:
        return None
    return Plan(Reason.DEBOUNCING, Reason.DEBOUNCING.sentence, revisit_at=until)


GATES: tuple[Gate, ...] = (
    ended,
    not_enabled,
    unread,
    new_here,
    went_back,
    unfinished,
    unchanged,
    looking_back,
    rolled_elsewhere,
    source_missing,
    paused,
    debouncing,
)


def _roll(seen: Snapshot, found: Comparison, now: datetime) -> Plan:
    found = msgspec.structs.replace(found, wanted=found.started_with)
    strategy = seen.policy.strategy_for(seen.kind)
    names = [change.entry for change in found.changes]
    keys = sorted({key for change in found.changes for key in change.keys})
    lasting = strategy in {Strategy.EVICT, Strategy.RELOAD}
    record = _record(
        seen,
        found,
        now,
        Reason.CONFIG_CHANGED,
        rolled=now,
        by=names,
        keys=keys or None,
        todo=Todo(strategy.value, now) if lasting else None,
    )
    value = stamp(found.wanted)
    if value in {seen.workload.stamp, seen.workload.env_stamp}:
        # The content came back to that of the template's stamp, but the pods have another one.
        value = f"{value}-{record.n}"
    message = f"{', '.join(names)} changed" + (f" ({', '.join(keys)})" if keys else "")
    return Plan(Reason.CONFIG_CHANGED, message, record, strategy, value, found.changes)


def _record(
    seen: Snapshot, found: Comparison, now: datetime, reason: Reason, **more: object
) -> Record:
    record = seen.workload.record
    number = _highest(seen)
    if seen.kind.copies_record:
        # An undo is told by numbers, and nobody has seen them all: so they grow with time.
        number = max(number, int(now.timestamp()))
    return successor(
        record if isinstance(record, Record) else None,
        number,
        at=now,
        why=reason.word,
        s=found.wanted,
        k=seen.keys.current,
        **more,
    )


def _write(seen: Snapshot, found: Comparison, now: datetime, reason: Reason, message: str) -> Plan:
    return Plan(reason, message, record=_record(seen, found, now, reason))


def _nothing(reason: Reason) -> Plan:
    return Plan(reason, reason.sentence)


def _highest(seen: Snapshot) -> int:
    latest = seen.history.latest if seen.history else None
    return max(seen.workload.highest, latest.n if latest else 0)


def _order_is_known(seen: Snapshot, changed: Moment) -> bool:
    """Whether versions alone tell which came first, content or template."""
    template = msgspec.structs.replace(_oldest_pods(seen), at=None)
    return template.is_later_than(changed) is not None
