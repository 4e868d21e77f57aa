"""Actions: what a plan is made of, and what the executor has a function for.

A plan's actions are carried out in order. An action that cannot finish ends the attempt; the next
attempt decides again. Everything that is written to the workload is one `Patch`, so the record and
what it records are written together or not at all; its parts are edits.
"""

from datetime import datetime

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.pace import Parallel
from reroll.core.model.record import Record
from reroll.core.policy import policy
from reroll.core.revisions.pins import Rewrite

# Edits of the workload


class WriteRecord(msgspec.Struct, frozen=True, gc=False):
    record: Record
    unless_held: bool = False
    """Refused by the server if a hold came after the decision."""


class Pin(msgspec.Struct, frozen=True, gc=False):
    """The template names the copies that its pods use."""

    pins: str
    """Empty: none any more."""
    renames: tuple[Rewrite, ...] = ()
    """Fields of the pod spec that name another copy with it."""


class SetMarks(msgspec.Struct, frozen=True, gc=False):
    """Annotations or variables of the template that replace the pods by changing."""

    marks: tuple[Mark, ...]


class Restart(msgspec.Struct, frozen=True, gc=False):
    at: datetime


class Pause(msgspec.Struct, frozen=True, gc=False):
    """Keep a written roll back, to gather further changes."""

    mark: str
    """The annotation that says since when."""
    at: datetime


class Resume(msgspec.Struct, frozen=True, gc=False):
    """End a pause of ours."""

    mark: str


class SetPartition(msgspec.Struct, frozen=True, gc=False):
    """How many pods a new template leaves as they are; refused if it is another by then."""

    was: int
    to: int


Edit = WriteRecord | Pin | SetMarks | Restart | Pause | Resume | SetPartition

# Actions


class Patch(msgspec.Struct, frozen=True, gc=False):
    """One JSON Patch of the workload, guarded by the record that was decided on."""

    edits: tuple[Edit, ...]


class ReadHistory(msgspec.Struct, frozen=True, gc=False):
    """Read the revisions of the workload, and decide again with them."""


class ReadPods(msgspec.Struct, frozen=True, gc=False):
    """Read the pods of a rollout that is late or sick, and decide again with what they tell."""


class ReadWriters(msgspec.Struct, frozen=True, gc=False):
    """Read who writes these sources, and decide again with their names."""

    sources: tuple[Key, ...]


class ReadTemplateWriters(msgspec.Struct, frozen=True, gc=False):
    """Read who wrote the template last, which nobody watched, and decide again."""


class Unstick(msgspec.Struct, frozen=True, gc=False):
    """Evict pods of a template that was left and that never became ready: they are in the way."""


class StayOn(msgspec.Struct, frozen=True, gc=False):
    """What follows needs somebody who sees what comes of it: a command does not stay so long."""


class ReadCanaryPods(msgspec.Struct, frozen=True, gc=False):
    """Read the pods of its canary, and decide again with what they tell."""


class MakeCanary(msgspec.Struct, frozen=True, gc=False):
    """A Deployment beside the workload, with its template and these pins."""

    of: str
    pins: str
    size: Parallel
    named: bool = False
    """The template names the copies too."""


class RemoveCanary(msgspec.Struct, frozen=True, gc=False):
    """Delete the canary of the workload."""


class NoteCanary(msgspec.Struct, frozen=True, gc=False):
    """Write what came of its canary into its record, and leave even its generation as it is."""

    record: Record


class MakeCopies(msgspec.Struct, frozen=True, gc=False):
    """Immutable copies of sources that have to exist before pods use them."""

    copies: tuple[tuple[Key, str], ...]
    """Of which source, and by what name."""


class NamePins(msgspec.Struct, frozen=True, gc=False):
    """Find out whether the template itself has to name its copies, and amend what follows."""

    pins: str


class AddValueMarks(msgspec.Struct, frozen=True, gc=False):
    """Add the marks that other tools make of values, which are fetched for it and dropped."""

    stamp: str


class StartJob(msgspec.Struct, frozen=True, gc=False):
    """Start a Job of the CronJob now."""

    record: Record
    stamp: str
    marks: tuple[Mark, ...] = ()
    pins: str | None = None


class RecreateJob(msgspec.Struct, frozen=True, gc=False):
    """Replace a Job, which cannot be changed, by one with this record."""

    record: Record
    marks: tuple[Mark, ...] = ()
    pins: str | None = None


class Evict(msgspec.Struct, frozen=True, gc=False):
    """Evict the pods that are older than the roll that began at `since`."""

    since: datetime


class Reload(msgspec.Struct, frozen=True, gc=False):
    """Ask the pods that are older than that to read their configuration again."""

    since: datetime


class Repair(msgspec.Struct, frozen=True, gc=False):
    """Undo what another tool did to keep pods from starting."""

    repair: policy.Repair


class GoBack(msgspec.Struct, frozen=True, gc=False):
    """Put an earlier template back, and decline the content that it does not have."""

    record: Record | None
    template: msgspec.Raw | None = None
    """The template to go back to; without it, that of the revision before the current one."""
    rolled: msgspec.Raw | None = None
    """The template that the roll made, if it is known: nothing else is replaced."""


Action = (
    Patch
    | ReadHistory
    | ReadPods
    | ReadWriters
    | StayOn
    | ReadCanaryPods
    | MakeCanary
    | RemoveCanary
    | NoteCanary
    | ReadTemplateWriters
    | Unstick
    | MakeCopies
    | NamePins
    | AddValueMarks
    | StartJob
    | RecreateJob
    | Evict
    | Reload
    | Repair
    | GoBack
)


READS = (ReadHistory, ReadPods, ReadWriters, ReadTemplateWriters, ReadCanaryPods)
"""Those after which it is decided again: nothing comes of a plan that has only these."""


def records(action: Action) -> Record | None:
    """The record that an action writes."""
    if isinstance(action, Patch):
        for edit in action.edits:
            if isinstance(edit, WriteRecord):
                return edit.record
        return None
    if isinstance(action, StartJob | Evict | Reload):
        return None
    return action.record if isinstance(action, RecreateJob | GoBack | NoteCanary) else None


def with_names(
    actions: tuple[Action, ...], renames: tuple[Rewrite, ...], *, named: bool
) -> tuple[Action, ...]:
    """The actions, once it is known whether and where the template names its copies."""
    return tuple(_with_names(action, renames, named) for action in actions)


def _with_names(action: Action, renames: tuple[Rewrite, ...], named: bool) -> Action:
    if isinstance(action, StartJob | RecreateJob):
        return msgspec.structs.replace(action, record=_named(action.record, named))
    if isinstance(action, MakeCanary):
        return msgspec.structs.replace(action, named=named)
    if not isinstance(action, Patch):
        return action
    edits: list[Edit] = []
    for edit in action.edits:
        if isinstance(edit, WriteRecord):
            edits.append(msgspec.structs.replace(edit, record=_named(edit.record, named)))
        elif isinstance(edit, Pin):
            edits.append(msgspec.structs.replace(edit, renames=renames))
        else:
            edits.append(edit)
    return Patch(tuple(edits))


def _named(record: Record, named: bool) -> Record:
    return msgspec.structs.replace(record, named=named)


def with_marks(actions: tuple[Action, ...], marks: tuple[Mark, ...]) -> tuple[Action, ...]:
    """The actions, with these marks instead of those that their patch sets."""

    def edited(edit: Edit) -> Edit:
        return SetMarks(marks) if isinstance(edit, SetMarks) else edit

    return tuple(
        Patch(tuple(map(edited, action.edits))) if isinstance(action, Patch) else action
        for action in actions
    )
