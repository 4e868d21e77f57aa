"""The decisions about Injections: who owns a field, whether to write, what the status says.

Pure. No value becomes part of a verdict: `holds` compares values and `describe` says what kind of
value there is.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.core.model import fieldpaths
from reroll.core.model.injection import SOURCES, Condition, Injection, Status, Written
from reroll.core.model.key import Key
from reroll.core.tables.annotations import INJECTION_READERS, INJECTION_WRITERS
from reroll.core.tables.reasons import Reason

TRIES = 3
"""How often one value is written again after its field was overwritten or removed."""
MOST_CLAIMS = 100
"""Injections of one namespace that are carried out for one object."""
LONGEST_WAY = 500
"""Sources that are looked at for a way back to what an Injection reads."""


class Target(NamedTuple):
    """An object that is written to, in any version of its API."""

    group: str
    kind: str
    namespace: str
    """Empty for a cluster-scoped object."""
    name: str

    @property
    def is_source(self) -> bool:
        return not self.group and self.kind in SOURCES

    @property
    def key(self) -> Key:
        return Key(self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return str(self.key) if self.namespace else f"{self.kind} {self.name}"


def target_of(injection: Injection, *, namespaced: bool = True) -> Target:
    to = injection.spec.to
    namespace = (to.namespace or injection.key.namespace) if namespaced else ""
    return Target(to.group, to.kind, namespace, to.name)


# Conflicts between Injections


Age = tuple[str, Key]


def age(injection: Injection) -> Age:
    """Sorts the oldest first."""
    return injection.created.isoformat() if injection.created else "", injection.key


def claims(injection: Injection) -> bool:
    """Whether it can be in the way of others at all."""
    return not (injection.spec.dry_run or injection.problem or injection.deleting)


def first_claim(injection: Injection, others: Iterable[Injection]) -> Injection | None:
    """Of others with the same target, the oldest that claims this field before `injection`."""
    ahead = [
        other
        for other in others
        if other.key != injection.key
        and claims(other)
        and age(other) < age(injection)
        and fieldpaths.overlap(injection.path, other.path)
    ]
    return min(ahead, key=age, default=None)


class Consent(NamedTuple):
    """What an object must let the Injections of a namespace do."""

    of: Key
    namespace: str
    annotation: str


class Hop(NamedTuple):
    """An Injection that carries the content of one source into another."""

    source: Key
    target: Key
    by: Key

    @property
    def consents(self) -> tuple[Consent, ...]:
        """What it needs. A source that is a target always has to let itself be written to."""
        home = self.by.namespace
        written = Consent(self.target, home, INJECTION_WRITERS)
        if self.source.namespace == home:
            return (written,)
        return written, Consent(self.source, home, INJECTION_READERS)


def loop(
    target: Key,
    sources: Iterable[Key],
    writers: Callable[[Key], Iterable[Injection]],
    refused: Container[Consent] = (),
) -> list[Hop] | None:
    """The shortest way from what is written back to what is read; `None` if there is none.

    It is looked for from what is read, so that whoever may not write there is no part of any way.
    `writers`: the Injections that write to a source.
    """
    visited = set(sources)
    ways = deque((source, list[Hop]()) for source in sorted(visited))
    while ways and len(visited) <= LONGEST_WAY:
        here, hops = ways.popleft()
        if here == target:
            return hops
        for other in writers(here):
            for source in other.sources - visited:
                hop = Hop(source, here, other.key)
                if not any(consent in refused for consent in hop.consents):
                    visited.add(source)
                    ways.append((source, [hop, *hops]))
    return None


# Whether to write


def holds(observed: Any, desired: Any) -> bool:
    """Whether a value is in place; what the API server fills in beside it does not matter."""
    if isinstance(desired, dict):
        return isinstance(observed, dict) and all(
            name in observed and holds(observed[name], value) for name, value in desired.items()
        )
    if isinstance(desired, list):
        return (
            isinstance(observed, list)
            and len(observed) == len(desired)
            and all(map(holds, observed, desired))
        )
    return isinstance(observed, bool) == isinstance(desired, bool) and observed == desired


class FieldState(NamedTuple):
    """A field of a target as it is now."""

    in_place: bool
    """It holds the desired value."""
    owned: bool
    """Our field manager owns it."""


class Attempt(NamedTuple):
    write: bool
    taken_back: int
    """How often this value was overwritten or removed, this time included."""


def attempt(
    status: Status, target: Written, digest: str, generation: int, field: FieldState
) -> Attempt:
    """Whether to write a value.

    A value that we wrote and that is no longer in place was taken back. That is counted for one
    value, one spec and one object; the count starts again when any of them is another.
    """
    is_new = (
        status.digest != digest
        or status.observed_generation != generation
        or status.target is None
        or not status.target.is_same_field(target)
    )
    if field.in_place and field.owned:
        return Attempt(write=False, taken_back=0 if is_new else status.taken_back)
    if is_new:
        return Attempt(write=True, taken_back=0)
    taken_back = min(status.taken_back + (not field.in_place), TRIES + 1)
    return Attempt(write=taken_back <= TRIES, taken_back=taken_back)


# Verdicts and the status


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one reconciliation."""

    reason: Reason
    message: str
    target: Written | None = None
    """Where the value is; without one, the status keeps what it says."""
    digest: str = ""
    taken_back: int = 0
    wrote: bool = False


class BlockedError(Exception):
    """Why an Injection cannot be carried out now; no sentence holds a value."""

    def __init__(
        self, reason: Reason, message: str, taken_back: int = 0, by: Iterable[Key] = ()
    ) -> None:
        super().__init__(message)
        self.by = frozenset(by)
        """The Injections in its way."""
        self.verdict = Verdict(reason, message, taken_back=taken_back)


CONDITIONS: dict[str, frozenset[Reason]] = {
    kind: frozenset(reason for reason in Reason if reason.condition == kind)
    for kind in ("Ready", "Conflict", "SourceMissing", "Forbidden")
}
"""For each condition the reasons with which it is true."""
_FALSE = {"Conflict": "NoConflict", "SourceMissing": "SourcesFound", "Forbidden": "Allowed"}
"""The reason of a condition that is false and has nothing to tell."""


class Unwatched(NamedTuple):
    """Why changes of a target go unnoticed."""

    reason: Reason
    message: str


def status_of(
    injection: Injection, verdict: Verdict, unwatched: Unwatched | None, now: datetime
) -> Status:
    """The status after a reconciliation."""
    before, moment = injection.status, now.strftime("%Y-%m-%dT%H:%M:%SZ")
    since = {(last.type, last.status): last.last_transition_time for last in before.conditions}
    conditions = []
    for kind, reasons in CONDITIONS.items():
        is_true = verdict.reason in reasons
        reason, message = verdict.reason.word, verdict.message
        if kind == "Forbidden" and unwatched and not is_true:
            is_true, reason, message = True, unwatched.reason.word, unwatched.message
        elif not is_true and kind != "Ready":
            reason, message = _FALSE[kind], ""
        state = "True" if is_true else "False"
        at = since.get((kind, state), moment)
        conditions.append(Condition(kind, state, reason, message[:1000], at, injection.generation))
    return Status(
        observed_generation=injection.generation,
        conditions=tuple(conditions),
        target=verdict.target or before.target,
        digest=verdict.digest or before.digest,
        written=moment if verdict.wrote else before.written,
        taken_back=verdict.taken_back,
    )


def is_ready(status: Status) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in status.conditions)


def describe(value: Any) -> str:
    """A value as people may see it: its type. Its size would tell of a password."""
    match value:
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
