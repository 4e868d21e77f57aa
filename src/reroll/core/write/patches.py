"""A plan to the one JSON Patch that carries it out.

The first operation tests the old record, so a decision made on an old view never wins, and changes
of status during a rollout never conflict. A test with `null` holds where nothing is there, but only
below a parent that exists; so it is also what guards each parent that has to be made.
"""

from datetime import UTC, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.model.marks import Carrier, Mark, own_mark, written
from reroll.core.model.record import write
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Pause
from reroll.core.revisions.pins import PINS
from reroll.core.tables.annotations import HOLD, STATE
from reroll.core.tables.kinds import Kind, Path, Strategy

Operation = dict[str, Any]
Steps = tuple[str | int, ...]
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@lru_cache(maxsize=1024)
def pointer(*steps: str | int) -> str:
    """A JSON Pointer; there are few of them, and each is needed for every roll."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def patch(
    workload: Workload, kind: Kind, plan: Plan, pause: Pause | None = None
) -> list[Operation]:
    """The record, and with it whatever makes the workload roll, guarded by the old record."""
    operations = _record(workload, write(plan.record), plan) if plan.record else []
    if operations:
        workload = msgspec.structs.replace(workload, has_annotations=True)
    is_new = bool(plan.renames) or (
        plan.pins is not None and (plan.pins or None) != workload.pins_text
    )
    if plan.pins or is_new:
        operations += _pins(workload, kind, plan)
        workload = msgspec.structs.replace(
            workload, has_template_metadata=True, has_template_annotations=True
        )
    if plan.roll is Strategy.RESTART and not (kind.restart_at and is_new):
        # A changed template replaces the pods already.
        operations += _restart(workload, kind, plan)
    elif plan.roll in _MARKED:
        operations += _marks(workload, kind, plan.marks)
    if pause is not None and plan.pause is not None:
        operations += _pause(workload, kind, plan, pause)
    return operations


def _pause(workload: Workload, kind: Kind, plan: Plan, pause: Pause) -> list[Operation]:
    """Keep a roll back, and tell since when; or let it go. Somebody else's pause stays."""
    mark: Path = ("metadata", "annotations", pause.mark)
    if plan.pause and plan.record:
        at = plan.record.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return [_test(kind.still, None), _add(kind.still, value=True), _add(mark, at)]
    guard = _test(mark, workload.annotations.get(pause.mark))
    done = [guard, {"op": "remove", "path": pointer(*mark)}]
    if workload.still:
        done += [_test(kind.still, value=True), {"op": "remove", "path": pointer(*kind.still)}]
    return done


def writes_template(kind: Kind, operations: list[Operation]) -> bool:
    """Whether a patch changes the pod template, or what its controller makes one of."""
    paths = (kind.template, *((kind.stamp.path,) if kind.stamp else ()))
    places = tuple(pointer(*path) + "/" for path in paths if path and path[0] != "metadata")
    return any(o["op"] != "test" and o["path"].startswith(places) for o in operations)


def _record(workload: Workload, text: str, plan: Plan) -> list[Operation]:
    annotations: Path = ("metadata", "annotations")
    # Somebody may have held it since, and that must not come too late.
    hold = [_test((*annotations, HOLD), workload.annotations.get(HOLD))] if plan.roll else []
    return [
        *_parent(annotations, exists=workload.has_annotations),
        _test((*annotations, STATE), workload.record_text),
        _test(("metadata", "uid"), workload.uid),
        *hold,
        _add((*annotations, STATE), text),
    ]


def _restart(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    moment = plan.record.at if plan.record else plan.at
    if moment is None:
        return []
    at = moment.astimezone(UTC)
    if kind.restart_at:
        # Pods are made in whole seconds and replaced if older than this: the next second is later
        # than any pod with the old content.
        at = at.replace(microsecond=0) + timedelta(seconds=1)
        return [_add(kind.restart_at, at.strftime("%Y-%m-%dT%H:%M:%SZ"))]
    if kind.stamp and kind.stamp.restarts:
        return _annotated(workload, kind, [own_mark(kind.stamp, "", moment)])
    return _annotated(workload, kind, [Mark(RESTARTED_AT, written(moment))])


def _pins(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    """The copies that pods of the template use. Nobody else's choice is written over unseen."""
    metadata: Path = (*kind.template, "metadata")
    annotations = (*metadata, "annotations")
    here = (*annotations, PINS)
    operations = [
        *_parent(metadata, exists=workload.has_template_metadata),
        *_parent(annotations, exists=workload.has_template_annotations),
        _test(here, workload.pins_text),
    ]
    if plan.pins:
        operations.append(_add(here, plan.pins))
    elif workload.pins_text is not None:
        operations.append({"op": "remove", "path": pointer(*here)})
    for one in plan.renames:
        field: Steps = (*kind.template, "spec", *one.steps)
        operations += [_test(field, one.plain), _add(field, one.copy)]
    return operations


_MARKED = frozenset((Strategy.STAMP, Strategy.ENV))


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
        *(_add((*annotations, mark.name), mark.value) for mark in marks),
    ]


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
        return [guard, {"op": "remove", "path": pointer(*path)}]
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
