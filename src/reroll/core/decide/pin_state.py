"""Which copies of its sources a workload should be pinned to, and what is in the way of that.

Pure. Three sets of pins are compared: those that its template has, those that the record says the
recorded content has, and those of what its sources hold now. Where template and record differ,
somebody else chose: an undo, an abort, an old template applied again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from reroll.core.model.content import Content
from reroll.core.model.key import Key, Problem
from reroll.core.model.record import Record, Unreadable, successor
from reroll.core.observe.snapshot import Absence, Comparison, Snapshot
from reroll.core.revisions.copies import TOKEN, copy_name, copy_names
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.fields import PINNABLE
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

Chosen = dict[Key, str]
"""The copy of each source."""
CONTESTED = timedelta(minutes=5)
"""Between two rolls that only put pins back."""
_ON_TEMPLATE = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.NEXT_RUN, Strategy.TRIGGER)
)


def applies(seen: Snapshot) -> bool:
    """Whether its pods shall use copies."""
    return bool(seen.policy.enabled and seen.policy.revisions and _can_be_pinned(seen))


def _can_be_pinned(seen: Snapshot) -> bool:
    """A strategy that leaves the template alone leaves no room for a pin either.

    Unless a new template replaces no pods by itself, as with `OnDelete`.
    """
    strategy = seen.policy.strategy_for(seen.kind)
    if seen.kind.fixed:
        return strategy is Strategy.RECREATE
    evicts = strategy is Strategy.EVICT and not seen.workload.replaces_pods
    return bool(seen.kind.template) and (strategy in _ON_TEMPLATE or evicts)


def pinnable(seen: Snapshot) -> dict[Key, Content]:
    """The sources that its pods shall use copies of, and what those hold."""
    home, found = seen.workload.key.namespace, {}
    for reference in seen.references:
        source, content = reference.source, seen.sources.get(reference.source)
        if source.kind not in PINNABLE or source.namespace != home or reference.added:
            continue
        if not isinstance(content, Content) or content.immutable or content.type == TOKEN:
            continue
        if reference.counted(content) and not reference.only_presence_matters:
            found[source] = content
    return found


def problems(seen: Snapshot) -> tuple[Problem, ...]:
    """What keeps it, or some of its sources, from having revisions."""
    if not seen.policy.enabled or not seen.policy.revisions:
        return ()
    where = f"annotation {DOMAIN}revisions for {seen.workload.key}"
    if not _can_be_pinned(seen):
        strategy = seen.policy.strategy_for(seen.kind).value
        why = f"strategy {strategy!r} leaves its pod template as it is, so its pods have no copies"
        usable = sorted(_ON_TEMPLATE & set(seen.kind.strategies)) or sorted(
            {Strategy.RECREATE} & set(seen.kind.strategies)
        )
        advice = f"; use one of {', '.join(usable)}" if usable else ""
        return (Problem(f"{where}: {why}{advice}"),)
    tokens = [
        source
        for source, content in seen.sources.items()
        if isinstance(content, Content) and content.type == TOKEN
    ]
    return tuple(
        Problem(f"{where}: {source} is a service account token, which cannot be copied; project it")
        for source in tokens
    )


def recorded(seen: Snapshot) -> Chosen:
    """The pins of the content that the record has."""
    record = seen.workload.record
    text = record.pins if isinstance(record, Record) else None
    return _keyed(seen, read_pins(text) if text else {})


def _keyed(seen: Snapshot, pins: Mapping[tuple[str, str], str]) -> Chosen:
    home = seen.workload.key.namespace
    return {Key(kind, home, name): copy for (kind, name), copy in pins.items()}


def in_template(seen: Snapshot) -> Chosen:
    return _keyed(seen, seen.workload.pins)


def current(seen: Snapshot) -> Chosen:
    """The pins of what its sources hold now; one that the template has already stays.

    Of one that may not be read at the moment it is that of what is recorded.
    """
    return _unreadable(seen) | {source: name for source, name in _named(seen) if name}


def _unreadable(seen: Snapshot) -> Chosen:
    before = recorded(seen)
    found = {
        source: before.get(source, pin)
        for source, pin in in_template(seen).items()
        if seen.sources.get(source) is Absence.FORBIDDEN
    }
    return {
        source: pin
        for source, pin in found.items()
        if Key(source.kind, source.namespace, pin) not in seen.copies_missing
    }


def _named(seen: Snapshot) -> list[tuple[Key, str | None]]:
    found = []
    for source, content in pinnable(seen).items():
        pin = seen.pin(source)
        is_there = pin is not None and pin in copy_names(source, content)
        found.append((source, pin if is_there else copy_name(source, content, seen.keys.current)))
    return found


def rolled(seen: Snapshot, found: Comparison) -> Chosen:
    """The pins that a roll with changes writes: what did not change for it keeps its pin."""
    changed = {change.reference.source for change in found.changes}
    before, pins = recorded(seen), current(seen)
    for source, pin in in_template(seen).items():
        missing = Key(source.kind, source.namespace, pin) in seen.copies_missing
        if source in pins and source not in changed and before.get(source) == pin and not missing:
            pins[source] = pin
    return pins


def completed(seen: Snapshot) -> tuple[Chosen, Chosen]:
    """The pins that a template gets where some are lacking, and those of the record with them."""
    pins, there, before = current(seen), in_template(seen), recorded(seen)
    kept = there.keys() - _beyond_repair(seen)
    for_template = {
        source: there[source] if source in kept else pin for source, pin in pins.items()
    }
    for_record = {
        source: before.get(source, pin) if source in kept else pin for source, pin in pins.items()
    }
    return for_template, for_record


def _beyond_repair(seen: Snapshot) -> set[Key]:
    """Sources whose copy is gone and cannot be made again, though what its pods use did not change.

    Nobody chose that copy, so a new one does as well.
    """
    before = recorded(seen)
    _, lost = restorable(seen)
    return {source for source, pin in lost.items() if before.get(source) == pin}


def task(seen: Snapshot) -> Reason | None:
    """Why its template has to be written though nothing that it uses has changed."""
    record = seen.workload.record
    if not applies(seen) or seen.kind.fixed or not isinstance(record, Record):
        return None
    if record.pins is None and record.why == Reason.RELEASED.word:
        return Reason.RELEASED
    by_name = seen.policy.pin == "template" or record.named
    is_nameless = by_name and seen.workload.plain
    lacking = current(seen).keys() - (in_template(seen).keys() - _beyond_repair(seen))
    return Reason.PINNED if lacking or is_nameless else None


def contested_until(seen: Snapshot) -> datetime | None:
    """How long to leave a template alone out of which somebody took the pins that it just got."""
    record = seen.workload.record
    if not isinstance(record, Record) or record.why != Reason.PINNED.word or record.rolled is None:
        return None
    had_them = current(seen).keys() <= recorded(seen).keys() and not seen.copies_missing
    return record.rolled + CONTESTED if had_them else None


def released(record: Record | Unreadable | None, now: datetime) -> Record | None:
    """The record of one that is no longer held at a revision; `None` if it is not."""
    if not isinstance(record, Record) or record.held is None:
        return None
    return successor(
        record, int(now.timestamp()), at=now, why=Reason.RELEASED.word, pins=None, held=None
    )


def chosen_by_somebody(seen: Snapshot) -> list[Key]:
    """The sources of which the template names another copy than that of the recorded content."""
    before, contents = recorded(seen), pinnable(seen)
    return sorted(
        source
        for source, pin in in_template(seen).items()
        if source in contents
        and before.get(source, pin) != pin
        and pin not in copy_names(source, contents[source])
    )


def are_left(seen: Snapshot) -> bool:
    """Whether its template still has pins that we wrote."""
    record = seen.workload.record
    ours = isinstance(record, Record) and record.pins is not None
    is_pinned = bool(seen.workload.pins) or seen.workload.named
    return ours and is_pinned and not seen.kind.fixed


def restorable(seen: Snapshot) -> tuple[Chosen, Chosen]:
    """Copies that are missing: those that can be made again, and the rest."""
    again: Chosen = {}
    lost: Chosen = {}
    if not seen.copies_missing:
        return again, lost
    for source, pin in sorted(in_template(seen).items()):
        if Key(source.kind, source.namespace, pin) not in seen.copies_missing:
            continue
        content = seen.sources.get(source)
        if isinstance(content, Content) and pin in copy_names(source, content):
            again[source] = pin
        else:
            lost[source] = pin
    return again, lost
