"""The observed content of a source: digests by key, never a value."""

from datetime import datetime
from fnmatch import fnmatchcase

import msgspec

from reroll.core.model.approval import Approval
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.pace import SourcePace
from reroll.core.model.timing import SourceTiming
from reroll.core.tables.kinds import INJECTION


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


class Whole(msgspec.Struct, frozen=True, gc=False):
    """The digest of a source that has too many keys to keep one for each."""

    data: str
    """Of all its keys, as `reference_digest` makes it."""
    content: str
    """Of all that it holds, as `content_digest` makes it."""


class Content(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a source: a digest for each key, never a value.

    `digests` is by HMAC key id, because while a key is being rotated a Secret is digested with
    both. A source that is not digested with a key has the one id `""`. Of a source with very many
    keys it holds only those that somebody names, see `wholes`.
    """

    digests: dict[str, dict[str, bytes]]
    changed: Moment = Moment()
    changed_keys: frozenset[str] = frozenset()
    """The keys that the last change touched, where it was watched."""
    ignored: bool = False
    problems: tuple[tuple[str, str], ...] = ()
    """Those of its annotations that cannot be used, and what is wrong with each."""
    marks: frozenset[str] = frozenset()
    """What dialects have it say about itself, see `Term`."""
    hashes: tuple[tuple[str, str], ...] = ()
    """The hashes that other tools make of it, by dialect; only where a workload needs one."""
    allow_from: frozenset[str] = frozenset()
    """The namespaces whose workloads may name it, besides its own."""
    readers: frozenset[str] = frozenset()
    """The namespaces whose Injections may read it, besides its own."""
    created: bool = False
    """It is what the source came into being with, as far as is known."""
    immutable: bool = False
    type: str = ""
    """Of a Secret."""
    wholes: dict[str, Whole] = {}
    """By HMAC key id, of a source with very many keys; empty of any other."""
    named: frozenset[str] = frozenset()
    """Of such a source: the keys that were asked for, whether or not it has them."""
    pace: SourcePace | None = None
    """How its changes propagate, where it says something of that."""
    timing: SourceTiming | None = None
    """When its changes may roll, where it says something of that."""
    expires: datetime | None = None
    """When the certificate that it holds runs out; only of a Secret for TLS."""
    unpinned: bool = False
    """No copy of it is made: whoever uses it always gets the current content."""
    approval: Approval | None = None
    """What is said of approvals of what it holds, where something is."""
    sealed: bool = False
    """Digests with the id `""` are not to be shown: see `digest.sealed`."""

    def knows(self, keys: frozenset[str]) -> bool:
        """Whether it can tell if the source has these keys, and their digests."""
        return not self.wholes or keys <= self.named

    @property
    def keys(self) -> frozenset[str]:
        """Those of the source; of one with very many keys, those of them that are named."""
        return frozenset(next(iter(self.digests.values()), {}))

    def allows(self, namespace: str) -> bool:
        """Whether it lets workloads of another namespace refer to it."""
        return allows(self.allow_from, namespace)

    def lets(self, user: Key) -> bool:
        """Whether it lets an object of another namespace use it: a workload, or an Injection."""
        return allows(self.readers if user.kind == INJECTION else self.allow_from, user.namespace)

    def has_hashes_for(self, terms: tuple[Term, ...]) -> bool:
        return all(self.hash_of(term.dialect) for term in terms if term.hashed)

    def hash_of(self, dialect: str) -> str | None:
        return next((value for name, value in self.hashes if name == dialect), None)


def allows(allow_from: frozenset[str], namespace: str) -> bool:
    """Whether one of these globs, of an annotation of consent, means a namespace."""
    return namespace in allow_from or any(fnmatchcase(namespace, glob) for glob in allow_from)
