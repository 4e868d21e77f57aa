"""What a decision looks at, and the record against the world: which sources hold something new.

Pure: no I/O, no clock.
"""

import msgspec

from reroll.core.model.content import Content, Term
from reroll.core.model.digest import ABSENT, AWAITED, reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, Change, Comparison, Snapshot
from reroll.core.revisions.copies import copy_names
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.kinds import SOURCE_KINDS, Watched


def compare(seen: Snapshot) -> Comparison:
    """What the sources hold now against what the record says."""
    record = seen.workload.record
    known = record.s if isinstance(record, Record) else {}
    if seen.workload.back and not seen.workload.pins:
        known = seen.workload.back.had
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
        terms = reference.counted(there)
        if not terms:
            continue
        if there and not there.has_hashes_for(terms):
            unread.append(reference)
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
                if recorded not in _NEVER_THERE and any(term.on_delete for term in terms):
                    wanted[entry] = gone[entry]
                    changes.append(Change(reference, entry, _left(seen, reference), by=_by(terms)))
            elif recorded is not None:
                wanted[entry] = recorded
            continue
        wanted[entry] = digest
        changed = _has_changed(seen, reference, recorded, there, terms)
        if changed is None:
            lost = True
        elif changed:
            keys = _keys(reference, there)
            changes.append(Change(reference, entry, there.changed, keys, _by(terms)))
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


def _by(terms: tuple[Term, ...]) -> frozenset[str]:
    return frozenset(term.dialect for term in terms if term.dialect)


def _left(seen: Snapshot, reference: Reference) -> Moment:
    """When a source went away."""
    since = seen.gone.get(reference.source, 0)
    return Moment(since - 1, since) if since else Moment()


def _keys(reference: Reference, content: Content) -> frozenset[str]:
    """The keys that changed, of those that the workload uses."""
    keys = content.changed_keys - reference.without
    return keys if reference.keys is None else keys & reference.keys


def _has_changed(
    seen: Snapshot,
    reference: Reference,
    recorded: str | None,
    content: Content,
    terms: tuple[Term, ...],
) -> bool | None:
    """Whether a content that exists is news to the workload's pods; `None` if nothing can tell."""
    record = seen.workload.record
    if recorded not in _NEVER_THERE and isinstance(record, Record):
        now = reference_digest(reference, content, record.k)
        return None if now is None else now != recorded
    if reference.source.kind in _TOLD_BY_PODS or (reference.required and content.created):
        # No pod can have started without a required source, so its first content is no news.
        return False
    if recorded == AWAITED:
        return True
    appears = any(term.on_create for term in terms)
    if recorded is not None:
        return appears
    changed = content.changed
    if (pin := seen.pin(reference.source)) and isinstance(record, Record):
        # Its pods have what the pin says, however new: unless somebody chose that pin, it is news.
        ours = record.pins and read_pins(record.pins).get(reference.source[::2])
        return ours == pin and pin not in copy_names(reference.source, content)
    if not isinstance(record, Record):
        # Not adopted yet, but the change was watched after the workload was: its pods are older.
        return 0 < seen.workload.seen <= changed.after
    if reference.pattern:
        # A glob that the record knows found one more source.
        return appears and reference.pattern in record.s
    # A new reference: its pods came with the template that made it, unless the content is newer.
    # Sources tell whole seconds.
    return (
        not reference.added
        and bool(changed.at and changed.at >= record.at.replace(microsecond=0))
        and is_newer_than_pods(seen, changed)
    )


def oldest_pods(seen: Snapshot) -> Moment:
    """When the template took effect that the oldest of its pods may have."""
    back = seen.workload.back
    return back.since if back else seen.workload.template


def is_newer_than_pods(seen: Snapshot, changed: Moment) -> bool:
    """Whether a content came after the pods' template, as well as that is known; in doubt, yes."""
    if not seen.workload.replaces_pods:
        return True
    template = oldest_pods(seen)
    if seen.history is not None and seen.history.newest is not None:
        template = msgspec.structs.replace(template, at=seen.history.newest)
    return template.is_later_than(changed) is not True
