"""What follows from Injections: who is in whose way, what is written, what is told.

Pure. Whether a value that is not there any more may be written again is decided here too. No value
is a part of any of it, but in `holds`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.core.model import fieldpaths
from reroll.core.model.injection import SOURCES, Condition, Injection, Status, Written
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason

TRIES = 3
"""How often a field that somebody took back is written again, for one value."""


# Who is in whose way


class Target(NamedTuple):
    """An object that is written to, whatever version of its API somebody names."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def is_source(self) -> bool:
        return not self.group and self.kind in SOURCES

    @property
    def key(self) -> Key:
        return Key(self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else self.label

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}"


def first_claim(one: Injection, others: Iterable[Injection]) -> Injection | None:
    """Of the others with the same target, one that wrote to this place first."""
    ahead = [
        other
        for other in others
        if other.key != one.key
        and not other.spec.dry_run
        and not other.problem
        and not other.deleting
        and _age(other) < _age(one)
        and fieldpaths.overlap(one.path, other.path)
    ]
    return min(ahead, key=_age, default=None)


def _age(one: Injection) -> tuple[str, Key]:
    return one.created.isoformat() if one.created else "", one.key


def loop(start: Target, sources: Iterable[Key], feeds: Mapping[Key, Iterable[Key]]) -> list[Key]:
    """The way from what is written back to what is read; empty if there is none.

    `feeds`: for a source, the sources that Injections write with what it holds.
    """
    wanted, begin = frozenset(sources), start.key
    if not start.is_source:
        return []
    ways, seen = [[begin]], {begin}
    while ways:
        way = ways.pop(0)
        if way[-1] in wanted:
            return way
        for after in feeds.get(way[-1], ()):
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return []


# Whether to write again


def holds(found: Any, wanted: Any) -> bool:
    """Whether a value is there; what the API server fills in beside it does not matter."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and holds(found[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(found) == len(wanted) and all(map(holds, found, wanted))
        )
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


class Seen(NamedTuple):
    """What is at the place now."""

    there: bool
    """The value that should be there is."""
    owned: bool
    """Our field manager owns it."""


class Turn(NamedTuple):
    write: bool
    taken_back: int
    """How often the place was taken back, this time included."""


def turn(status: Status, target: Written, digest: str, generation: int, seen: Seen) -> Turn:
    """Whether to write a value.

    What we wrote and is not there any more was taken back. That is counted for one value, one spec
    and one object: with another, it is tried anew.
    """
    is_new = (
        status.digest != digest
        or status.observed_generation != generation
        or status.target is None
        or not status.target.is_the_place_of(target)
    )
    if seen.there and seen.owned:
        return Turn(write=False, taken_back=0 if is_new else status.taken_back)
    if is_new:
        return Turn(write=True, taken_back=0)
    taken = min(status.taken_back + (not seen.there), TRIES + 1)
    return Turn(write=taken <= TRIES, taken_back=taken)


# What the status tells


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What came of looking at an Injection."""

    reason: Reason
    message: str
    target: Written | None = None
    """Where the value is; the status keeps what it says otherwise."""
    digest: str = ""
    taken_back: int = 0
    wrote: bool = False


CONDITIONS: dict[str, frozenset[Reason]] = {
    "Ready": frozenset({Reason.INJECTED}),
    "Conflict": frozenset({Reason.CLAIMED, Reason.TAKEN_BACK}),
    "SourceMissing": frozenset({Reason.SOURCE_MISSING}),
    "Forbidden": frozenset({Reason.FORBIDDEN, Reason.SOURCE_FORBIDDEN, Reason.NOT_ALLOWED}),
}
"""For each condition the reasons with which it is true."""
_QUIET = {"Conflict": "NoConflict", "SourceMissing": "SourcesFound", "Forbidden": "Allowed"}


def status_of(one: Injection, verdict: Verdict, blind: str, now: datetime) -> Status:
    """The status after a look. `blind`: why changes of the target go unseen."""
    before = {condition.type: condition for condition in one.status.conditions}
    conditions = []
    for kind, reasons in CONDITIONS.items():
        holds = verdict.reason in reasons
        reason, message = verdict.reason.word, verdict.message
        if kind == "Forbidden" and blind and not holds:
            holds, reason, message = True, Reason.FORBIDDEN.word, blind
        elif not holds and kind != "Ready":
            reason, message = _QUIET[kind], ""
        state = "True" if holds else "False"
        last = before.get(kind)
        at = last.last_transition_time if last and last.status == state else _moment(now)
        conditions.append(Condition(kind, state, reason, message[:1000], at, one.generation))
    kept = one.status
    return Status(
        observed_generation=one.generation,
        conditions=tuple(conditions),
        target=verdict.target or kept.target,
        digest=verdict.digest or kept.digest,
        written=_moment(now) if verdict.wrote else kept.written,
        taken_back=verdict.taken_back,
    )


def _moment(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def is_ready(status: Status) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in status.conditions)


def described(value: Any) -> str:
    """A value as people may see it: what it is, and how much of it."""
    match value:
        case str():
            return f"a string of {_count(len(value), 'character')}"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return f"a list of {_count(len(value), 'item')}"
        case _:
            return f"an object with {_count(len(value), 'field')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
