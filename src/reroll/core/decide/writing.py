"""The second chain: what has to be written, if it may be written now?

A row is named for the situation that it finds, and returns a draft: a plan, and what kind of act it
is, which says which permissions it needs. The first row that applies decides; the last always does.
"""

from collections.abc import Callable

import msgspec

from reroll.core.decide.actions import (
    Evict,
    MakeCopies,
    NamePins,
    Patch,
    Pin,
    ReadHistory,
    Reload,
    Repair,
    Resume,
    WriteRecord,
)
from reroll.core.decide.canaries import tries_nothing
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.going_back import went_bad
from reroll.core.decide.lateness import gave_up
from reroll.core.decide.partitions import departitioned
from reroll.core.decide.pin_state import Pins, text_of
from reroll.core.decide.plan import Plan, without_action
from reroll.core.decide.roll import pin, rewriting, roll
from reroll.core.decide.rollback import taken_back
from reroll.core.decide.standing import is_pause_over
from reroll.core.decide.trial_record import carried_on
from reroll.core.decide.trials import fails, next_look, on_trial
from reroll.core.model.moment import Moment
from reroll.core.model.names import several
from reroll.core.model.record import Record, RecordFields, Unreadable, successor
from reroll.core.observe.compare import is_newer_than_pods, oldest_pods
from reroll.core.observe.snapshot import Change
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

Row = Callable[[Case], Draft | None]


def stranded(case: Case) -> Draft | None:
    """Another tool keeps its pods from starting."""
    repair = case.snapshot.policy.repair
    if repair is None:
        return None
    plan = Plan(Reason.REPAIRED, Reason.REPAIRED.sentence, (Repair(repair),))
    return Draft(Act.REPAIR if repair.waits else Act.NOTHING, plan)


def pause_over(case: Case) -> Draft | None:
    """A pause of ours is over: what was gathered rolls."""
    if case.pause is None or not is_pause_over(case):
        return None
    reason, record = Reason.RESUMED, case.record
    resume = Resume(case.pause.mark)
    edits: tuple[WriteRecord | Resume, ...] = (resume,)
    if record is not None:
        after = successor(record, record.n, at=case.now, why=reason.word)
        edits = (WriteRecord(after), resume)
    return Draft(Act.NOTHING, Plan(reason, reason.sentence, (Patch(edits),)))


def opting_out(case: Case) -> Draft | None:
    """Revisions are off, or the workload is out, and its template still has pins."""
    record = case.record
    if not case.pins.left or record is None:
        return None
    reason, digests = Reason.UNPINNED, record.s
    if case.snapshot.policy.enabled:
        digests = case.comparison.started_with
    after = successor(
        record, case.number, at=case.now, why=reason.word, s=digests, rolled=case.now,
        by=None, keys=None, todo=None, pins=None, named=False, held=None,
        how=rewriting(case.snapshot).value, declined=None, trial=None, good=None, mark=None,
        canary=None,
    )  # fmt: skip
    patch = Patch((WriteRecord(after, unless_held=True), Pin(""), *departitioned(case)))
    actions = (NamePins(""), patch)
    plan = Plan(reason, reason.sentence, actions, strategy=rewriting(case.snapshot))
    return Draft(Act.UNPIN, plan)


def new_here(case: Case) -> Draft | None:
    """It has no record, or one that cannot be read: adopting never rolls."""
    snapshot, record = case.snapshot, case.snapshot.workload.record
    if case.record is not None:
        return None
    if not snapshot.records_known and snapshot.kind.copies_record and snapshot.history is None:
        return _reading_history()  # Its revisions may have a copy of a record that was removed.
    if case.comparison.changes:
        return None
    message = Reason.ADOPTED.sentence
    if isinstance(record, Unreadable):
        message = f"its record could not be used ({record.why}); {message}"
    pins = case.pins.adopted(case.now, is_new=True)
    return Draft(Act.RECORD, case.recorded(Reason.ADOPTED, message, **pins))


def went_back(case: Case) -> Draft | None:
    """An undo put an older record back: the current content is declined until it changes again."""
    snapshot = case.snapshot
    there, left = snapshot.workload.record, case.record
    if left is None or not isinstance(there, Record) or not snapshot.kind.copies_record:
        return None
    if there.n >= left.n or _moved_on(case, left):
        return None
    if not snapshot.workload.reverted:
        # It may have come without a template, as with a manifest that has the record in it.
        if snapshot.history is None:
            return _reading_history()
        if not snapshot.history.left:
            return None
    fields = case.pins.adopted(case.now) or {"declined": taken_back(there, left)}
    fields["trial"] = left.trial.taken_back(case.now) if left.trial else None
    return Draft(Act.RECORD, case.recorded(Reason.UNDONE, **fields))


def _moved_on(case: Case, left: Record) -> bool:
    """Whether a source changed after the record that was gone back from was written."""
    return any(change.entry in left.s for change in case.comparison.changes)


def record_lost(case: Case) -> Draft | None:
    """Another writer removed its record, or put an older one in its place: it comes back."""
    if case.record is None or case.snapshot.is_record_there or case.comparison.changes:
        return None
    reason = Reason.RECORD_RESTORED
    edits = (WriteRecord(case.record),)
    return Draft(Act.RESTORE, Plan(reason, reason.sentence, (Patch(edits),)))


def unfinished(case: Case) -> Draft | None:
    """An earlier roll is still being carried out, and nothing has changed since."""
    record = case.record
    if record is None or record.todo is None or case.comparison.changes or fails(case):
        return None
    work = _WORK.get(record.todo.do)
    finished = Patch((WriteRecord(successor(record, record.n, todo=None)),))
    actions = (work(record.todo.since), finished) if work else (finished,)
    reason, look_at = Reason.CONTINUED, next_look(case)
    return Draft(Act.CONTINUE, Plan(reason, reason.sentence, actions, look_at=look_at))


_WORK: dict[str, type[Evict] | type[Reload]] = {
    Strategy.EVICT.value: Evict,
    Strategy.RELOAD.value: Reload,
}


def unrecorded(case: Case) -> Draft | None:
    """Nothing has changed for its pods, but the record has to."""
    record, comparison = case.record, case.comparison
    if comparison.changes or record is None:
        return None
    if case.has_unknown_key:
        is_due = case.rewrites_at is not None and case.now >= case.rewrites_at
        reason = Reason.KEY_LOST if comparison.lost else Reason.RECORDED
        return Draft(Act.RECORD, case.recorded(reason)) if is_due else None
    is_asked = case.snapshot.policy.before_expiry and record.expires != case.expires
    if record.s == comparison.wanted and not is_asked:
        return None
    is_other_key = record.k not in {"", case.snapshot.keys.current}
    return Draft(Act.RECORD, case.recorded(Reason.KEY_ROTATED if is_other_key else Reason.RECORDED))


def other_pins(case: Case) -> Draft | None:
    """The template has other pins than the record knows, or no longer: that goes on record."""
    record = case.record
    if record is None or not _pins_are_settled(case):
        return None
    if record.pins is None:
        return Draft(Act.RECORD, case.recorded(Reason.RECORDED, **case.pins.adopted(case.now)))
    if case.pins.chosen and record.held is None:
        trial = record.trial.taken_back(case.now) if record.trial else None
        return Draft(Act.RECORD, case.recorded(Reason.UNDONE, held=case.now, trial=trial))
    if record.held is not None and not case.pins.chosen:
        return Draft(Act.RECORD, case.recorded(Reason.RECORDED, held=None))
    return None


def copy_missing(case: Case) -> Draft | None:
    """A copy that new pods need is gone: made again, if its source still holds the same."""
    if not case.snapshot.copies_missing or not _pins_are_settled(case):
        return None
    if copies := tuple(sorted(case.pins.restorable.items())):
        names = several([f"{source.kind} {name}" for source, name in copies])
        message = f"{Reason.COPY_RESTORED.sentence}: {names}"
        plan = Plan(Reason.COPY_RESTORED, message, (MakeCopies(copies),))
        return Draft(Act.NOTHING, plan)
    if not case.pins.lost:
        return None
    return Draft(
        Act.NOTHING, without_action(Reason.REVISION_MISSING, f": {_listed(case.pins.lost)}")
    )


def held_at(case: Case) -> Draft | None:
    """A person chose another revision than the current one, and nothing has changed since."""
    record, chosen = case.record, case.pins.chosen
    if record is None or not chosen or not _pins_are_settled(case):
        return None
    names = _listed({source: case.pins.template[source] for source in chosen})
    since = f" since {record.held:%Y-%m-%d %H:%M:%S %Z}" if record.held else ""
    since += ", because a rollout failed" if record.failed else ""
    return Draft(Act.NOTHING, without_action(Reason.HELD_AT, f": {names}{since}"))


def _pins_are_settled(case: Case) -> bool:
    """Whether it has pins, and neither a change nor a missing pin asks for others."""
    return case.pins.applies and not case.comparison.changes and case.pins.task is None


def _listed(pins: Pins) -> str:
    return text_of(pins).replace(",", ", ")


def unchanged(case: Case) -> Draft | None:
    if case.comparison.changes or case.record is None or case.pins.task or case.is_released:
        return None
    return Draft(Act.NOTHING, without_action(Reason.UP_TO_DATE))


def looking_back(case: Case) -> Draft | None:
    """A change that no watch saw: the workload's revisions tell what happened since."""
    snapshot = case.snapshot
    if snapshot.history is not None or not snapshot.kind.revisions:
        return None
    if all(_order_is_known(case, change.changed) for change in case.comparison.changes):
        return None
    return _reading_history()


def _order_is_known(case: Case, changed: Moment) -> bool:
    """Whether versions alone tell which came first, content or template."""
    template = msgspec.structs.replace(oldest_pods(case.snapshot), at=None)
    return template.is_later_than(changed) is not None


def rolled_elsewhere(case: Case) -> Draft | None:
    """The template changed after the content did: the new pods have it already."""
    changes = case.comparison.changes
    if not changes or case.pins.task or not all(_pods_have(case, one) for one in changes):
        return None
    if case.snapshot.staged:
        return None  # Only those of its canary do.
    fields: RecordFields = {"s": case.comparison.started_with, "todo": None, "declined": None}
    fields |= case.pins.adopted(case.now) | {"trial": carried_on(case)}
    return Draft(Act.RECORD, case.recorded(Reason.ROLLED_ELSEWHERE, **fields))


def _pods_have(case: Case, change: Change) -> bool:
    """Whether new pods have a content, or what a person chose instead after it came."""
    source = change.reference.source
    is_older = is_newer_than_pods(case.snapshot, change.changed)
    pin = case.pins.current.get(source) if case.pins.applies else None
    there = case.snapshot.pin(source)
    if pin is None or there is None:
        return not is_older
    # Where it was taken back to is no choice: the content may have been mended meanwhile.
    is_chosen = source in case.pins.chosen and source not in case.pins.withdrawn
    return pin == there or (is_chosen and not is_older)


def no_pods(case: Case) -> Draft | None:
    """It is suspended and its pods are gone: those that it starts later are new."""
    workload = case.snapshot.workload
    if not workload.still or not workload.idle or case.is_paused_by_us or case.pins.applies:
        return None
    message = "it is suspended and has no pods; the pods it starts get the current configuration"
    return Draft(Act.RECORD_IDLE, case.recorded(Reason.RECORDED, message, declined=None))


def unpinned(case: Case) -> Draft | None:
    """Its template lacks pins, and nothing has changed."""
    if case.comparison.changes or case.pins.task is not Reason.PINNED:
        return None
    return Draft(Act.PIN, pin(case))


def stale(case: Case) -> Draft | None:
    """Its pods have another content than its sources."""
    return Draft(Act.ROLL if case.comparison.changes else Act.RELEASE, roll(case))


def _reading_history() -> Draft:
    reason = Reason.LOOKING_BACK
    return Draft(Act.NOTHING, Plan(reason, reason.sentence, (ReadHistory(),)))


WRITING: tuple[Row, ...] = (
    stranded,
    pause_over,
    opting_out,
    new_here,
    went_back,
    record_lost,
    tries_nothing,
    unfinished,
    unrecorded,
    other_pins,
    copy_missing,
    went_bad,
    on_trial,
    gave_up,
    held_at,
    unchanged,
    looking_back,
    rolled_elsewhere,
    no_pods,
    unpinned,
    stale,
)
