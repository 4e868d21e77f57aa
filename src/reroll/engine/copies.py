"""The copies that there are: which workloads name them in their templates, and who owns them.

Watches bring the metadata of every ConfigMap and Secret anyway, so this costs no request. Nothing
is kept of what a copy holds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata, Owner
from reroll.core.model.podspec import given
from reroll.core.revisions.copies import is_copy
from reroll.engine.wants import CopyContent, Want


class Copy(msgspec.Struct, frozen=True, gc=False):
    """One copy, as it was last seen."""

    uid: str
    version: int
    owners: tuple[Owner, ...] = ()
    is_ours: bool = True
    """Made by us, or with the content that its name says: anything else only has such a name, and
    nobody but its maker decides who owns it."""

    @property
    def owner_ids(self) -> frozenset[str]:
        return frozenset(owner.uid for owner in self.owners)


class Copies:
    """`wake(workload)`: a copy that its template names is gone, or is there again.

    `want(…)`: have a copy read that we did not make.
    """

    def __init__(self, wake: Callable[[Key], None], want: Callable[[Want], None]) -> None:
        self._wake, self._want = wake, want
        self._known: dict[Key, Copy] = {}
        self._users: dict[Key, set[Key]] = {}
        self._sources: dict[Key, Key] = {}
        """What those are copies of that somebody uses."""
        self._owned: dict[str, set[Key]] = {}
        self._listed: set[tuple[str, str | None]] = set()
        self._doubted: set[Key] = set()
        """Used, and made by we do not know whom: what they hold has to be looked at."""

    def of(self, kind: str, namespace: str | None = None) -> Iterator[Key]:
        """Those of a kind, in one namespace or in all."""
        known = tuple(self._known)
        return (key for key in known if key.kind == kind and namespace in {None, key.namespace})

    def get(self, copy: Key) -> Copy | None:
        return self._known.get(copy)

    def ownerless(self, namespace: str | None = None) -> Iterator[Key]:
        """Those that nobody owns and no template names, in one namespace or in all."""
        return (
            key
            for key, copy in tuple(self._known.items())
            if copy.is_ours and not copy.owners and key not in self._users
            if namespace in {None, key.namespace}
        )

    def is_used(self, copy: Key) -> bool:
        """Whether the template of a workload names it."""
        return copy in self._users

    def use(self, workload: Key, old: Mapping[Key, Key], new: Mapping[Key, Key]) -> None:
        """A template named the copies `old`, each with its source, and names `new` now."""
        for copy in old.keys() - new.keys():
            users = self._users.get(copy, set())
            users.discard(workload)
            if not users:
                self._users.pop(copy, None)
                self._sources.pop(copy, None)
                self._doubted.discard(copy)
                if (known := self._known.get(copy)) and not known.is_ours:
                    self._index(copy, known, None)
        for copy in new.keys() - old.keys():
            self._users.setdefault(copy, set()).add(workload)
            self._sources[copy] = new[copy]
            if copy not in self._known and self._is_listed(copy):
                # Nothing is kept of what is no copy of ours; but it may be one that was restored.
                self._doubted.add(copy)
                self._want(CopyContent(copy))

    # What is seen of them

    def observe(self, key: Key, metadata: Metadata) -> None:
        is_ours = is_copy(metadata)
        if not is_ours and key not in self._users:
            return
        known = self._known.get(key)
        if known is not None and 0 < metadata.version < known.version:
            return
        is_proved = known is not None and known.uid == metadata.uid and known.is_ours
        owners = tuple(given(metadata.owner_references))
        fresh = Copy(metadata.uid, metadata.version, owners, is_ours or is_proved)
        self._index(key, known, fresh)
        is_another = known is not None and known.uid != fresh.uid
        if key in self._users and (is_another or not fresh.is_ours):
            self._doubted.add(key)
        if key in self._doubted:
            self._want(CopyContent(key))

    def gone(self, key: Key) -> None:
        known = self._known.get(key)
        if known is not None:
            self._index(key, known, None)
        if key in self._users:
            self._doubt(key)

    def _doubt(self, key: Key) -> None:
        self._doubted.add(key)
        for user in tuple(self._users[key]):
            self._wake(user)

    def in_doubt(self, key: Key) -> Key | None:
        """What it should be a copy of, if that has to be looked at."""
        return self._sources.get(key) if key in self._doubted else None

    def judged(self, key: Key, metadata: Metadata, *, is_right: bool) -> None:
        """Somebody else made it, and we looked at what it holds."""
        if is_right:
            self.made(key, metadata)
        for user in tuple(self._users.get(key, ())):
            self._wake(user)

    def made(self, key: Key, metadata: Metadata) -> None:
        """We made it, or looked at what it holds: it is what its name says."""
        known = self._known.get(key)
        fresh = Copy(metadata.uid, metadata.version, tuple(given(metadata.owner_references)))
        if known is None or metadata.version >= known.version:
            self._index(key, known, fresh)
        self._doubted.discard(key)

    def _index(self, key: Key, old: Copy | None, new: Copy | None) -> None:
        for uid in old.owner_ids if old else ():
            owned = self._owned.get(uid, set())
            owned.discard(key)
            if not owned:
                self._owned.pop(uid, None)
        for uid in new.owner_ids if new and new.is_ours else ():
            self._owned.setdefault(uid, set()).add(key)
        if new is None:
            self._known.pop(key, None)
        else:
            self._known[key] = new

    def listed(self, kind: str, namespace: str | None) -> None:
        """All of a kind are known, in one namespace or in all: what is not here does not exist."""
        self._listed.add((kind, namespace))
        for copy in tuple(self._users):
            if copy not in self._known and self._is_listed(copy):
                self._doubt(copy)

    # What is known of them

    def _is_listed(self, copy: Key) -> bool:
        return not self._listed.isdisjoint({(copy.kind, None), (copy.kind, copy.namespace)})

    def missing(self, copies: Iterable[Key]) -> frozenset[Key]:
        """Of these, the ones that are not there, or not known to be what they should be."""
        return frozenset(
            copy
            for copy in copies
            if copy in self._doubted or (copy not in self._known and self._is_listed(copy))
        )

    def owned_by(self, uid: str) -> frozenset[Key]:
        return frozenset(self._owned.get(uid, ()))
