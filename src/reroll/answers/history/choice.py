"""Which revision of a workload is meant, and the pins that its template would have with it."""

from typing import NamedTuple

from reroll.answers.errors import AnswerError
from reroll.answers.history.gather_revisions import RevisedWorkload, missing_copies
from reroll.answers.history.revisions import RevisionTemplate, SourceName, pins_for, select_revision
from reroll.core.model.record import Record
from reroll.core.revisions.pins import read_pins
from reroll.kube.view import View


class Choice(NamedTuple):
    revision: RevisionTemplate
    pins: dict[SourceName, str]
    is_there: bool
    """The workload has this content already."""


async def choose(view: View, revised: RevisedWorkload, text: str) -> Choice:
    """By its number, its name, or `previous`; an `AnswerError` says why none can be used."""
    workload = revised.own.workload
    revision = _selected(revised, text)
    if revision is None:
        known = ", ".join(f"{one.number} ({one.name})" for one in revised.revisions)
        raise AnswerError(f"{workload.key} has no revision {text!r}; it has {known or 'none'}")
    pins = pins_for(workload.pins, revision)
    _check(revised, revision, pins)
    gone = await missing_copies(view, workload.key.namespace, pins)
    if gone:
        which = f"revision {revision.number} of {workload.key}"
        raise AnswerError(f"{which} cannot be used: {', '.join(gone)} is gone")
    return Choice(revision, pins, pins == workload.pins)


def before_this(revised: RevisedWorkload) -> int | None:
    """The number of the revision that `previous` means, if there is one."""
    found = _selected(revised, "previous")
    return found.number if found else None


def _selected(revised: RevisedWorkload, text: str) -> RevisionTemplate | None:
    record = revised.own.workload.record
    is_held = isinstance(record, Record) and record.held
    left = read_pins(record.pins or "") if isinstance(record, Record) and is_held else {}
    return select_revision(revised.revisions, text, left)


def _check(
    revised: RevisedWorkload, revision: RevisionTemplate, pins: dict[SourceName, str]
) -> None:
    key = revised.own.workload.key
    if not pins:
        raise AnswerError(
            f'{key} is not pinned; annotate it with `reroll.dev/revisions: "true"` first'
        )
    if not any(source in revision.pins for source in pins):
        raise AnswerError(
            f"revision {revision.number} of {key} is from before it was pinned, so its content is "
            "not known; `kubectl rollout undo` brings back the rest of it"
        )
