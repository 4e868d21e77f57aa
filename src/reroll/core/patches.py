"""A plan to the one JSON Patch that carries it out.

The first operation tests the old record, so a decision made on an old view never wins, and changes
of status during a rollout never conflict. A test with `null` holds where nothing is there, but only
below a parent that exists; so it is also what guards each parent that has to be made.
"""

from datetime import UTC, timedelta
from typing import Any

from reroll.core.kinds import Kind, Path, Strategy
from reroll.core.plan import Plan
from reroll.core.policy import STAMP, STAMP_ENV, STATE
from reroll.core.records import write
from reroll.core.workloads import Workload

Operation = dict[str, Any]
Steps = tuple[str | int, ...]
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def pointer(*steps: str | int) -> str:
    """A JSON Pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def patch(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    """The record, and with it whatever makes the workload roll, guarded by the old record."""
    if plan.record is None:
        return []
    operations = _record(workload, write(plan.record))
    if plan.roll is not None:
        operations += _ROLL.get(plan.roll, _nothing)(workload, kind, plan)
    return operations


def writes_template(kind: Kind, operations: list[Operation]) -> bool:
    """Whether a patch changes the pod template."""
    template = pointer(*kind.template) + "/"
    return any(o["op"] != "test" and o["path"].startswith(template) for o in operations)


def _record(workload: Workload, text: str) -> list[Operation]:
    annotations: Path = ("metadata", "annotations")
    return [
        *_parent(annotations, exists=workload.has_annotations),
        _test((*annotations, STATE), workload.record_text),
        _test(("metadata", "uid"), workload.uid),
        _add((*annotations, STATE), text),
    ]


def _stamp(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    return _template_annotation(workload, kind, STAMP, plan.stamp)


def _restart(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    if plan.record is None:
        return []
    at = plan.record.at.astimezone(UTC)
    if kind.restart_at:
        # Pods are made in whole seconds and replaced if older than this: the next second is later
        # than any pod with the old content.
        at = at.replace(microsecond=0) + timedelta(seconds=1)
        return [_add(kind.restart_at, at.strftime("%Y-%m-%dT%H:%M:%SZ"))]
    # Microseconds, because a second roll in the same second has to be another value.
    value = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return _template_annotation(workload, kind, RESTARTED_AT, value)


def _env(workload: Workload, kind: Kind, plan: Plan) -> list[Operation]:
    """An environment variable of the first container."""
    container: Steps = (*kind.template, "spec", "containers", 0)
    env: Steps = (*container, "env")
    operations = [_test((*container, "name"), workload.container)]
    variable = {"name": STAMP_ENV, "value": plan.stamp}
    if workload.env is not None and STAMP_ENV in workload.env:
        index = workload.env.index(STAMP_ENV)
        return [
            *operations,
            _test((*env, index, "name"), STAMP_ENV),
            {"op": "replace", "path": pointer(*env, index), "value": variable},
        ]
    if workload.env is None:
        return [*operations, _test(env, None), _add(env, [variable])]
    return [*operations, _add((*env, "-"), variable)]


def _nothing(_workload: Workload, _kind: Kind, _plan: Plan) -> list[Operation]:
    return []


_ROLL = {Strategy.STAMP: _stamp, Strategy.ENV: _env, Strategy.RESTART: _restart}


def _template_annotation(workload: Workload, kind: Kind, name: str, value: str) -> list[Operation]:
    metadata: Path = (*kind.template, "metadata")
    annotations = (*metadata, "annotations")
    return [
        *_parent(metadata, exists=workload.has_template_metadata),
        *_parent(annotations, exists=workload.has_template_annotations),
        _add((*annotations, name), value),
    ]


def _parent(path: Path, *, exists: bool) -> list[Operation]:
    """Make the map at `path`, if it is really not there: never over somebody else's."""
    return [] if exists else [_test(path, None), _add(path, {})]


def _test(path: Steps, value: object) -> Operation:
    return {"op": "test", "path": pointer(*path), "value": value}


def _add(path: Steps, value: object) -> Operation:
    return {"op": "add", "path": pointer(*path), "value": value}
