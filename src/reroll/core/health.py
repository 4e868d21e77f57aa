"""How a rollout goes, as a status tells: how many pods, what it waits for, whether it failed.

Pure. The kinds differ in where their status counts what; that is a column of their table.
"""

from enum import StrEnum

import msgspec

from reroll.core.kinds import Counts, Kind
from reroll.core.pods import given
from reroll.core.progress import is_observed
from reroll.core.workloads import Manifest, number_at, replicas, text_at


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


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    message: str = ""


HEALTHY = frozenset(("", "Healthy"))
_FAILED = "Degraded"


def health(kind: Kind, manifest: Manifest, *, lent: int = 0) -> Health:
    """Of a workload as it was fetched after its roll.

    `lent`: the generation of the workload whose template it runs, if it is another one's.
    """
    counts = kind.counts
    if counts is None:
        return Health(State.DONE)
    there, updated, ready = (
        number_at(manifest, path) for path in (counts.there, counts.updated, counts.available)
    )
    total = replicas(kind, manifest)
    if trouble := _trouble(counts, manifest):
        return Health(State.FAILED, trouble, total, updated, ready)
    observed = is_observed(manifest.status, manifest.metadata.generation)
    if not observed or lent > _number(text_at(manifest, counts.lent)):
        told = "the change has not been noticed yet"
        return Health(State.GOES_ON, told, total, 0, ready, replacing=True)
    if waits := _replacing(total - number_at(manifest, counts.partition), total, updated, there):
        told = waits + _pause(counts, manifest)
        return Health(State.GOES_ON, told, total, updated, ready, replacing=True)
    waits = f"{ready} of {total} pods are ready" if ready < total else ""
    waits = waits or _word(kind, counts, manifest)
    return Health(State.GOES_ON if waits else State.DONE, waits, total, updated, ready)


def _replacing(wanted: int, total: int, updated: int, there: int) -> str:
    """Which pods are still to be replaced; nothing if none is."""
    if updated < wanted:
        return f"{updated} of {wanted} pods are new"
    old = there - updated
    # With a partition, old pods are there to stay.
    return f"{old} old {_pods(old)} not gone yet" if old > 0 and wanted == total else ""


def _pause(counts: Counts, manifest: Manifest) -> str:
    if text_at(manifest, counts.phase) != "Paused":
        return ""
    return f" (paused: {_status(manifest).message})"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def _pods(number: int) -> str:
    return "pod is" if number == 1 else "pods are"


def _word(kind: Kind, counts: Counts, manifest: Manifest) -> str:
    """What its controller says beside the numbers; nothing if all is well."""
    phase = text_at(manifest, counts.phase)
    if phase not in HEALTHY:
        told = _status(manifest).message
        return f"it is {phase.lower()}" + (f": {told}" if told else "")
    if kind.restart_at and text_at(manifest, kind.restart_at) != text_at(
        manifest, kind.restarted_at
    ):
        return "its pods are being restarted"
    return ""


def _trouble(counts: Counts, manifest: Manifest) -> str:
    """Why its controller gave up; nothing if it did not, or speaks of an earlier change."""
    if not is_observed(manifest.status, manifest.metadata.generation):
        return ""
    status = _status(manifest)
    for one in given(status.conditions):
        if one.type == "Progressing" and one.status == "False":
            return f"{one.reason}: {one.message}" if one.message else one.reason
    if text_at(manifest, counts.phase) == _FAILED:
        return status.message or _FAILED
    return ""


def _status(manifest: Manifest) -> _Status:
    try:
        return msgspec.json.decode(manifest.status or b"{}", type=_Status)
    except (msgspec.DecodeError, RecursionError):
        return _Status()
