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
    wanted = max(0, total - number_at(manifest, counts.partition))
    old = there - updated if wanted == total else 0
    if not is_observed(manifest.status, manifest.metadata.generation) or (
        lent and lent > _number(text_at(manifest, counts.lent))
    ):
        waits = "the change has not been noticed yet"
        updated = 0
    elif updated < wanted:
        waits = f"{updated} of {wanted} pods are new"
    elif old > 0:
        waits = f"{old} old {_pods(old)} not gone yet"
    else:
        waits = f"{ready} of {total} pods are ready" if ready < total else ""
        waits = waits or _word(kind, counts, manifest)
        state = State.GOES_ON if waits else State.DONE
        return Health(state, waits, total, updated, ready)
    return Health(State.GOES_ON, waits, total, updated, ready, replacing=True)


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
