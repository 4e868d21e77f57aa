"""Holds: an annotation that keeps a workload or a namespace from rolling, set and removed.

It is written with the rights of whoever asks. Releasing also lets go of a revision that a workload
is held at.
"""

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple

from reroll.core.decide.pin_state import released
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read, write
from reroll.core.policy.durations import parse_duration, parse_time
from reroll.core.tables.annotations import HOLD, STATE
from reroll.core.write.patches import Operation, pointer
from reroll.engine.content import Stub
from reroll.kube import api, wire
from reroll.kube.errors import ApiError, Conflict, Invalid, NotFound
from reroll.kube.view import View

LONGEST = timedelta(days=3650)


class HoldError(ValueError):
    """A reason or a time that cannot be used."""


class Target(NamedTuple):
    resource: wire.Resource
    namespace: str | None
    name: str

    @property
    def key(self) -> Key:
        return Key(self.resource.kind, self.namespace or "", self.name)

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {place}{self.name}"


class Result(NamedTuple):
    target: Target
    before: str
    after: str
    problem: str = ""
    let_go: bool = False
    """It was held at a revision, and is no longer."""

    @property
    def is_changed(self) -> bool:
        return bool(self.before) or self.let_go


class Change(NamedTuple):
    value: str | None
    """What the annotation says; `None`: it is removed."""
    now: datetime
    dry_run: bool = False


def value_of(until: str | None, reason: str, now: datetime) -> str:
    """What the annotation says."""
    why = " ".join(reason.split())
    if why.lower() in {"true", "false"}:
        raise HoldError(f"--reason: {reason!r} is not a reason; say it in words")
    if until is None:
        return why or "true"
    length = parse_duration(until)
    moment = now + length if length is not None and length <= LONGEST else parse_time(until)
    if moment is None:
        raise HoldError(
            f'--until: {until!r} is neither a time nor a duration; use "2026-11-16T09:00:00Z" '
            'or "2h"'
        )
    if moment <= now:
        raise HoldError(f"--until: {until} is over already")
    return f"until {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} {why}".strip()


async def annotate(view: View, target: Target, change: Change) -> Result:
    resource, namespace, name = target
    value, is_real = change.value, not change.dry_run
    try:
        stub = await api.get(view.client, resource, namespace, name, Stub)
        annotations = stub.metadata.annotations or {}
        before = annotations.get(HOLD, "")
        record = released(read(annotations.get(STATE)), change.now) if value is None else None
        if record and is_real:
            await _let_go(view, target, annotations[STATE], record)
        if before != (value or "") and is_real:
            body = {"metadata": {"annotations": {HOLD: value}}}
            await api.merge(view.client, resource, namespace, name, body, Stub)
    except NotFound:
        return Result(target, "", "", await _missing(view, target))
    except ApiError as error:
        return Result(target, "", "", str(error))
    return Result(target, before, value or "", let_go=record is not None)


async def _let_go(view: View, target: Target, text: str, record: Record) -> None:
    """Release a workload that is held at a revision: its record says so to the next roll."""
    path = pointer("metadata", "annotations", STATE)
    operations: list[Operation] = [
        {"op": "test", "path": path, "value": text},
        {"op": "add", "path": path, "value": write(record)},
    ]
    try:
        await api.patch(view.client, *target, operations, Stub)
    except Invalid:
        raise Conflict(f"{target} is being rolled at this moment; try again") from None


async def _missing(view: View, target: Target) -> str:
    others = await view.every(target.resource, Stub, metadata_only=True)
    near = get_close_matches(target.name, [one.metadata.name for one in others], 3)
    word = target.resource.kind.lower()
    hint = f"; did you mean {' or '.join(f'{word}/{name}' for name in near)}?" if near else ""
    return f"there is no {target}{hint}"
