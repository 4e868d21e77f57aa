"""How a rollout goes, as a status tells: how many pods, what it waits for, whether it failed.

Pure. The kinds differ in where their status counts what; that is a column of their table.
"""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from reroll.core.model.metadata import Fields, Manifest
from reroll.core.model.podspec import given
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.observe.progress import is_observed
from reroll.core.tables.kinds import Counts, Kind


class State(StrEnum):
    GOES_ON = "goes on"
    DONE = "done"
    FAILED = "failed"


class Health(msgspec.Struct, frozen=True, gc=False):
    state: State
    message: str = ""
    """What it waits for, or why it failed."""
    total: int = 0
    updated: int = 0
    """Pods of the newest template."""
    ready: int = 0
    replacing: bool = False
    """Pods are being replaced, rather than just not ready."""
    complete_once: bool = True
    """The rollout of its present template was complete at some time, or that is not known."""
    lent: int = 0
    """The generation of another workload's template that it has seen, if it runs one."""
    unmade: str = ""
    """Why its controller cannot make pods, as by a quota; nothing if it can, or does not say."""

    patience: int = 0
    """Seconds without progress after which its controller gave up; 0: it gave up for another
    reason, or did not."""
    idle: bool = False
    """No pod is there to be replaced: none is wanted, or a partition keeps all of them."""

    @property
    def is_over(self) -> bool:
        return self.state is not State.GOES_ON

    @property
    def is_unnoticed(self) -> bool:
        """Its controller has not seen the last write, which may be one of a record alone."""
        return self.message == UNNOTICED

    @property
    def replaces(self) -> bool:
        """Whether pods are seen to be replaced: a change that nobody noticed yet may need none."""
        return self.replacing and not self.is_unnoticed

    def seen_by(self, lent: int) -> "Health":
        """The health of the workload whose template it runs, at this generation of that."""
        if self.state is State.FAILED or lent <= self.lent:
            return self
        return Health(
            State.GOES_ON, UNNOTICED, self.total, 0, self.ready,
            replacing=True, complete_once=False, unmade=self.unmade,
        )  # fmt: skip


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int | None = msgspec.field(default=None, name="observedGeneration")


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    message: str = ""


_decoder = msgspec.json.Decoder(_Status)
HEALTHY = frozenset(("", "Healthy"))
_FAILED = "Degraded"


def health(kind: Kind, manifest: Manifest) -> Health:
    """How the rollout of a workload goes, by its status."""
    counts = kind.counts
    if counts is None:
        return _condition(kind, manifest)
    fields, status = Fields(manifest), _status(manifest)
    ready, total = fields.number(counts.available), fields.number(kind.replicas)
    wanted = total - fields.number(counts.partition)
    facts = Health(
        State.GOES_ON, "", total, 0, ready,
        lent=_number(fields.text(counts.lent)), unmade=_unmade(status), idle=wanted <= 0,
    )  # fmt: skip
    is_seen = is_observed(manifest.status, manifest.metadata.generation)
    if kind.observes and not is_seen:
        return replace(facts, message=UNNOTICED, **_UNDER_WAY)
    there, updated = fields.number(counts.there), fields.number(counts.updated)
    facts = replace(facts, updated=updated, complete_once=_complete_once(fields, status))
    if is_seen and (trouble := _trouble(counts, fields, status)):
        patience = _patience(fields) if trouble.startswith(_TIMED_OUT) else 0
        return replace(facts, state=State.FAILED, message=trouble, patience=patience)
    if waits := _replacing(wanted, total, updated, there):
        return replace(facts, message=waits + _pause(counts, fields, status), **_UNDER_WAY)
    waits = f"{ready} of {total} pods are ready" if ready < total else ""
    waits = waits or _word(kind, counts, fields, status) or _unwell(kind, manifest)
    return replace(facts, message=waits, state=State.GOES_ON if waits else State.DONE)


_UNDER_WAY = {"replacing": True, "complete_once": False}
UNNOTICED = "the change has not been noticed yet"


def _condition(kind: Kind, manifest: Manifest) -> Health:
    """Of a kind whose status counts no pods."""
    if kind.observes and not is_observed(manifest.status, manifest.metadata.generation):
        return Health(State.GOES_ON, UNNOTICED, replacing=True)
    waits = _unwell(kind, manifest)
    return Health(State.GOES_ON if waits else State.DONE, waits, replacing=bool(waits))


def _unwell(kind: Kind, manifest: Manifest) -> str:
    """What its condition says, as long as that is not what it shall say."""
    wanted = kind.well
    if wanted is None:
        return ""
    found = next((c for c in given(_status(manifest).conditions) if c.type == wanted.type), None)
    if found is None:
        return f"its status has no condition {wanted.type} yet"
    if found.observed_generation and found.observed_generation < manifest.metadata.generation:
        return UNNOTICED
    if found.status == wanted.status:
        return ""
    why = ": ".join(filter(None, (found.reason, found.message[:200])))
    return f"{wanted.type} is {found.status}" + (f" ({why})" if why else "")


def _replacing(wanted: int, total: int, updated: int, there: int) -> str:
    """Which pods are still to be replaced; nothing if none is."""
    if updated < wanted:
        return f"{updated} of {wanted} pods are new"
    old = there - updated
    # With a partition, old pods are there to stay.
    return f"{old} old {_pods(old)} not gone yet" if old > 0 and wanted == total else ""


def _pause(counts: Counts, fields: Fields, status: _Status) -> str:
    return f" (paused: {status.message})" if fields.text(counts.phase) == "Paused" else ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def _pods(number: int) -> str:
    return "pod is" if number == 1 else "pods are"


def _word(kind: Kind, counts: Counts, fields: Fields, status: _Status) -> str:
    """What its controller says beside the numbers; nothing if all is well."""
    phase = fields.text(counts.phase)
    if phase not in HEALTHY:
        return f"it is {phase.lower()}" + (f": {status.message}" if status.message else "")
    if kind.restart_at and fields.text(kind.restart_at) != fields.text(kind.restarted_at):
        return "its pods are being restarted"
    return ""


def _trouble(counts: Counts, fields: Fields, status: _Status) -> str:
    """Why its controller gave up; nothing if it did not."""
    for one in given(status.conditions):
        if one.type == "Progressing" and one.status == "False":
            return f"{one.reason}: {one.message}" if one.message else one.reason
    if fields.text(counts.phase) == _FAILED:
        return status.message or _FAILED
    return ""


_TIMED_OUT = "ProgressDeadlineExceeded"


def _patience(fields: Fields) -> int:
    seconds = fields.number(("spec", "progressDeadlineSeconds"))
    return min(max(seconds, 0), 2**31 - 1)


_COMPLETE = "NewReplicaSetAvailable"
"""The reason of the condition `Progressing` from when a rollout is complete until the next one."""


_CURRENT, _UPDATE = ("status", "currentRevision"), ("status", "updateRevision")


def _complete_once(fields: Fields, status: _Status) -> bool:
    """By the condition of a Deployment, or by the two revisions of a StatefulSet."""
    current, update = fields.text(_CURRENT), fields.text(_UPDATE)
    conditions = given(status.conditions)
    found = next((one for one in conditions if one.type == "Progressing"), None)
    is_other = bool(current and update) and current != update
    return not is_other and (found is None or found.reason == _COMPLETE)


def _unmade(status: _Status) -> str:
    """What a controller says that the API server lets make no pods."""
    for one in given(status.conditions):
        if one.type == "ReplicaFailure" and one.status == "True":
            return ": ".join(filter(None, (one.reason, one.message[:200])))
    return ""


def _status(manifest: Manifest) -> _Status:
    try:
        return _decoder.decode(manifest.status or b"{}")
    except UNREADABLE:
        return _Status()
