"""What a decision looks at, and the record against the world: which sources hold something new.

Pure: no I/O, no clock.
"""

from collections.abc import Mapping

import msgspec

from reroll.core.model.content import Content, Term
from reroll.core.model.digest import ABSENT, AWAITED, reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, Change, Comparison, Snapshot
from reroll.core.revisions.copies import copy_names
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.source_kinds import SOURCE_KINDS, Watched


def compare(snapshot: Snapshot) -> Comparison:
    """What the sources hold now against what the record says."""
    record = snapshot.record
    known = record.s if record else {}
    if snapshot.workload.back and not snapshot.workload.pins:
        known = snapshot.workload.back.had
    ledger = _Ledger(snapshot, known)
    for reference in snapshot.references:
        ledger.add(reference)
    return Comparison(
        ledger.wanted,
        tuple(ledger.changes),
        tuple(ledger.missing),
        tuple(ledger.unread),
        ledger.gone,
        ledger.lost,
    )


class _Ledger:
    """A comparison as it grows, reference by reference."""

    def __init__(self, snapshot: Snapshot, known: Mapping[str, str]) -> None:
        self._snapshot, self._known = snapshot, known
        self.wanted: dict[str, str] = dict.fromkeys(snapshot.patterns, "*")
        self.changes: list[Change] = []
        self.missing: list[Reference] = []
        self.unread: list[Reference] = []
        self.gone: dict[str, str] = {}
        self.lost: dict[str, str] = {}

    def add(self, reference: Reference) -> None:
        snapshot = self._snapshot
        held = snapshot.sources.get(reference.source, Absence.UNREAD)
        content = held if isinstance(held, Content) else None
        digest = reference_digest(reference, content, snapshot.keys.current) if content else None
        if held is Absence.UNREAD or (content and digest is None):
            self.unread.append(reference)
            return
        terms = reference.counted(content)
        if not terms:
            return
        if content and not content.has_hashes_for(terms):
            self.unread.append(reference)
            return
        if held is not Absence.FORBIDDEN and reference.missing_from(content):
            self.missing.append(reference)
        if reference.only_presence_matters:
            return
        if content is None or digest is None:
            self._absent(reference, terms, is_missing=held is Absence.MISSING)
        else:
            self._present(reference, terms, content, digest)

    def _absent(self, reference: Reference, terms: tuple[Term, ...], *, is_missing: bool) -> None:
        entry = reference.entry(self._snapshot.workload.key.namespace)
        recorded = self._known.get(entry)
        if is_missing:
            self.gone[entry] = AWAITED if reference.required else ABSENT
            self.wanted[entry] = _kept(self._snapshot, reference, recorded) or self.gone[entry]
            if recorded not in _NEVER_THERE and any(term.on_delete for term in terms):
                self.wanted[entry] = self.gone[entry]
                moment = _left(self._snapshot, reference)
                self.changes.append(Change(reference, entry, moment, by=_by(terms)))
        elif recorded is not None:
            self.wanted[entry] = recorded

    def _present(
        self, reference: Reference, terms: tuple[Term, ...], content: Content, digest: str
    ) -> None:
        entry = reference.entry(self._snapshot.workload.key.namespace)
        self.wanted[entry] = digest
        recorded = self._known.get(entry)
        changed = _has_changed(self._snapshot, reference, recorded, content, digest, terms)
        if changed is False and recorded not in _NEVER_THERE:
            changed = self._snapshot.may_have_rolled(content.changed)
        if changed is None:
            self.lost[entry] = recorded or ""
        elif changed:
            keys = _keys(reference, content)
            self.changes.append(Change(reference, entry, content.changed, keys, _by(terms)))


def _kept(seen: Snapshot, reference: Reference, recorded: str | None) -> str | None:
    """What is still known of a source that went away; `None` if no pod has it any more.

    It rolls nothing by going away. It counts again when it comes back different, or if pods were
    made in the meantime.
    """
    since = seen.gone.get(reference.source, 0)
    replaced = (
        seen.workload.replaces_pods and seen.ordered and 0 < since <= seen.workload.template.after
    )
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
    digest: str,
    terms: tuple[Term, ...],
) -> bool | None:
    """Whether a content that exists is news to the workload's pods; `None` if nothing can tell.

    `digest` is that of the content with the current key.
    """
    record = seen.record
    if recorded not in _NEVER_THERE and record is not None:
        if record.k == seen.keys.current:
            return digest != recorded
        now = reference_digest(reference, content, record.k)
        if now is None:
            return _is_written_after(seen, record, content.changed) or None
        return now != recorded
    if reference.source.kind in _TOLD_BY_PODS or (reference.required and content.created):
        # No pod can have started without a required source, so its first content is no news.
        return False
    if recorded == AWAITED:
        return True
    appears = any(term.on_create for term in terms)
    if recorded is not None:
        return appears
    changed = content.changed
    if (pin := seen.pin(reference.source)) and record is not None:
        # Its pods have what the pin says, however new: unless somebody chose that pin, it is news.
        ours = record.pins and read_pins(record.pins).get(reference.source[::2])
        return ours == pin and pin not in copy_names(reference.source, content)
    if record is None:
        # Not adopted yet, but the change was watched after the workload was: its pods are older.
        return seen.ordered and 0 < seen.workload.seen <= changed.after
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


def _is_written_after(seen: Snapshot, record: Record, changed: Moment) -> bool:
    """Whether a content came after a record with a key that is not known here; in doubt, yes."""
    if record.rv:
        return changed.by > record.rv
    # A record of an older release: what is later than the workload itself, or by the clocks.
    version = seen.workload.version if seen.ordered else 0
    written = Moment(by=version, at=record.at.replace(microsecond=0))
    return changed.is_later_than(written) is not False


def oldest_pods(seen: Snapshot) -> Moment:
    """When the template took effect that the oldest of its pods may have."""
    back = seen.workload.back
    since = back.since if back else seen.workload.template
    return since if seen.ordered else Moment(at=since.at)


def is_newer_than_pods(seen: Snapshot, changed: Moment) -> bool:
    """Whether a content came after the pods' template, as well as that is known; in doubt, yes."""
    if not seen.workload.replaces_pods:
        return True
    template, history = oldest_pods(seen), seen.history
    if history is None or history.newest is None:
        return template.is_later_than(changed) is not True
    by_version = template.is_later_than(msgspec.structs.replace(changed, at=None))
    if by_version is None and seen.ordered and 0 < history.version < changed.by:
        # The clocks of two API servers may disagree, and some writes leave no time behind.
        return True
    template = msgspec.structs.replace(template, at=history.newest)
    return template.is_later_than(changed) is not True
