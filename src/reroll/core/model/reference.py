"""How one workload uses one source: which keys, required or not, on whose terms."""

import msgspec

from reroll.core.model.content import Content, Term
from reroll.core.model.key import Key

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

    @property
    def all_keys(self) -> frozenset[str]:
        """The keys that it names, whether their content matters or only that they exist."""
        return (self.keys or frozenset()) | self.required_keys

    def counted(self, content: Content | None) -> tuple[Term, ...]:
        """The terms that hold for a content. Of one that is gone nothing is known: all do."""
        if content is None:
            return self.terms
        if content.ignored:
            return ()
        return tuple(term for term in self.terms if term.hold(content.marks))

    def missing_from(self, content: Content | None) -> bool:
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
