"""The value types that the rest of `core` speaks in.

Frozen throughout: "change" is a new value. `gc=False` because none of them can be part of a cycle,
and a cluster has many of them.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.reasons import Reason


class Key(NamedTuple):
    """Which object: kind, namespace and name. For sources and workloads alike."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def api_kind(self) -> str:
        """Its kind as the API spells it: that of a configured row has its group behind it."""
        return self.kind.partition(".")[0]


class Term(msgspec.Struct, frozen=True, gc=False):
    """On what terms a dialect counts a reference."""

    dialect: str = ""
    unless: frozenset[str] = frozenset()
    """Marks on the source with any of which it does not count, see `Content.marks`."""
    needs: str = ""
    """A mark on the source without which it does not count."""
    on_create: bool = True
    """An optional source that appears is news."""
    on_delete: bool = False
    """A source that goes away is news."""
    hashed: bool = False
    """Its marks need the hash that another tool makes of a source, see `Content.hashes`."""

    def hold(self, marks: frozenset[str]) -> bool:
        return self.unless.isdisjoint(marks) and (not self.needs or self.needs in marks)


ALWAYS = (Term(),)


class Reference(msgspec.Struct, frozen=True, gc=False):
    """Everything that one workload uses of one source, taken together."""

    source: Key
    keys: frozenset[str] | None = None
    """The keys whose content matters; `None`: all of them; empty: only whether it exists."""
    without: frozenset[str] = frozenset()
    """Keys that do not matter although they are used."""
    required: bool = False
    """No pod can start while the source does not exist."""
    required_keys: frozenset[str] = frozenset()
    """No pod can start while one of these keys does not exist."""

    added: bool = False
    """Named by an annotation, not by the pod template."""
    pattern: str = ""
    """The pattern that found it, if it is one of several that a glob in an annotation means."""
    terms: tuple[Term, ...] = ALWAYS
    """Of each dialect that counts it."""

    @property
    def only_presence_matters(self) -> bool:
        return self.keys is not None and not self.keys - self.without

    def counted(self, content: "Content | None") -> tuple[Term, ...]:
        """The terms that hold for a content. Of one that is gone nothing is known: all do."""
        if content is None:
            return self.terms
        if content.ignored:
            return ()
        return tuple(term for term in self.terms if term.hold(content.marks))

    def missing_from(self, content: "Content | None") -> bool:
        """Whether pods cannot start because of it."""
        if content is None:
            return self.required
        return not self.required_keys <= content.keys

    def entry(self, home: str) -> str:
        """Its name in a record: `configmap/app`, `secret/vault/db#password` of another namespace.

        Which keys are used is a part of the name: another set of keys is another thing to keep
        track of.
        """
        namespace = "" if self.source.namespace == home else f"{self.source.namespace}/"
        keys = "" if self.keys is None else "#" + ",".join(sorted(self.keys - self.without))
        if self.keys is None and self.without:
            keys = "#!" + ",".join(sorted(self.without))
        return f"{self.source.kind.lower()}/{namespace}{self.source.name}{keys}"


class Moment(msgspec.Struct, frozen=True, gc=False):
    """When something last changed, as well as it is known.

    Resource versions are revisions of one store, so they order writes across kinds. Where the
    change itself was watched, `after` is one less than `by`; where the object was only found in a
    list, nothing but `by` is known. `at` is the time that the object itself tells, in whole
    seconds.
    """

    after: int = 0
    by: int = 0
    at: datetime | None = None

    def is_later_than(self, other: "Moment") -> bool | None:
        """Whether this came after `other`; `None` where neither versions nor times can tell."""
        if self.by and other.by:
            if self.after >= other.by:
                return True
            if self.by <= other.after:
                return False
        if self.at and other.at and self.at != other.at:
            return self.at > other.at
        return None


class Earlier(msgspec.Struct, frozen=True, gc=False):
    """A template that a workload had before."""

    hash: bytes
    since: Moment
    had: dict[str, str]
    """The digests that its pods had, as the record said."""


class Content(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a source: a digest for each key, never a value.

    `digests` is by HMAC key id, because while a key is being rotated a Secret is digested with
    both. A source that is not digested with a key has the one id `""`.
    """

    digests: dict[str, dict[str, bytes]]
    changed: Moment = Moment()
    changed_keys: frozenset[str] = frozenset()
    """The keys that the last change touched, where it was watched."""
    ignored: bool = False
    problem: str = ""
    """What is wrong with how it says whether to ignore it."""
    marks: frozenset[str] = frozenset()
    """What dialects have it say about itself, see `Term`."""
    hashes: tuple[tuple[str, str], ...] = ()
    """The hashes that other tools make of it, by dialect; only where a workload needs one."""
    allow_from: frozenset[str] = frozenset()
    created: bool = False
    """It is what the source came into being with, as far as is known."""
    immutable: bool = False
    type: str = ""
    """Of a Secret."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(next(iter(self.digests.values()), {}))

    def has_hashes_for(self, terms: tuple[Term, ...]) -> bool:
        return all(self.hash_of(term.dialect) for term in terms if term.hashed)

    def hash_of(self, dialect: str) -> str | None:
        return next((value for name, value in self.hashes if name == dialect), None)


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Bad input as a value: a sentence with what, where and what to do."""

    sentence: str
    reason: Reason = Reason.INVALID_ANNOTATION
