"""Rollouts with `workloadRef`: the Deployment whose template they run is the workload.

They lend it their annotations, and are no workloads themselves.
"""

from collections.abc import Callable, Mapping

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.spec import borrowed
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.wants import Want, WorkloadState


class Lender(msgspec.Struct, frozen=True, gc=False):
    """A Rollout that runs a Deployment's template, and what its annotations say about it."""

    key: Key
    annotations: dict[str, str]
    since: int = 0


class Lenders:
    """`want(…)`: a workload has to be read again, because another one lends to it."""

    def __init__(self, words: Vocabulary, want: Callable[[Want], None]) -> None:
        self._words, self._want = words, want
        self._known: dict[Key, Lender] = {}
        self._borrowers: dict[Key, Key] = {}
        """By lender, one that another has taken over among them."""

    def lend(self, kind: Kind, key: Key, manifest: Manifest) -> bool:
        """Whether it runs the template of another workload, which then has its annotations."""
        name = borrowed(kind, manifest)
        if not name:
            self.forget(key)
            return False
        borrower = Key("Deployment", key.namespace, name)
        self.forget(key, but=borrower)
        said = self._words.relevant(manifest.metadata.annotations or {})
        lent = {k: v for k, v in said.items() if k != STATE}
        known = self._known.get(borrower)
        if known is None or (known.key, known.annotations) != (key, lent):
            self._known[borrower] = Lender(key, lent, manifest.metadata.version)
            self._borrowers[key] = borrower
            self._want(WorkloadState(borrower))
        return True

    def forget(self, lender: Key, but: Key | None = None) -> None:
        """It lends to nobody any more, except to `but`."""
        borrower = self._borrowers.get(lender)
        if borrower is None or borrower == but:
            return
        del self._borrowers[lender]
        known = self._known.get(borrower)
        if known is not None and known.key == lender:
            del self._known[borrower]
            self._want(WorkloadState(borrower))

    def annotations(self, key: Key, own: Mapping[str, str]) -> Mapping[str, str]:
        """A workload's own, over those of the Rollout that runs its template."""
        lender = self._known.get(key)
        return {**lender.annotations, **own} if lender else own

    def since(self, key: Key) -> int:
        """The version of the Rollout that first lent to a workload; 0 if none does."""
        lender = self._known.get(key)
        return lender.since if lender else 0

    def lent(self) -> dict[Key, Key]:
        """The Deployment that each Rollout lends to."""
        return {lender.key: borrower for borrower, lender in self._known.items()}

    def borrower(self, key: Key) -> Key | None:
        """The Deployment whose template a Rollout runs."""
        return self._borrowers.get(key)

    def runner(self, key: Key) -> Key:
        """What runs the pods of a template: its own workload, or the Rollout that borrows it."""
        lender = self._known.get(key)
        return lender.key if lender else key
