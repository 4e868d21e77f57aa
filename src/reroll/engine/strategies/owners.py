"""Who owns the copies: the workloads whose templates name them, and every revision that does.

So Kubernetes itself collects a copy with the last of them. A workload is taken off a copy only once
its controller has seen the template that no longer names it, and after the revisions that do name
it have become owners. Looked at whenever the index of copies shows that something is missing, so
nothing of this has to be remembered.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables.kinds import Kind, Revisions
from reroll.engine.strategies.copies import change_owners
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, NotFound
from reroll.kube.objects import REVISION_KINDS, Owner

LOOK_AGAIN = 1.0
GRACE = 5.0
"""Seconds in which a CronJob may still make a Job of the template that it had before."""
JOBS = wire.Resource("batch", "v1", "jobs", "Job")


class _Meta(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _Template(msgspec.Struct, gc=False):
    metadata: _Meta | None = None


class _Spec(msgspec.Struct, gc=False):
    template: _Template | None = None


class _Data(msgspec.Struct, gc=False):
    spec: _Spec | None = None


class Revision(msgspec.Struct, gc=False):
    """A ReplicaSet, a Job, or a ControllerRevision, which has its template in its data."""

    metadata: Metadata
    spec: _Spec | None = None
    data: _Data | None = None

    def pins(self, namespace: str) -> frozenset[Key]:
        """The copies that its template names."""
        spec = (self.data.spec if self.data else None) or self.spec
        template = spec.template if spec else None
        metadata = template.metadata if template else None
        text = (metadata.annotations or {}).get(PINS, "") if metadata else ""
        return frozenset(Key(kind, namespace, copy) for (kind, _), copy in read_pins(text).items())


class _Revisions(msgspec.Struct, gc=False):
    items: list[Revision] | None = None


_revisions = msgspec.json.Decoder(_Revisions)


def carriers(kind: Kind) -> wire.Resource | None:
    """What keeps the templates that a workload had: its revisions, or the Jobs that it made."""
    if kind.revisions is not Revisions.NONE:
        word = REVISION_KINDS[kind.revisions]
        return wire.Resource("apps", "v1", kind.revisions.value, word)
    return JOBS if kind.makes_jobs else None


class Carrying(NamedTuple):
    """A revision that names copies."""

    owner: Owner
    copies: frozenset[Key]
    of: str
    """The kind of the workload that made it."""


class Owners:
    def __init__(self, client: Client, clock: Clock, world: World) -> None:
        self._client, self._clock = client, clock
        self._world, self._copies = world, world.copies
        self._tried: dict[Key, tuple[int, frozenset[Key], frozenset[Key]]] = {}
        """What a look found that could do nothing about it; the next one has to differ."""

    async def tidy(self, seen: Snapshot) -> float | None:
        """Put right who owns the copies of one workload, if that is to be done and can be.

        The seconds until it is worth another look, where nobody else tells.
        """
        workload, named = seen.workload, _named(seen)
        owned = self._copies.owned_by(workload.uid)
        if not self._is_due(seen, named, owned):
            self._tried.pop(workload.key, None)
            return None
        if wait := self._too_early(seen):
            return wait
        state = (workload.generation, named, owned)
        if not workload.observed or self._tried.get(workload.key) == state:
            return None
        revisions = await self._revisions(seen.kind, workload)
        if self._is_behind(workload, named, revisions):
            return LOOK_AGAIN
        wanted: dict[Key, list[Owner]] = {copy: [_itself(seen)] for copy in named}
        for one in revisions:
            for copy in one.copies:
                wanted.setdefault(copy, []).append(one.owner)
        for copy in sorted(wanted.keys() | owned):
            leaves = copy in owned and copy not in named
            if not await self._set(copy, wanted.get(copy, []), workload.uid if leaves else ""):
                return LOOK_AGAIN
        if self._is_due(seen, named, self._copies.owned_by(workload.uid)):
            self._tried[workload.key] = state
        return None

    def _too_early(self, seen: Snapshot) -> float:
        """A Job of the template before may just be on its way, and nothing tells."""
        record = seen.workload.record
        if not seen.kind.makes_jobs or not isinstance(record, Record) or record.rolled is None:
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

    def _is_due(self, seen: Snapshot, named: frozenset[Key], owned: frozenset[Key]) -> bool:
        if not named and not owned:
            return False
        found = [known for copy in named if (known := self._copies.get(copy))]
        there = [known for known in found if known.is_ours]
        if owned - named or any(seen.workload.uid not in known.owner_ids for known in there):
            return True
        carrier = carriers(seen.kind)
        if carrier is None or seen.kind.makes_jobs:
            return False
        start = f"{self._world.lenders.runner(seen.workload.key).name}-"
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
        selector = ",".join(f"{key}={value}" for key, value in workload.selector)
        namespace = workload.key.namespace
        request = wire.list_page(resource, namespace, limit=0, label_selector=selector or None)
        found = []
        for one in given(_revisions.decode(await self._client.send(request)).items):
            metadata, copies = one.metadata, one.pins(namespace)
            maker = _maker(metadata, workload, runner)
            if copies and maker and metadata.deletion_timestamp is None:
                owner = Owner(resource.api_version, resource.kind, metadata.name, metadata.uid)
                found.append(Carrying(owner, copies, maker))
        return found

    async def _set(self, copy: Key, wanted: Iterable[Owner], leaves: str) -> bool:
        """Add who is to own a copy and does not; take the workload off, or the copy away.

        Whether that is done; if not, somebody else was at it.
        """
        known = self._copies.get(copy)
        if known is None or not known.is_ours:
            return True
        missing = [owner for owner in wanted if owner.uid not in known.owner_ids]
        resource = wire.resource_of(self._world.sources.rows[copy.kind])
        try:
            if leaves and not missing and known.owner_ids == {leaves}:
                version = str(known.version)
                request = wire.delete(
                    resource, copy.namespace, copy.name, uid=known.uid, resource_version=version
                )
                await self._client.send(request)
                self._copies.gone(copy)
            elif missing or leaves:
                drop = [leaves] if leaves else []
                await change_owners(self._client, resource, copy, self._copies, missing, drop)
        except NotFound:
            self._copies.gone(copy)
        except Conflict:
            return False
        return True


def _named(seen: Snapshot) -> frozenset[Key]:
    """The copies that its template names: in its annotation, or only by name any more."""
    workload, record = seen.workload, seen.workload.record
    pins = workload.pins
    if workload.named and isinstance(record, Record) and record.pins:
        pins = read_pins(record.pins) | pins
    return frozenset(Key(kind, workload.key.namespace, copy) for (kind, _), copy in pins.items())


def _itself(seen: Snapshot) -> Owner:
    resource = wire.resource_of(seen.kind)
    workload = seen.workload
    return Owner(resource.api_version, resource.kind, workload.key.name, workload.uid)


def _maker(metadata: Metadata, workload: Workload, runner: Key) -> str:
    """The kind of whichever of the two made a revision; empty if it was another workload."""
    for owner in given(metadata.owner_references):
        if owner.uid == workload.uid:
            return workload.key.kind
        if (owner.kind, owner.name) == (runner.kind, runner.name):
            return runner.kind
    return ""
