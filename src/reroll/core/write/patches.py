"""Edits of a workload as the one JSON Patch that carries them out.

The first operation tests the old record, so a decision made on an old view never wins, and changes
of status during a rollout never conflict. A test with `null` holds where nothing is there, but only
below a parent that exists; so it is also what guards each parent that has to be made.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from reroll.core.decide.actions import (
    Edit,
    Pause,
    Pin,
    Restart,
    Resume,
    SetMarks,
    SetPartition,
    WriteRecord,
)
from reroll.core.model.marks import Carrier, Mark, own_mark, written
from reroll.core.model.record import write
from reroll.core.observe.workload import Workload
from reroll.core.revisions.pins import PINS
from reroll.core.tables.annotations import HOLD, STATE
from reroll.core.tables.kinds import Kind, Path

Operation = dict[str, Any]
Steps = tuple[str | int, ...]
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@lru_cache(maxsize=1024)
def pointer(*steps: str | int) -> str:
    """A JSON Pointer; there are few of them, and each is needed for every roll."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class _Draft:
    """A patch as it grows: what earlier edits made is there for later ones."""

    __slots__ = ("changes_template", "kind", "operations", "workload")

    def __init__(self, workload: Workload, kind: Kind) -> None:
        self.workload, self.kind = workload, kind
        self.operations: list[Operation] = []
        self.changes_template = False


def patch(workload: Workload, kind: Kind, edits: Iterable[Edit]) -> list[Operation]:
    """The record, and with it whatever makes the workload roll, guarded by the old record."""
    draft = _Draft(workload, kind)
    for edit in edits:
        _EDITS[type(edit)](draft, edit)
    return draft.operations


def writes_template(kind: Kind, operations: list[Operation]) -> bool:
    """Whether a patch changes the pod template, or what its controller makes one of.

    Or which pods get it.
    """
    paths = (kind.template, *((kind.stamp.path,) if kind.stamp else ()))
    places = tuple(pointer(*path) + "/" for path in paths if path and path[0] != "metadata")
    if kind.counts and kind.counts.partition:
        places += (pointer(*kind.counts.partition),)
    return any(o["op"] != "test" and o["path"].startswith(places) for o in operations)


def _record(draft: _Draft, edit: WriteRecord) -> None:
    workload, annotations = draft.workload, _ANNOTATIONS
    hold = [_test((*annotations, HOLD), workload.annotations.get(HOLD))] if edit.unless_held else []
    draft.operations += [
        *_parent(annotations, exists=workload.has_annotations),
        _test((*annotations, STATE), workload.record_text),
        _test(("metadata", "uid"), workload.uid),
        *hold,
        _add((*annotations, STATE), write(edit.record)),
    ]
    draft.workload = msgspec.structs.replace(workload, has_annotations=True)


def _pins(draft: _Draft, edit: Pin) -> None:
    """The copies that pods of the template use. Nobody else's choice is written over unseen."""
    workload, kind = draft.workload, draft.kind
    is_new = bool(edit.renames) or (edit.pins or None) != workload.pins_text
    if not edit.pins and not is_new:
        return
    metadata: Path = (*kind.template, "metadata")
    annotations = (*metadata, "annotations")
    here = (*annotations, PINS)
    draft.operations += [
        *_parent(metadata, exists=workload.has_template_metadata),
        *_parent(annotations, exists=workload.has_template_annotations),
        _test(here, workload.pins_text),
    ]
    if edit.pins:
        draft.operations.append(_add(here, edit.pins))
    elif workload.pins_text is not None:
        draft.operations.append(_remove(here))
    for rename in edit.renames:
        field: Steps = (*kind.template, "spec", *rename.steps)
        draft.operations += [_test(field, rename.plain), _add(field, rename.copy)]
    draft.changes_template = is_new
    draft.workload = msgspec.structs.replace(
        workload, has_template_metadata=True, has_template_annotations=True
    )


def _restart(draft: _Draft, edit: Restart) -> None:
    kind = draft.kind
    if kind.restart_at and draft.changes_template:
        return  # A changed template replaces the pods already.
    if kind.restart_at:
        # Pods are made in whole seconds and replaced if older than this: the next second is later
        # than any pod with the old content.
        at = edit.at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
        draft.operations.append(_add(kind.restart_at, at.strftime(_SECONDS)))
        return
    mark = Mark(RESTARTED_AT, written(edit.at))
    if kind.stamp and kind.stamp.restarts:
        mark = own_mark(kind.stamp, "", edit.at)
    draft.operations += _annotated(draft.workload, kind, [mark])


def _set_marks(draft: _Draft, edit: SetMarks) -> None:
    draft.operations += _marks(draft.workload, draft.kind, edit.marks)


def _pause(draft: _Draft, edit: Pause) -> None:
    """Keep a roll back, and say since when. A pause that is not ours stays."""
    still, at = draft.kind.still, edit.at.astimezone(UTC).strftime(_SECONDS)
    mark: Path = (*_ANNOTATIONS, edit.mark)
    draft.operations += [_test(still, None), _add(still, value=True), _add(mark, at)]


def _resume(draft: _Draft, edit: Resume) -> None:
    still, workload = draft.kind.still, draft.workload
    mark: Path = (*_ANNOTATIONS, edit.mark)
    draft.operations += [_test(mark, workload.annotations.get(edit.mark)), _remove(mark)]
    if workload.still:
        draft.operations += [_test(still, value=True), _remove(still)]


def _partition(draft: _Draft, edit: SetPartition) -> None:
    counts = draft.kind.counts
    if counts and edit.was != edit.to:
        draft.operations += [_test(counts.partition, edit.was), _add(counts.partition, edit.to)]


_ANNOTATIONS: Path = ("metadata", "annotations")
_SECONDS = "%Y-%m-%dT%H:%M:%SZ"
_EDITS: dict[type[Edit], Callable[[_Draft, Any], None]] = {
    WriteRecord: _record,
    Pin: _pins,
    Restart: _restart,
    SetMarks: _set_marks,
    Pause: _pause,
    Resume: _resume,
    SetPartition: _partition,
}


def _marks(workload: Workload, kind: Kind, marks: tuple[Mark, ...]) -> list[Operation]:
    notes = [mark for mark in marks if mark.container is None]
    operations = _annotated(workload, kind, notes)
    for place in sorted({mark.container for mark in marks if mark.container is not None}):
        variables = [mark for mark in marks if mark.container == place]
        # A template that cannot be read has none: then the test of its name fails.
        known = workload.containers[place : place + 1] or (Carrier("", None),)
        operations += _environment(known[0], kind, place, variables)
    return operations


def _annotated(workload: Workload, kind: Kind, marks: list[Mark]) -> list[Operation]:
    """Annotations of the template, or where else its kind has them written."""
    if not marks:
        return []
    if kind.stamp:
        return _placed(workload, kind.stamp.path, marks)
    metadata: Path = (*kind.template, "metadata")
    annotations = (*metadata, "annotations")
    return [
        *_parent(metadata, exists=workload.has_template_metadata),
        *_parent(annotations, exists=workload.has_template_annotations),
        *(step for mark in marks for step in _annotation(workload, annotations, mark)),
    ]


def _annotation(workload: Workload, annotations: Path, mark: Mark) -> list[Operation]:
    path = (*annotations, mark.name)
    if mark.value is not None:
        return [_add(path, mark.value)]
    return [_remove(path)] if mark.name in workload.marks else []


def _placed(workload: Workload, path: Path, marks: list[Mark]) -> list[Operation]:
    """Annotations at a path of the workload itself, whatever of it is not there yet."""
    lacks = int(not workload.has_annotations) if path[0] == "metadata" else workload.lacks
    there = len(path) - lacks
    parents = [path[:length] for length in range(there + 1, len(path) + 1)]
    return [
        *(step for parent in parents for step in _parent(parent, exists=False)),
        *(_add((*path, mark.name), mark.value) for mark in marks),
    ]


def _environment(carrier: Carrier, kind: Kind, place: int, marks: list[Mark]) -> list[Operation]:
    """Variables of one container. Names are tested, so no other variable is ever written over."""
    container: Steps = (*kind.template, "spec", "containers", place)
    env: Steps = (*container, "env")
    known = carrier.env or ()
    operations = [_test((*container, "name"), carrier.name)]
    new = [mark for mark in marks if mark.name not in known and mark.value is not None]
    if carrier.env is None and new:
        operations += [_test(env, None), _add(env, [])]
    # From the end, so that taking one away moves none of the others.
    for mark in sorted(marks, key=lambda m: known.index(m.name) if m.name in known else -1)[::-1]:
        if mark.name in known:
            operations += _variable((*env, known.index(mark.name)), mark)
    return operations + [_add((*env, "-"), _named(mark)) for mark in new]


def _variable(path: Steps, mark: Mark) -> list[Operation]:
    guard = _test((*path, "name"), mark.name)
    if mark.value is None:
        return [guard, _remove(path)]
    return [guard, {"op": "replace", "path": pointer(*path), "value": _named(mark)}]


def _named(mark: Mark) -> dict[str, str | None]:
    return {"name": mark.name, "value": mark.value}


def _parent(path: Path, *, exists: bool) -> list[Operation]:
    """Make the map at `path`, if it is really not there: never over somebody else's."""
    return [] if exists else [_test(path, None), _add(path, {})]


def _test(path: Steps, value: object) -> Operation:
    return {"op": "test", "path": pointer(*path), "value": value}


def _add(path: Steps, value: object) -> Operation:
    return {"op": "add", "path": pointer(*path), "value": value}


def _remove(path: Steps) -> Operation:
    return {"op": "remove", "path": pointer(*path)}
