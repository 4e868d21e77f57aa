"""What is kept of one source that a workload refers to: digests and versions, never content."""

from collections.abc import Mapping
from typing import Any

import msgspec

from reroll.core.dialects.annotations import SOURCE_ANNOTATIONS, SourcePolicy, parsed, with_values
from reroll.core.model.approval import Approval
from reroll.core.model.content import Content, Term
from reroll.core.model.key import Key
from reroll.core.model.pace import SourcePace
from reroll.core.model.reference import Reference
from reroll.core.model.timing import SourceTiming
from reroll.core.observe.snapshot import Absence
from reroll.engine.content import changed_keys, is_same

_NOTHING: frozenset[str] = frozenset()
"""One for all: each empty set would take as much as a digest, for every source that is known."""


class SourceState:
    __slots__ = (
        "allowed",
        "as_of",
        "asked",
        "asker",
        "closed",
        "content",
        "gone",
        "hashed",
        "is_read_later",
        "marks",
        "told",
        "uid",
        "unsure_since",
        "users",
        "version",
    )

    def __init__(self) -> None:
        self.users: set[Key] = set()
        self.hashed = _NOTHING
        """The dialects that need the hash that their tool makes of it."""
        self.asker = ""
        """The namespace that has it read, where no workload of its own names it."""
        self.asked = False
        """Whether it matters to somebody what its own annotations say."""
        self.marks: frozenset[str] | None = None
        """What they say, of a kind of which no watch brings them."""
        self.allowed = _NOTHING
        """The namespaces whose workloads may name it, as its metadata said last."""
        self.closed = False
        """It lets none of its users use it: whether it exists is kept from them."""
        self.is_read_later = False
        """Its watch does not bring its content, because it has very many keys."""
        self.content: Content | Absence = Absence.UNREAD
        self.uid = ""
        self.version = 0
        self.as_of = 0
        """Up to this version of the store, nothing newer than `version` was there."""
        self.gone = 0
        """The version at which it was deleted; 0 if it is there, or nobody knows."""
        self.unsure_since = 0
        """The content may have changed after this version of it."""
        self.told = 0
        """A version that a watch of metadata told of, and whose content is still to be read."""

    def agree(self, terms: tuple[Term, ...]) -> bool:
        """One more user, on these terms; whether they ask for what was not read so far."""
        hashed = frozenset(term.dialect for term in terms if term.hashed)
        asked = any(term.unless or term.needs for term in terms)
        new = hashed - self.hashed
        more = bool(new) or asked > self.asked
        self.hashed, self.asked = self.hashed | new if new else self.hashed, self.asked or asked
        return more

    @property
    def is_read(self) -> bool:
        return self.content is not Absence.UNREAD

    def lacks(self, reference: Reference) -> bool:
        """Whether its digest is of the whole, and not of the keys that a reference names."""
        return isinstance(self.content, Content) and not self.content.knows(reference.all_keys)


def concerns(user: Key, source: Key, old: Content | Absence, new: Content | Absence) -> bool:
    """Whether an object that refers to a source may learn that it changed."""
    return user.namespace == source.namespace or _lets(old, user) or _lets(new, user)


def _lets(content: Content | Absence, user: Key) -> bool:
    if isinstance(content, Content):
        return content.lets(user)
    # Neither depends on the source itself.
    return content in {Absence.UNREAD, Absence.FORBIDDEN}


def continued(old: Content, new: Content) -> Content:
    """A content with what is known from the one before it."""
    if is_same(old, new):
        # Only labels or annotations: when its content changed stays as it was.
        return msgspec.structs.replace(
            new, changed=old.changed, changed_keys=old.changed_keys, created=old.created
        )
    return msgspec.structs.replace(new, changed_keys=changed_keys(old, new), created=False)


def paced(kept: Content, annotations: Mapping[str, str] | None, usual: SourcePolicy) -> Content:
    """With what is said of how its changes propagate: by its annotations, else by `usual`."""
    values: dict[str, Any] = {}
    bad = tuple(parsed(SOURCE_ANNOTATIONS, annotations or {}, values))
    said = with_values(usual, values) if values else usual
    if said == SourcePolicy() and not bad:
        return kept
    pace = None if said.pace == SourcePace() else said.pace
    timing = None if said.timing == SourceTiming() else said.timing
    approval = None if said.approval == Approval() else said.approval
    problems = (*kept.problems, *bad)
    return msgspec.structs.replace(
        kept,
        pace=pace,
        timing=timing,
        unpinned=said.unpinned,
        approval=approval,
        problems=problems,
    )


class KnownSources(dict[Key, SourceState]):
    """The sources that are known, by kind and namespace too: a lookup costs what it touches."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[tuple[str, str], set[str]] = {}

    def add(self, source: Key) -> SourceState:
        known = self[source] = SourceState()
        self._names.setdefault((source.kind, source.namespace), set()).add(source.name)
        return known

    def drop(self, source: Key) -> None:
        del self[source]
        names = self._names[source.kind, source.namespace]
        names.discard(source.name)
        if not names:
            del self._names[source.kind, source.namespace]

    def of(self, kind: str, namespace: str | None) -> list[Key]:
        """Those of a kind, in one namespace or in all."""
        if namespace is None:
            return [key for key in self if key.kind == kind]
        return [Key(kind, namespace, name) for name in self._names.get((kind, namespace), ())]
