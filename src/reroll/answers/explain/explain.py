"""One decision, taken apart: which sources a workload uses and how, and what each gate said.

Pure. The decision is the engine's; nothing is decided here.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from reroll.core.decide.chains import Answer, answers, decide
from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import Dialects
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.compare import compare
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.snapshot import Absence, Comparison, Snapshot
from reroll.core.policy.references import Use
from reroll.core.tables.reasons import Reason


class State(StrEnum):
    """What a source holds, against what the workload last rolled with."""

    SAME = "as recorded"
    CHANGED = "changed since"
    NEW = "not recorded yet"
    MISSING = "missing"
    ABSENT = "absent, allowed"
    UNREAD = "not known"
    IGNORED = "does not count"
    PRESENCE = "only has to exist"


class Source(NamedTuple):
    """Everything about one source that a workload uses."""

    key: Key
    state: State
    uses: tuple[Use, ...]
    """In its pod template; none if only an annotation names it."""
    reference: Reference | None
    """`None` if it does not count."""
    last: Write | None
    """Who wrote what it uses of it, as far as that is known."""
    why: str = ""


class Explanation(NamedTuple):
    sources: tuple[Source, ...]
    answers: tuple[Answer, ...]
    plan: Plan
    if_in: Plan | None
    """What would happen if it were opted in now; `None` if it is."""
    record: Record | None


def explain(
    snapshot: Snapshot,
    plan: Plan,
    writes: Mapping[Key, Writes],
    now: datetime,
    dialects: Dialects,
) -> Explanation:
    """Take `plan`, the decision on `snapshot`, apart."""
    comparison = compare(snapshot)
    if_in = None
    if snapshot.policy.enabled is not True:
        supposed = msgspec.structs.replace(snapshot.policy, enabled=True)
        seen = msgspec.structs.replace(snapshot, policy=supposed, records_known=True)
        if_in = decide(seen, now, dialects)
    return Explanation(
        sources=tuple(_sources(snapshot, comparison, writes)),
        answers=tuple(_gates(snapshot, plan, now, dialects)),
        plan=plan,
        if_in=if_in,
        record=snapshot.record,
    )


def _gates(snapshot: Snapshot, plan: Plan, now: datetime, dialects: Dialects) -> Iterator[Answer]:
    """What each gate said, in the words that the evidence about its pods allows."""
    for one in answers(snapshot, now, dialects):
        is_said = one.holds and one.message == Reason.UP_TO_DATE.sentence
        yield one._replace(message=plan.message) if is_said else one


def _sources(seen: Snapshot, found: Comparison, writes: Mapping[Key, Writes]) -> Iterator[Source]:
    home = seen.workload.key.namespace
    counted = {reference.source: reference for reference in seen.references}
    uses: dict[Key, list[Use]] = {}
    for use in seen.workload.uses:
        uses.setdefault(Key(use.kind, home, use.name), []).append(use)
    for key in sorted(counted.keys() | uses):
        reference = counted.get(key)
        state, why = _state(seen, found, key, reference)
        keys = reference.keys if reference else _keys(uses[key])
        last = writes[key].last(keys) if key in writes else None
        yield Source(key, state, tuple(uses.get(key, ())), reference, last, why)


def _keys(uses: Iterable[Use]) -> frozenset[str] | None:
    parts = [use.keys for use in uses]
    return None if None in parts else frozenset().union(*(part for part in parts if part))


def _state(
    seen: Snapshot, found: Comparison, key: Key, reference: Reference | None
) -> tuple[State, str]:
    if reference is None:
        return State.IGNORED, _why_not(seen, key)
    content = seen.sources.get(key, Absence.UNREAD)
    there = content if isinstance(content, Content) else None
    if reference in found.missing:
        lacks = reference.required_keys - there.keys if there else ()
        return State.MISSING, f"no {', '.join(sorted(lacks))} in it" if lacks else ""
    if content is Absence.MISSING:
        return State.ABSENT, "" if reference.added else "it is optional"
    if there is None or reference in found.unread:
        return State.UNREAD, "" if isinstance(content, Content) else content.value
    if not reference.counted(there):
        return State.IGNORED, "an annotation on it says so"
    if reference.only_presence_matters:
        return State.PRESENCE, "its mounts are live"
    if any(change.reference is reference for change in found.changes):
        return State.CHANGED, ""
    entry = reference.entry(seen.workload.key.namespace)
    known = seen.record is not None and entry in seen.record.s
    return (State.SAME if known else State.NEW), ""


def _why_not(seen: Snapshot, key: Key) -> str:
    home = seen.workload.key.namespace
    if any(pattern.matches(key, home) for pattern in seen.policy.ignore):
        return "an annotation says to ignore it"
    by = ", ".join(seen.policy.by)
    return f"what opted it in ({by}) does not ask for it" if by else ""
