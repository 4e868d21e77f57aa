"""Reads what the watches do not bring, as a table from want to function.

A want is read once at a time, and again if it is wanted while it is read. What cannot be read now
is tried again with growing delays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from reroll.clock import Clock
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.stranded import Stranded
from reroll.controller.worker import Worker, delay_after
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.snapshot import Absence, History
from reroll.core.observe.workload import Workload
from reroll.core.tables.kinds import Kind, Revisions
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.engine import keyring
from reroll.engine.content import Source, is_copy_right, is_wide, model
from reroll.engine.feeds import Feeds
from reroll.engine.revisited import Revisited
from reroll.engine.wants import (
    CopyContent,
    DigestKeys,
    GlobMatches,
    MountReports,
    NamespaceWorkloads,
    SourceContent,
    Want,
    WorkloadState,
    share,
)
from reroll.engine.world import World
from reroll.kube import api, lists, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.kube.objects import Revision, Stub

AFTER_REFUSAL = 30.0
"""Seconds at least before asking again for what may not be read."""
READERS = 16
OF_ONE_NAMESPACE = 8
"""So many of them at most read for one namespace."""


class Reader:
    """`problem(what, sentence)` is called for what cannot be read."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        world: World,
        kinds: Mapping[str, Kind],
        feeds: Feeds,
        problem: Callable[[str, str], None],
    ) -> None:
        self._client, self._world, self.kinds = client, world, kinds
        self._feeds, self._problem = feeds, problem
        self._rows = world.tables.sources_by_name
        self._models = {row.name: model(row) for row in self._rows.values() if row.paths}
        self._queue: Queue[Want] = Queue(clock, share=share, most=OF_ONE_NAMESPACE)
        self._backoff = Backoff(clock)
        self._wide = asyncio.Lock()
        self._worker = Worker(
            self._queue, self._read, self._backoff, on_error=self._failed, noun="object"
        )
        self._stranded: Stranded[Want] = Stranded(client.outage, self._retry)
        self._functions: dict[type[Want], Callable[[Any], Awaitable[float | None]]] = {
            DigestKeys: self._digest_keys,
            NamespaceWorkloads: self._namespace,
            WorkloadState: self._workload,
            GlobMatches: self._glob,
            MountReports: self._mounts,
            CopyContent: self._copy,
            SourceContent: self._source,
        }

    def want(self, want: Want) -> None:
        self._queue.add(want)

    def has(self, want: Want) -> None:
        """What was wanted is known by now."""
        self._queue.withdraw(want)

    def _retry(self, want: Want) -> None:
        self._backoff.succeeded(want)
        self._queue.add(want)

    async def run(self) -> None:
        """Read what is wanted, until cancelled."""
        await self._worker.run(READERS)

    async def catch_up(self) -> None:
        """Read all that is wanted, and what that makes wanted; an error ends it."""
        await self._worker.run_until_idle(READERS)

    async def _read(self, want: Want) -> float | None:
        delay = await self._functions[type(want)](want)
        self._stranded.ended(want)
        return delay

    def _failed(self, want: Want, error: Exception) -> float:
        if isinstance(error, ApiError):
            self._problem(_name(want), str(error))
        self._stranded.ended(want, error)
        return delay_after(self._backoff, want, error)

    def _refused(self, want: Want, error: Forbidden, right: str) -> float:
        self._problem(_name(want), f"{error}; grant {right}")
        return self._backoff.failed(want, at_least=AFTER_REFUSAL)

    # One function a want

    async def _digest_keys(self, _: DigestKeys) -> None:
        place = self._world.sources.digest_keys
        keys = await keyring.load(self._client, place.namespace, place.name)
        self._world.rekey(*keys)

    async def _namespace(self, want: NamespaceWorkloads) -> None:
        for kind in self.kinds.values():
            pages = api.pages(self._client, resources.of(kind), want.namespace, Manifest)
            try:
                async for page in pages:
                    for manifest in page.items:
                        self._world.workload_seen(kind, manifest)
            except (NotFound, Forbidden):
                continue  # Its watch reports that.

    async def _workload(self, want: WorkloadState) -> None:
        if kind := self.kinds.get(want.key.kind):
            await self.workload(kind, want.key)

    async def _glob(self, want: GlobMatches) -> float | None:
        """The sources of a namespace, by name, for the globs that match some of them.

        A glob that comes while they are read is not done with: pages before it were not matched.
        """
        as_of, row = self._world.references.latest_glob, self._rows[want.kind]
        delay = None
        if row.watched is Watched.STATUSES:
            for feed in self._feeds.mounts:
                feed.tell_of(want.namespace)
        else:
            delay = await self._names(want, row)
        self._world.references.expanded(want, as_of)
        return delay

    async def _names(self, want: GlobMatches, row: SourceKind) -> float | None:
        pages = api.pages(self._client, resources.of(row), want.namespace, Stub)
        try:
            async for page in pages:
                for stub in page.items:
                    key = Key(want.kind, want.namespace, stub.metadata.name)
                    self._world.sources.metadata_seen(key, stub.metadata, watched=False)
        except Forbidden as error:
            # A workload with such a glob goes on with what is known.
            return self._refused(want, error, f"`list` on {row.plural}")
        return None

    async def _mounts(self, want: MountReports) -> None:
        if self._world.sources.asks(want.key):
            await self._annotations(want)
        for feed in self._feeds.mounts:
            feed.tell_again(want.key)

    async def _annotations(self, want: MountReports) -> None:
        """What a class itself says: the watch brings only the reports of pods that mount it."""
        key, row = want.key, self._rows[want.key.kind]
        annotations: dict[str, str] = {}
        try:
            stub = await api.find(self._client, resources.of(row), key.namespace, key.name, Stub)
            annotations = (stub.metadata.annotations if stub else None) or {}
        except Forbidden as error:
            self._problem(_name(want), f"{error}; grant `get` on {row.plural}")
        self._world.sources.annotations_seen(key, annotations)

    async def _copy(self, want: CopyContent) -> None:
        """Whether a copy that we did not make holds what its name says."""
        copy, row = want.key, self._rows[want.key.kind]
        source = self._world.copies.in_doubt(copy)
        if source is None:
            return
        place = resources.of(row), copy.namespace, copy.name
        document = await api.find(self._client, *place, Source)
        if document is None:
            return  # Its watch tells.
        keys = self._world.sources.keyring if row.keyed else None
        is_right = is_copy_right(document, copy, source, keys)
        self._world.copies.judged(copy, document.metadata, is_right=is_right)

    async def _source(self, want: SourceContent) -> float | None:
        sources = self._world.sources
        if want.key not in sources:
            return None
        if seconds := sources.fanout.wait(want.key.namespace):
            return seconds
        return await self._fetch(want.key, at_least=sources.take_told(want.key))

    async def confirm(self, sources: Iterable[Key]) -> None:
        """Read sources again, now."""
        for key in sources:
            if self._rows[key.kind].watched is not Watched.STATUSES:
                delay = await self._fetch(key)
                if delay is not None:
                    self._queue.add(self._world.sources.content_of(key), delay)

    async def _observe(self, row: SourceKind, source: Source) -> None:
        """One with very many keys takes a while: one at a time, and with breaks."""
        sources = self._world.sources
        if row.paths or not is_wide(source):
            sources.observe(row, source, watched=False)
            return
        async with self._wide:
            await asyncio.sleep(0)
            for _ in sources.observe_in_pieces(row, source, watched=False):
                await asyncio.sleep(0)

    async def _fetch(self, key: Key, *, at_least: int = 0) -> float | None:
        row, sources = self._rows[key.kind], self._world.sources
        if not await self._may_be_read(row, key):
            return None
        before, latest = sources.version(key), self._world.latest
        place = resources.of(row), key.namespace, key.name
        model = self._models.get(row.name, Source)
        try:
            source = await api.find(self._client, *place, model, at_least=at_least)
        except Forbidden as error:
            sources.content_seen(key, Absence.FORBIDDEN, 0)
            return self._refused(sources.content_of(key), error, f"`get` on {row.plural}")
        if source is not None:
            await self._observe(row, source)
            if not at_least:
                sources.confirmed(key, latest)
        elif sources.version(key) == before:
            # Otherwise a watch saw that it was made.
            sources.content_seen(key, Absence.MISSING, 0)
        return None

    async def _may_be_read(self, row: SourceKind, key: Key) -> bool:
        """Whether a source that only other namespaces refer to lets one of them do so.

        Otherwise a tenant could have every Secret of the cluster read, again and again. The answer
        of a list does not tell whether the source exists, in any count of calls.
        """
        sources = self._world.sources
        if not sources.strangers(key):
            return True
        place = resources.of(row), key.namespace
        which = f"metadata.name={key.name}"
        try:
            stubs = await api.every(self._client, *place, Stub, field_selector=which)
        except Forbidden:
            return True  # It is reported when the content is read.
        return sources.opens(key, stubs[0].metadata.annotations if stubs else None)

    # What a decision asks for

    async def workload(self, kind: Kind, key: Key) -> Manifest | None:
        """The workload as it is now; the world learns it too."""
        place = resources.of(kind), key.namespace, key.name
        manifest = await api.find(self._client, *place, Manifest)
        if manifest is None:
            self._world.workload_gone(key)
        else:
            self._world.workload_seen(kind, manifest)
        return manifest

    async def history(self, kind: Kind, workload: Workload) -> History:
        """What the revisions of a workload tell."""
        numbered = kind.revisions is Revisions.CONTROLLER_REVISIONS
        told = Revisited(workload.uid)
        await lists.extract(
            self._client,
            resources.REVISIONS[kind.revisions],
            workload.key.namespace,
            Revision,
            told.see,
            label_selector=api.selector(workload.selector) or None,
            metadata_only=not numbered,
        )
        return told.history


def _name(want: Want) -> str:
    """What a want is called in a message."""
    if isinstance(want, NamespaceWorkloads):
        return f"Namespace {want.namespace}"
    if isinstance(want, GlobMatches):
        return f"{want.kind} {want.namespace}/"
    return "digest keys" if isinstance(want, DigestKeys) else str(want.key)
