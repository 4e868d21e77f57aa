"""Who owns the copies: the workloads whose templates name them, and every revision that does.

So Kubernetes itself collects a copy with the last of them. A workload is taken off a copy only once
its controller has observed the template that no longer names it, and after the revisions that do
name it have become owners. Owners are compared whenever the index of copies shows that one is
missing, so nothing of this has to be remembered.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.kinds import Kind
from reroll.engine.strategies.copies import change_owners, owner_of
from reroll.engine.world import World
from reroll.kube import api, lists, resources
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, NotFound
from reroll.kube.objects import OwnerRef, Revision
from reroll.kube.wire import Deletion, Resource

LOOK_AGAIN = 1.0
GRACE = 5.0
"""Seconds in which a CronJob may still make a Job of the template that it had before."""


def carriers(kind: Kind) -> Resource | None:
    """What keeps the templates that a workload had: its revisions, or the Jobs that it made."""
    return resources.REVISIONS.get(kind.revisions) or (resources.JOBS if kind.makes_jobs else None)


class Carrying(NamedTuple):
    """A revision that names copies."""

    owner: OwnerRef
    copies: frozenset[Key]
    of: str
    """The kind of the workload that made it."""


class Owners:
    """`left(copy)`: a workload was taken off a copy that others own."""

    def __init__(
        self, client: Client, clock: Clock, world: World, left: Callable[[Key], None]
    ) -> None:
        self._client, self._clock, self._left = client, clock, left
        self._world, self._copies = world, world.copies
        self._tried: dict[Key, tuple[int, frozenset[Key], frozenset[Key]]] = {}
        """What a look found that could do nothing about it; the next one has to differ."""

    async def tidy(self, snapshot: Snapshot) -> float | None:
        """Put right who owns the copies of one workload, if that is to be done and can be.

        The seconds until it is worth another look, where nobody else tells.
        """
        workload, named = snapshot.workload, _named(snapshot)
        owned = self._copies.owned_by(workload.uid)
        if not self._is_due(snapshot, named, owned):
            self._tried.pop(workload.key, None)
            return None
        if wait := self._too_early(snapshot):
            return wait
        state = (workload.generation, named, owned)
        if not workload.observed or self._tried.get(workload.key) == state:
            return None
        revisions = await self._revisions(snapshot.kind, workload)
        if self._is_behind(workload, named, revisions):
            return LOOK_AGAIN
        wanted: dict[Key, list[OwnerRef]] = {copy: [owner_of(snapshot)] for copy in named}
        for one in revisions:
            for copy in one.copies:
                wanted.setdefault(copy, []).append(one.owner)
        for copy in sorted(wanted.keys() | owned):
            leaves = copy in owned and copy not in named
            if not await self._set(copy, wanted.get(copy, []), workload.uid if leaves else ""):
                return LOOK_AGAIN
        if self._is_due(snapshot, named, self._copies.owned_by(workload.uid)):
            self._tried[workload.key] = state
        return None

    def _too_early(self, snapshot: Snapshot) -> float:
        """A Job of the template before may just be on its way, and nothing tells."""
        record = snapshot.record
        if not snapshot.kind.makes_jobs or record is None or record.rolled is None:
            return 0.0
        return max(0.0, GRACE - (self._clock.now() - record.rolled).total_seconds())

    def _is_behind(
        self, workload: Workload, named: frozenset[Key], revisions: list[Carrying]
    ) -> bool:
        """Whether a Rollout that runs its template may still make a revision of an older one."""
        runner = self._world.lenders.runner(workload.key)
        if runner == workload.key or not named:
            return False
        return not any(one.copies == named and one.of == runner.kind for one in revisions)

    def _is_due(self, snapshot: Snapshot, named: frozenset[Key], owned: frozenset[Key]) -> bool:
        if not named and not owned:
            return False
        found = [known for copy in named if (known := self._copies.get(copy))]
        there = [known for known in found if known.is_ours]
        if owned - named or any(snapshot.workload.uid not in known.owner_ids for known in there):
            return True
        carrier = carriers(snapshot.kind)
        if carrier is None or snapshot.kind.makes_jobs:
            return False
        start = f"{self._world.lenders.runner(snapshot.workload.key).name}-"
        return any(
            not any(o.kind == carrier.kind and o.name.startswith(start) for o in known.owners)
            for known in there
        )

    async def _revisions(self, kind: Kind, workload: Workload) -> list[Carrying]:
        """The revisions of a workload that name copies: its own, and those of who runs it."""
        runner = self._world.lenders.runner(workload.key)
        resource = carriers(self._world.tables.by_name.get(runner.kind, kind))
        if resource is None:
            return []

        def carrying(revision: Revision) -> Carrying | None:
            metadata = revision.metadata
            maker = _maker(metadata, workload, runner)
            copies = revision.pins if maker and metadata.deletion_timestamp is None else None
            return Carrying(OwnerRef.of(resource, metadata), copies, maker) if copies else None

        return await lists.extract(
            self._client,
            resource,
            workload.key.namespace,
            Revision,
            carrying,
            label_selector=api.selector(workload.selector) or None,
        )

    async def _set(self, copy: Key, wanted: Iterable[OwnerRef], leaves: str) -> bool:
        """Add who is to own a copy and does not; take the workload off, or the copy away.

        Whether that is done; if not, somebody else was at it.
        """
        known = self._copies.get(copy)
        if known is None or not known.is_ours:
            return True
        missing = [owner for owner in wanted if owner.uid not in known.owner_ids]
        resource = resources.of(self._world.sources.rows[copy.kind])
        try:
            if leaves and not missing and known.owner_ids == {leaves}:
                guard: Deletion = {"uid": known.uid, "resource_version": str(known.version)}
                await api.delete(self._client, resource, copy.namespace, copy.name, **guard)
                self._copies.gone(copy)
            elif missing or leaves:
                drop = [leaves] if leaves else []
                await change_owners(self._client, resource, copy, self._copies, missing, drop)
                if leaves:
                    self._left(copy)
        except NotFound:
            self._copies.gone(copy)
        except Conflict:
            return False
        return True


def _named(snapshot: Snapshot) -> frozenset[Key]:
    """The copies that its template names, in its annotation or only by name any more.

    And those of what it was last healthy with, to go back to, and of its canary.
    """
    workload, record = snapshot.workload, snapshot.record
    pins = workload.pins
    if workload.named and record is not None and record.pins:
        pins = read_pins(record.pins) | pins
    named = [*pins.items(), *read_pins((record.good if record else None) or "").items()]
    if snapshot.canary is not None:
        named += read_pins(snapshot.canary.pins).items()
    if snapshot.staged is not None:
        named += read_pins(snapshot.staged.old).items()
    return frozenset(Key(kind, workload.key.namespace, copy) for (kind, _), copy in named)


def _maker(metadata: Metadata, workload: Workload, runner: Key) -> str:
    """The kind of whichever of the two made a revision; empty if it was another workload."""
    for owner in given(metadata.owner_references):
        if owner.uid == workload.uid:
            return workload.key.kind
        if (owner.kind, owner.name) == (runner.kind, runner.name):
            return runner.kind
    return ""
