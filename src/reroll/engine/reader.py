"""Reads what the watches do not bring.

Contents of Secrets, sources that are referred to only now, the names that a glob means, workloads
whose Namespace changed, and the revisions of a workload.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.core.dialects.reroll import consents
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata, Owner
from reroll.core.model.moment import Moment
from reroll.core.model.podspec import given
from reroll.core.model.record import Record, read
from reroll.core.observe.snapshot import Absence, History
from reroll.core.observe.workload import Workload
from reroll.core.revisions.copies import copy_names, is_copy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind, Revisions, SourceKind, Watched, revision_number
from reroll.engine import keyring
from reroll.engine.content import Source, Stub, content, model
from reroll.engine.feed import MountFeed
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, NotFound

CONTINUE_LIMIT = 500
log = Log("reroll")
_source = msgspec.json.Decoder(Source)
_stub = msgspec.json.Decoder(Stub)


class _Page(msgspec.Struct, gc=False):
    class Meta(msgspec.Struct, gc=False, rename={"continue_": "continue"}):
        continue_: str = ""

    metadata: Meta
    items: list[Stub] | None = None


class _Manifests(msgspec.Struct, gc=False):
    items: list[Manifest] | None = None


class _Revision(msgspec.Struct, gc=False):
    """A ReplicaSet or ControllerRevision; only the latter has its number in a field."""

    metadata: Metadata
    revision: int = 0


class _Revisions(msgspec.Struct, gc=False):
    items: list[_Revision] | None = None


_page = msgspec.json.Decoder(_Page)
_revisions = msgspec.json.Decoder(_Revisions)
_manifests = msgspec.json.Decoder(_Manifests)
_manifest = msgspec.json.Decoder(Manifest)


resource = wire.resource_of


class Reader:
    """One queue of sources to read; a source is read once at a time, and again if it changed."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        world: World,
        kinds: Mapping[str, Kind],
        problem: Callable[[Key, str], None],
    ) -> None:
        self._client, self._world, self.kinds, self._problem = client, world, kinds, problem
        self._rows = world.tables.sources_by_name
        custom = [row for row in self._rows.values() if row.paths]
        self._decoders = {row.name: msgspec.json.Decoder(model(row)) for row in custom}
        self._queue: Queue[Key] = Queue(clock)
        self._backoff = Backoff(clock)
        self.mounts: list[MountFeed] = []
        self.digest_key: Key | None = None

    def want(self, key: Key) -> None:
        """Read a source, a glob's namespace, a workload, or all workloads of a Namespace."""
        self._queue.add(key)

    async def run(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._read(key)
                self._backoff.succeeded(key)
            except ApiError as error:
                self._problem(key, str(error))
                self._queue.add(key, self._backoff.failed(key, error.retry_after or 0.0))
            except Exception:  # what cannot be read now is no reason to read nothing else
                log.exception("bug", object=str(key))
                self._queue.add(key, self._backoff.failed(key, at_least=5.0))
            finally:
                self._queue.done(key)

    async def catch_up(self, readers: int = 8) -> None:
        """Read all that is wanted, and what that makes wanted; what fails ends it."""

        async def read() -> None:
            while self._queue.is_ready:
                key = await self._queue.get()
                try:
                    await self._read(key)
                finally:
                    self._queue.done(key)

        while self._queue.is_ready:
            await asyncio.gather(*(read() for _ in range(readers)))

    async def _read(self, key: Key) -> None:
        if key == self.digest_key:
            self._world.rekey(*await keyring.load(self._client, key.namespace, key.name))
            return
        if key.kind == "Namespace":
            for kind in self.kinds.values():
                await self._workloads(kind, key.name)
            return
        if key.kind in self.kinds:
            await self.workload(self.kinds[key.kind], key)
            return
        row = self._rows[key.kind]
        if row.watched is Watched.STATUSES:
            if key.name and self._world.sources.asks(key):
                await self._annotations(key)
            for feed in self.mounts:
                feed.tell_again(key)
            if not key.name:
                self._world.expanded(key.kind, key.namespace)
        elif not key.name:
            await self._expand(key)
        elif source := self._world.copies.in_doubt(key):
            await self._judge(key, source)
        elif key in self._world.sources:
            await self._fetch(key, at_least=self._world.sources.take_told(key))

    async def confirm(self, sources: Iterable[Key]) -> None:
        """Read them again, now."""
        for key in sources:
            if self._rows[key.kind].watched is not Watched.STATUSES:
                await self._fetch(key)

    async def _fetch(self, key: Key, *, at_least: int = 0) -> None:
        row = self._rows[key.kind]
        if not await self._may_be_read(row, key):
            self._world.sources.content_seen(key, Absence.MISSING, 0)
            return
        before, latest = self._world.sources.version(key), self._world.latest
        request = wire.get(resource(row), key.namespace, key.name, at_least=at_least)
        try:
            raw = await self._client.send(request)
        except NotFound:
            # Unless a watch told meanwhile that it was made.
            if self._world.sources.version(key) == before:
                self._world.sources.content_seen(key, Absence.MISSING, 0)
        except Forbidden as error:
            self._world.sources.content_seen(key, Absence.FORBIDDEN, 0)
            self._problem(key, f"{error}; grant `get` on {row.plural}")
            self._queue.add(key, self._backoff.failed(key, at_least=30.0))
        else:
            source = self._decoders.get(row.name, _source).decode(raw)
            self._world.sources.seen(row, source, watched=False)
            if not at_least:
                self._world.sources.confirmed(key, latest)

    async def _may_be_read(self, row: SourceKind, key: Key) -> bool:
        """Whether a source whose content nobody of its own namespace asks for lets others do so.

        Otherwise anybody could have every Secret of the cluster read, again and again.
        """
        strangers = self._world.sources.strangers(key)
        if not strangers or row.watched is not Watched.METADATA:
            return True
        request = wire.get(resource(row), key.namespace, key.name, metadata_only=True)
        try:
            annotations = _stub.decode(await self._client.send(request)).metadata.annotations
        except NotFound:
            return False
        except Forbidden:
            return True  # it is told when the content is asked for
        return any(consents(annotations, namespace) for namespace in strangers)

    async def _judge(self, copy: Key, source: Key) -> None:
        """Whether a copy that somebody else made holds what its name says."""
        row = self._rows[copy.kind]
        try:
            raw = await self._client.send(wire.get(resource(row), copy.namespace, copy.name))
        except NotFound:
            return  # Its watch tells.
        found = _source.decode(raw)
        keyring = self._world.sources.keyring if row.keyed else None
        holds = content(found, keyring, Moment())
        is_right = holds.immutable and copy.name in copy_names(source, holds)
        self._world.copies.judged(copy, found.metadata, is_right=is_right)

    async def _annotations(self, key: Key) -> None:
        """What a class itself says: what is watched are the reports of those that mount it."""
        row, annotations = self._rows[key.kind], {}
        request = wire.get(resource(row), key.namespace, key.name, metadata_only=True)
        try:
            annotations = _stub.decode(await self._client.send(request)).metadata.annotations or {}
        except NotFound:
            pass
        except Forbidden as error:
            self._problem(key, f"{error}; grant `get` on {row.plural}")
        self._world.sources.annotations_seen(key, annotations)

    async def _expand(self, place: Key) -> None:
        """The sources of a namespace, by name, for the globs that mean some of them."""
        try:
            await self._find(place)
        except Forbidden as error:
            # Whoever has such a glob goes on with what is known.
            self._problem(place, f"{error}; grant `list` on {self._rows[place.kind].plural}")
            self._queue.add(place, self._backoff.failed(place, at_least=30.0))
        self._world.expanded(place.kind, place.namespace)

    async def _find(self, place: Key) -> None:
        kind, token = resource(self._rows[place.kind]), ""
        while True:
            request = wire.list_page(
                kind, place.namespace, limit=CONTINUE_LIMIT, continue_=token, metadata_only=True
            )
            page = _page.decode(await self._client.send(request))
            for item in given(page.items):
                key = Key(place.kind, place.namespace, item.metadata.name)
                if self._world.globbed(key):
                    self._world.sources.version_seen(
                        key, item.metadata.version, watched=False, is_copy=is_copy(item.metadata)
                    )
            token = page.metadata.continue_
            if not token:
                return

    async def _workloads(self, kind: Kind, namespace: str) -> None:
        """Look anew at all workloads of a namespace, as after its annotations changed."""
        try:
            raw = await self._client.send(wire.list_page(resource(kind), namespace, limit=0))
        except (NotFound, Forbidden):
            return  # Its watch tells people about that.
        for manifest in given(_manifests.decode(raw).items):
            self._world.workload_seen(kind, manifest)

    async def workload(self, kind: Kind, key: Key) -> Manifest | None:
        """The workload as it is now; it is put into the world too."""
        try:
            raw = await self._client.send(wire.get(resource(kind), key.namespace, key.name))
        except NotFound:
            self._world.workload_gone(key)
            return None
        manifest = _manifest.decode(raw)
        self._world.workload_seen(kind, manifest)
        return manifest

    async def history(self, kind: Kind, seen: Workload) -> History:
        """What the revisions of a workload tell."""
        revisions = wire.Resource("apps", "v1", kind.revisions.value, "")
        numbered = kind.revisions is Revisions.CONTROLLER_REVISIONS
        selector = ",".join(f"{key}={value}" for key, value in seen.selector)
        request = wire.list_page(
            revisions,
            seen.key.namespace,
            limit=0,
            label_selector=selector or None,
            metadata_only=not numbered,
        )
        page = _revisions.decode(await self._client.send(request))
        owned = [
            item for item in given(page.items) if _owned(item.metadata.owner_references, seen.uid)
        ]
        current = max(owned, key=_place, default=None)
        return History(
            newest=current.metadata.creation_timestamp if current else None,
            latest=_latest([one.metadata for one in owned]),
        )


def _owned(owners: list[Owner] | None, uid: str) -> bool:
    return any(owner.uid == uid for owner in owners or ())


def _place(one: _Revision) -> int:
    return revision_number(one.metadata.annotations, one.revision)


def _latest(revisions: list[Metadata]) -> Record | None:
    """Of the records that Kubernetes copied to the revisions, the one with the highest number."""
    found = [read((one.annotations or {}).get(STATE)) for one in revisions]
    records = [record for record in found if isinstance(record, Record)]
    return max(records, key=lambda record: record.n, default=None)
