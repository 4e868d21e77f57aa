"""The observed content of a source: digests by key, never a value."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec

from reroll.core.model.injection import KIND as INJECTION
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment


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
    """The namespaces whose workloads may name it, besides its own."""
    readers: frozenset[str] = frozenset()
    """The namespaces whose Injections may read it, besides its own."""
    created: bool = False
    """It is what the source came into being with, as far as is known."""
    immutable: bool = False
    type: str = ""
    """Of a Secret."""

    @property
    def keys(self) -> frozenset[str]:
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


def allows(allow_from: Iterable[str], namespace: str) -> bool:
    """Whether one of these globs, of an annotation of consent, means a namespace."""
    return any(fnmatchcase(namespace, glob) for glob in allow_from)
