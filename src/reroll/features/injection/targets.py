"""The objects that Injections write to: which API serves them, and when they change.

Each kind of target is watched, in the namespaces that have one, for metadata only, while an
Injection is allowed to write to one. An Injection wakes when its target is another object, or when
the target's spec or consent changed; not for the target's status. There is a limit to the number of
watches; beyond it a target is looked at from time to time.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from reroll.core.model.injection import To, Written
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables import limits
from reroll.core.tables.annotations import INJECTION_WRITERS
from reroll.core.tables.reasons import Reason
from reroll.features.injection.decide import BlockedError, Target, Unwatched
from reroll.features.injection.watching import Handler, Name, WatchFactory
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.objects import Stub
from reroll.kube.steps import Health
from reroll.kube.watch import Watch

MOST_OF_A_NAMESPACE = limits.NAMESPACE_TARGETS.number
"""Watches that the Injections of one namespace have."""
MOST = limits.TARGETS.number
"""Watches that all of them have together."""


class TargetApis:
    """The resources of targets, looked up once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resources: dict[tuple[str, str], wire.Resource] = {}

    async def resource(self, to: To) -> wire.Resource:
        """The resource of a target; `BlockedError` if there is none."""
        api = to.api_version, to.kind
        resource = self._resources.get(api) or await discovery.find(self._client, *api)
        if resource is not None:
            self._resources[api] = resource
            return resource
        if other := await self._served(to.group, to.kind):
            problem = (
                f"the API server has {to.kind} in {other.api_version}, not in {to.api_version}; "
                "change spec.to.apiVersion"
            )
        else:
            problem = f"the API server has no {to.kind} in {to.api_version}; is its CRD installed?"
        raise BlockedError(Reason.TARGET_MISSING, problem)

    async def resource_of(self, written: Written) -> wire.Resource | None:
        """The resource of what was written to, in any version that is served now."""
        same = await discovery.find(self._client, written.api_version, written.kind)
        return same or await self._served(written.group, written.kind)

    async def _served(self, group: str, kind: str) -> wire.Resource | None:
        for version in await discovery.versions(self._client, group):
            api_version = f"{group}/{version}" if group else version
            if resource := await discovery.find(self._client, api_version, kind):
                return resource
        return None

    def forget(self, resource: wire.Resource) -> None:
        """It may not be served any more."""
        self._resources.pop((resource.api_version, resource.kind), None)


Signature = tuple[str, int, str]


def signature(metadata: Metadata) -> Signature:
    """What differs when a target must be reconciled again."""
    return metadata.uid, metadata.generation or metadata.version, writers_of(metadata)


def writers_of(metadata: Metadata) -> str:
    """Which namespaces a target lets write to it."""
    return (metadata.annotations or {}).get(INJECTION_WRITERS, "")


class Extent(NamedTuple):
    """What one watch covers."""

    resource: wire.Resource
    namespace: str | None


class TargetWatches:
    """`wake(key)`: reconcile an Injection. `watches`: all that probes and metrics tell of."""

    def __init__(
        self, factory: WatchFactory, watches: list[Watch[Any]], wake: Callable[[Key], None]
    ) -> None:
        self._factory, self._watches, self._wake = factory, watches, wake
        self._open: dict[Extent, _TargetWatch] = {}
        self._extents: dict[Key, Extent] = {}
        self._homes: dict[str, Counter[Extent]] = {}
        """For each namespace how many of its Injections use which watch."""
        self._unwatched: set[Key] = set()
        self._reconciling: set[Key] = set()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Watch what there is to watch, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._open.clear()
                self._extents.clear()
                self._homes.clear()
                self._unwatched.clear()

    def follow(
        self, key: Key, resource: wire.Resource, target: Target, observed: Metadata | None
    ) -> None:
        """An Injection may write to this target, which was observed so (`None`: it is missing)."""
        extent = Extent(resource, target.namespace if resource.namespaced else None)
        if self._extents.get(key) != extent:
            self.leave(key)
            if self._group is None:
                return
            if not self._has_room(key.namespace, extent):
                self._unwatched.add(key)
                return
            self._join(key, extent, self._group)
        opened = self._open[extent]
        opened.use(key, (target.namespace, target.name), signature(observed) if observed else None)

    def _has_room(self, home: str, extent: Extent) -> bool:
        mine = self._homes.get(home, Counter[Extent]())
        if extent in mine:
            return True
        return len(mine) < MOST_OF_A_NAMESPACE and (extent in self._open or len(self._open) < MOST)

    def _join(self, key: Key, extent: Extent, group: asyncio.TaskGroup) -> None:
        if extent not in self._open:
            opened = self._open[extent] = _TargetWatch(extent, self._wake, self._reconciling)
            handler = Handler(opened.names, opened.applied, opened.removed, opened.health)
            watch = self._factory.open(*extent, Stub, handler)
            opened.task = group.create_task(self._run(watch))
        self._extents[key] = extent
        self._homes.setdefault(key.namespace, Counter())[extent] += 1

    async def _run(self, watch: Watch[Stub]) -> None:
        self._watches.append(watch)
        # Only `leave` and the end of the group cancel it; in both cases the group goes on.
        with suppress(asyncio.CancelledError):
            try:
                await watch.run()
            finally:
                self._watches.remove(watch)

    def leave(self, key: Key) -> None:
        """An Injection is gone, has another target, or may not write to it."""
        self._unwatched.discard(key)
        extent = self._extents.pop(key, None)
        if extent is None:
            return
        mine = self._homes[key.namespace]
        mine[extent] -= 1
        if not mine[extent]:
            del mine[extent]
        if not mine:
            del self._homes[key.namespace]
        opened = self._open[extent]
        if opened.leave(key):
            if opened.task:
                opened.task.cancel()
            del self._open[extent]

    @contextmanager
    def reconciling(self, key: Key) -> Iterator[None]:
        """A change of the target may be our own write: compare it when we are done."""
        self._reconciling.add(key)
        try:
            yield
        finally:
            self._reconciling.discard(key)
            if opened := self._watch_of(key):
                opened.compare_postponed(key)

    def problem(self, key: Key) -> Unwatched | None:
        """Why changes of a target go unnoticed; `None` if they do not."""
        if key in self._unwatched:
            return Unwatched(
                Reason.TOO_MANY_TARGETS,
                f"its target is not watched but looked at every minute: the Injections of a "
                f"namespace watch at most {MOST_OF_A_NAMESPACE} kinds and namespaces of targets, "
                f"and all together {MOST}",
            )
        opened = self._watch_of(key)
        return opened.problem if opened else None

    def _watch_of(self, key: Key) -> "_TargetWatch | None":
        extent = self._extents.get(key)
        return self._open.get(extent) if extent else None


class _TargetWatch:
    """One watch, and the Injections that use it."""

    def __init__(self, extent: Extent, wake: Callable[[Key], None], reconciling: set[Key]) -> None:
        self._extent, self._wake, self._reconciling = extent, wake, reconciling
        self._postponed: dict[Key, Signature | None] = {}
        self._targets: dict[Key, Name] = {}
        self._users: dict[Name, set[Key]] = {}
        self._observed: dict[Key, Signature | None] = {}
        """The target of each Injection when it was last reconciled."""
        self.problem: Unwatched | None = None
        self.task: asyncio.Task[None] | None = None

    def use(self, key: Key, target: Name, observed: Signature | None) -> None:
        if self._targets.get(key) != target:
            self.leave(key)
            self._targets[key] = target
            self._users.setdefault(target, set()).add(key)
        self._observed[key] = observed

    def leave(self, key: Key) -> bool:
        """Whether no Injection is left."""
        target = self._targets.pop(key, None)
        if target is not None:
            users = self._users[target]
            users.discard(key)
            if not users:
                del self._users[target]
        self._observed.pop(key, None)
        self._postponed.pop(key, None)
        return not self._targets

    def names(self) -> set[Name]:
        return set(self._users)

    def applied(self, obj: Stub) -> None:
        self._compare((obj.metadata.namespace, obj.metadata.name), signature(obj.metadata))

    def removed(self, name: Name) -> None:
        self._compare(name, None)

    def _compare(self, name: Name, now: Signature | None) -> None:
        for key in self._users.get(name, ()):
            if key in self._reconciling:
                self._postponed[key] = now
            elif self._observed.get(key) != now:
                self._wake(key)

    def compare_postponed(self, key: Key) -> None:
        if key in self._postponed and self._postponed.pop(key) != self._observed.get(key):
            self._wake(key)

    def health(self, state: Health) -> None:
        resource, namespace = self._extent
        where = f" in namespace {namespace}" if namespace else ""
        before, self.problem = self.problem, None
        if state == "forbidden":
            self.problem = Unwatched(
                Reason.FORBIDDEN,
                f"changes of the target go unnoticed: grant `list` and `watch` on "
                f"{resource.full_name}{where}",
            )
        if before != self.problem:
            for key in self._targets:
                self._wake(key)
