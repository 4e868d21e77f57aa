"""Deletes copies that nobody owns and nothing names: Kubernetes collects only what has had owners.

Kubernetes takes a revision that is gone off a copy that still has a workload, and does not look
again whether it has one by then. So a workload that leaves a copy at that moment leaves it to
nobody; and people take owners off, and backups bring copies back without them. All of that is seen
in the index of copies, whenever and by whomever it was done.

What is too young is left alone: a restore brings copies first, and the workloads that name them
minutes later. Only where we ourselves took the workload off, there is nothing to wait for.
"""

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker, delay_after
from reroll.core.model.key import Key
from reroll.core.revisions.content_names import COPY_OF
from reroll.core.tables.kinds import Kind
from reroll.engine.content import Source, is_copy_right
from reroll.engine.world import World
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, NotFound
from reroll.kube.objects import Revision
from reroll.kube.wire import Deletion, Resource

log = Log("reroll")
SOON = 1.0
"""Seconds in which Kubernetes takes a revision that is gone off the copies that it owned."""
AGAIN = 600.0
"""Seconds between two looks at the copies of all namespaces."""
YOUNG = timedelta(hours=1)
WORKERS = 2
AT_ONCE = 50
"""So many copies of a namespace are looked at in a row, then those of others have their turn."""


class Ownerless:
    def __init__(
        self, client: Client, clock: Clock, world: World, kinds: Mapping[str, Kind]
    ) -> None:
        self._client, self._clock, self._world = client, clock, world
        self._copies, self._kinds = world.copies, kinds
        self._left: set[Key] = set()
        self._queue: Queue[str] = Queue(clock)
        self._backoff = Backoff(clock)
        self._worker = Worker(
            self._queue, self._look, self._backoff, on_error=self._failed, noun="namespace"
        )

    def left(self, copy: Key) -> None:
        """We took a workload off this copy, because others own it that were there a moment ago."""
        self._left.add(copy)
        self._queue.add(copy.namespace, SOON)

    async def run(self) -> None:
        """Look again and again, until cancelled; only where this replica is the leader."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._worker.run(WORKERS))
                while True:
                    for namespace in {copy.namespace for copy in self._copies.ownerless()}:
                        self._queue.add(namespace)
                    await asyncio.sleep(AGAIN)
        finally:
            self._queue.clear()
            self._left.clear()

    def _failed(self, namespace: str, error: Exception) -> float:
        if isinstance(error, ApiError):
            log.warning("cannot collect copies", namespace=namespace, problem=str(error))
        return delay_after(self._backoff, namespace, error)

    async def _look(self, namespace: str) -> float | None:
        left = {copy for copy in self._left if copy.namespace == namespace}
        copies = list(self._copies.ownerless(namespace))
        random.shuffle(copies)  # Those that have to stay do not keep the others from their turn.
        copies.sort(key=lambda copy: copy not in left)
        named = await self._named(namespace, {copy.name for copy in copies})
        doomed = [copy for copy in copies if copy.name not in named]
        for copy in doomed[:AT_ONCE]:
            await self._delete(copy, is_left=copy in left)
        self._left -= left
        if copies:
            log.debug("nobody owns", namespace=namespace, copies=len(copies), named=len(named))
        return None

    async def _named(self, namespace: str, names: Iterable[str]) -> set[str]:
        """Those that anything mentions which makes pods, or keeps how it made them."""
        wanted, found = frozenset(names), set[str]()
        for resource in self._users() if wanted else ():
            try:
                async for page in api.pages(self._client, resource, namespace, Revision):
                    if page.malformed:
                        raise page.malformed[0]
                    for one in page.items:
                        found |= one.mentions(wanted, annotations=True)
                        await asyncio.sleep(0)  # A page has 8 MiB: others have turns meanwhile.
            except NotFound:
                continue  # A kind that is not installed.
        return found

    def _users(self) -> Iterator[Resource]:
        yield from (resources.of(kind) for kind in self._kinds.values())
        yield from resources.REVISIONS.values()
        if resources.JOBS.kind not in self._kinds:
            yield resources.JOBS

    async def _delete(self, copy: Key, *, is_left: bool) -> None:
        """Delete it if it is a copy indeed, by its content; of any other nothing is known."""
        row, sources = self._world.sources.rows[copy.kind], self._world.sources
        place = resources.of(row), copy.namespace, copy.name
        document = await api.find(self._client, *place, Source)
        if document is None or document.metadata.owner_references:
            return  # Its watch tells.
        metadata = document.metadata
        plain = (metadata.annotations or {}).get(COPY_OF) or (metadata.labels or {}).get(COPY_OF)
        source = copy._replace(name=plain or "")
        keys = sources.keyring if row.keyed else None
        created = metadata.creation_timestamp
        is_young = created is None or self._clock.now() - created < YOUNG
        if (is_young and not is_left) or not is_copy_right(document, copy, source, keys):
            return
        if self._copies.is_used(copy):
            return
        guard: Deletion = {"uid": metadata.uid, "resource_version": metadata.resource_version}
        try:
            await api.delete(self._client, *place, **guard)
        except Conflict:
            return  # Somebody wrote to it: it is looked at again.
        log.info("collected", copy=str(copy))
        self._copies.gone(copy)
