"""Which copies of its sources a workload should be pinned to, computed once per decision.

Three sets of pins are compared: those that its template has, those that the record says the
recorded content has, and those of what its sources hold now. Where template and record differ, a
person chose: an undo, an abort, an old template applied again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key, Problem
from reroll.core.model.record import Record, RecordFields, Unreadable, successor
from reroll.core.observe.snapshot import Absence, Comparison, Snapshot
from reroll.core.revisions.copies import TOKEN, copy_name, copy_names
from reroll.core.revisions.pins import read_pins, write_pins
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.fields import PINNABLE
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

Pins = dict[Key, str]
"""The copy of each source."""
CONTESTED = timedelta(minutes=5)
"""Between two rolls that only put pins back."""
_ON_TEMPLATE = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.NEXT_RUN, Strategy.TRIGGER)
)


class PinState(msgspec.Struct, frozen=True, gc=False):
    applies: bool = False
    """Its pods shall use copies."""
    left: bool = False
    """Its template has pins that we wrote, though its pods shall not use copies any more."""
    recorded: Pins = {}
    """The pins of the content that the record has."""
    template: Pins = {}
    """The pins that its template has."""
    current: Pins = {}
    """The pins of what its sources hold now; one that the template has already stays."""
    restorable: Pins = {}
    """Copies that are missing and can be made again."""
    lost: Pins = {}
    """Copies that are missing and cannot."""
    chosen: tuple[Key, ...] = ()
    """Sources of which the template names another copy than that of the recorded content."""
    withdrawn: Pins = {}
    """The pins of sources whose content failed: those that it was taken back to."""
    task: Reason | None = None
    """Why its template has to be written though nothing that it uses has changed."""
    contested_until: datetime | None = None
    """How long to leave a template alone from which its new pins were taken."""

    @property
    def beyond_repair(self) -> frozenset[Key]:
        """Sources whose copy is lost, though what its pods use did not change.

        Nobody chose that copy, so a new one does as well.
        """
        lost = self.lost.items()
        return frozenset(source for source, pin in lost if self.recorded.get(source) == pin)

    def completed(self) -> tuple[Pins, Pins]:
        """The pins that a template gets where some are lacking, and those of the record then."""
        kept = self.template.keys() - self.beyond_repair
        current = self.current.items()
        there = self.withdrawn | {source: self.template[source] for source in kept}
        return (
            {source: there.get(source, pin) for source, pin in current},
            {
                source: self.recorded.get(source, pin) if source in kept else pin
                for source, pin in current
            },
        )

    def rolled(self, snapshot: Snapshot, comparison: Comparison) -> tuple[Pins, Pins]:
        """The pins that a roll writes, and those of the record then.

        A source that did not change for it keeps its pin. So does one whose content failed.
        """
        changed = {change.reference.source for change in comparison.changes}
        pins = dict(self.current)
        for source, pin in self.template.items():
            is_kept = source in pins and source not in changed and self.recorded.get(source) == pin
            if is_kept and _copy(source, pin) not in snapshot.copies_missing:
                pins[source] = pin
        left = {source: pin for source, pin in self.withdrawn.items() if source not in changed}
        return pins | left, pins

    def adopted(self, now: datetime, *, is_new: bool = False) -> RecordFields:
        """Fields of a record of what is there: the template may have pins of something else.

        `is_new`: in a workload that was never recorded, pins to copies that do not exist came from
        elsewhere.
        """
        if not self.applies:
            return {}
        pins = dict(self.current)
        if is_new:
            pins |= {source: pin for source, pin in self.lost.items() if source in pins}
        is_held = any(self.template.get(source, pin) != pin for source, pin in pins.items())
        return {"pins": text_of(pins), "held": now if is_held else None}


NONE = PinState()


def pin_state(snapshot: Snapshot) -> PinState:
    """The state of a workload's pins; the same for all that never had any."""
    record = snapshot.record
    applies = bool(
        snapshot.policy.enabled and snapshot.policy.revisions and _can_be_pinned(snapshot)
    )
    has_record_pins = record is not None and record.pins is not None
    if not applies and not has_record_pins and not snapshot.workload.pins:
        return NONE
    recorded = _keyed(snapshot, (record.pins if record else None) or "")
    template = _by_key(snapshot, snapshot.pins)
    contents = pinnable(snapshot)
    restorable, lost = _missing(snapshot, template)
    state = PinState(
        applies=applies,
        withdrawn=_withdrawn(snapshot, recorded, template) if applies else {},
        left=has_record_pins
        and not applies
        and not snapshot.kind.fixed
        and (bool(snapshot.workload.pins) or snapshot.workload.named),
        recorded=recorded,
        template=template,
        current=_current(snapshot, recorded, template, contents),
        restorable=restorable,
        lost=lost,
        chosen=_chosen(recorded, template, contents),
    )
    return msgspec.structs.replace(
        state, task=_task(snapshot, state), contested_until=_contested_until(snapshot, state)
    )


def _can_be_pinned(snapshot: Snapshot) -> bool:
    """A strategy that leaves the template alone leaves no room for a pin either.

    Unless a new template replaces no pods by itself, as with `OnDelete`.
    """
    strategy = snapshot.policy.strategy_for(snapshot.kind)
    if snapshot.kind.fixed:
        return strategy is Strategy.RECREATE
    evicts = strategy is Strategy.EVICT and not snapshot.workload.replaces_pods
    return bool(snapshot.kind.template) and (strategy in _ON_TEMPLATE or evicts)


def pinnable(snapshot: Snapshot) -> dict[Key, Content]:
    """The sources that its pods shall use copies of, and what those hold."""
    home, contents = snapshot.workload.key.namespace, {}
    for reference in snapshot.references:
        source, content = reference.source, snapshot.sources.get(reference.source)
        if source.kind not in PINNABLE or source.namespace != home or reference.added:
            continue
        if not isinstance(content, Content) or content.immutable or content.type == TOKEN:
            continue
        if content.unpinned:
            continue
        if reference.counted(content) and not reference.only_presence_matters:
            contents[source] = content
    return contents


def problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    """What keeps a workload, or some of its sources, from having revisions."""
    if not snapshot.policy.enabled or not snapshot.policy.revisions:
        return ()
    where = f"annotation {DOMAIN}revisions for {snapshot.workload.key}"
    if not _can_be_pinned(snapshot):
        strategy = snapshot.policy.strategy_for(snapshot.kind).value
        why = f"strategy {strategy!r} leaves its pod template as it is, so its pods have no copies"
        usable = sorted(_ON_TEMPLATE & set(snapshot.kind.strategies)) or sorted(
            {Strategy.RECREATE} & set(snapshot.kind.strategies)
        )
        advice = f"; use one of {', '.join(usable)}" if usable else ""
        return (Problem(f"{where}: {why}{advice}"),)
    tokens = [
        source
        for source, content in snapshot.sources.items()
        if isinstance(content, Content) and content.type == TOKEN
    ]
    return tuple(
        Problem(f"{where}: {source} is a service account token, which cannot be copied; project it")
        for source in tokens
    )


def released(record: Record | Unreadable | None, now: datetime) -> Record | None:
    """The record of a workload that may roll again; `None` if it was not taken back."""
    if not isinstance(record, Record):
        return None
    trial = record.trial
    if record.held is None and (trial is None or trial.back is None):
        return None
    return successor(
        record, int(now.timestamp()), at=now, why=Reason.RELEASED.word, pins=None, held=None,
        trial=trial.released() if trial else None, declined=None,
    )  # fmt: skip


def text_of(pins: Pins) -> str:
    return write_pins({(source.kind, source.name): copy for source, copy in pins.items()})


def _keyed(snapshot: Snapshot, text: str) -> Pins:
    return _by_key(snapshot, read_pins(text)) if text else {}


def _by_key(snapshot: Snapshot, pins: Mapping[tuple[str, str], str]) -> Pins:
    home = snapshot.workload.key.namespace
    return {Key(kind, home, name): copy for (kind, name), copy in pins.items()}


def _copy(source: Key, name: str) -> Key:
    return Key(source.kind, source.namespace, name)


def _current(
    snapshot: Snapshot, recorded: Pins, template: Pins, contents: Mapping[Key, Content]
) -> Pins:
    """A source that may not be read at the moment keeps what is recorded of it."""
    pins = {
        source: recorded.get(source, pin)
        for source, pin in template.items()
        if snapshot.sources.get(source) is Absence.FORBIDDEN
        and _copy(source, recorded.get(source, pin)) not in snapshot.copies_missing
    }
    for source, content in contents.items():
        pin = snapshot.pin(source)
        is_right = pin is not None and pin in copy_names(source, content)
        name = pin if is_right else copy_name(source, content, snapshot.keys.current)
        if name:
            pins[source] = name
    return pins


def _missing(snapshot: Snapshot, template: Pins) -> tuple[Pins, Pins]:
    """Copies that are missing: those that can be made again, and the rest."""
    again: Pins = {}
    lost: Pins = {}
    if not snapshot.copies_missing:
        return again, lost
    for source, pin in sorted(template.items()):
        if _copy(source, pin) not in snapshot.copies_missing:
            continue
        content = snapshot.sources.get(source)
        is_same = isinstance(content, Content) and pin in copy_names(source, content)
        (again if is_same else lost)[source] = pin
    return again, lost


def _chosen(recorded: Pins, template: Pins, contents: Mapping[Key, Content]) -> tuple[Key, ...]:
    return tuple(
        sorted(
            source
            for source, pin in template.items()
            if source in contents
            and recorded.get(source, pin) != pin
            and pin not in copy_names(source, contents[source])
        )
    )


def _withdrawn(snapshot: Snapshot, recorded: Pins, template: Pins) -> Pins:
    """Unless a person moved it since, or its copy is gone."""
    record = snapshot.record
    trial = record.trial if record else None
    if record is None or record.held is None or trial is None or not trial.left:
        return {}
    good, home = _keyed(snapshot, record.good or ""), snapshot.workload.key.namespace
    sources = {one.source for one in snapshot.references if one.entry(home) in trial.left}
    return {
        source: pin
        for source, pin in good.items()
        if source in sources
        and recorded.get(source, pin) not in {pin, template.get(source)}
        and _copy(source, pin) not in snapshot.copies_missing
    }


def _task(snapshot: Snapshot, state: PinState) -> Reason | None:
    record = snapshot.record
    if not state.applies or snapshot.kind.fixed or record is None:
        return None
    if record.pins is None and record.why == Reason.RELEASED.word:
        return Reason.RELEASED
    by_name = snapshot.policy.pin == "template" or record.named
    is_nameless = by_name and snapshot.workload.plain
    lacking = state.current.keys() - (state.template.keys() - state.beyond_repair)
    return Reason.PINNED if lacking or is_nameless or _has_stale_pin(snapshot, state) else None


def _has_stale_pin(snapshot: Snapshot, state: PinState) -> bool:
    """Whether its template has an old content of a source that is not to be pinned any more.

    A pin of what such a source holds now does no harm: it goes with the next roll.
    """
    return any(
        isinstance(content := snapshot.sources.get(source), Content)
        and content.unpinned
        and pin not in copy_names(source, content)
        for source, pin in state.template.items()
    )


def _contested_until(snapshot: Snapshot, state: PinState) -> datetime | None:
    record = snapshot.record
    if record is None or record.why != Reason.PINNED.word or record.rolled is None:
        return None
    had_them = state.current.keys() <= state.recorded.keys() and not snapshot.copies_missing
    return record.rolled + CONTESTED if had_them else None
