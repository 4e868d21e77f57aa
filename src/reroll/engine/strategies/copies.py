"""Makes copies of sources: of exactly what was decided on, and owned before anybody uses them.

A copy that exists is used as it is, if it holds what its name says. One that somebody made anew
with something else in it is deleted, that very one, and made again. Content is fetched for it,
sent, and dropped.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.observe.snapshot import Snapshot
from reroll.core.revisions.copies import copy_marks, copy_names
from reroll.core.tables.kinds import SourceKind
from reroll.core.tables.reasons import Reason
from reroll.engine.content import Source, Stub, content, is_same
from reroll.engine.copies import Copies
from reroll.engine.sources import Sources
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, Rejected
from reroll.kube.objects import Owner

_source = msgspec.json.Decoder(Source)
_stub = msgspec.json.Decoder(Stub)
_KEPT: tuple[str, ...] = ("data", "binaryData", "type")
_REFUSALS = (Forbidden, Invalid, Rejected)


class RefusedError(Exception):
    """A copy that cannot be made: a sentence with the words of the API server."""


class Maker:
    def __init__(self, client: Client, sources: Sources, copies: Copies) -> None:
        self._client, self._sources, self._copies = client, sources, copies

    async def make(
        self, seen: Snapshot, wanted: Iterable[tuple[Key, str]], owner: Owner | None
    ) -> list[Key]:
        """Have these copies there, with this owner; those that were another's until now.

        Raises `Conflict` where a source is not what was decided on, and `RefusedError`.
        """
        replaced = []
        for source, name in wanted:
            copy = Key(source.kind, source.namespace, name)
            if self._is_there(seen, copy, owner):
                continue
            try:
                if await self._make(seen, source, copy, owner):
                    replaced.append(copy)
            except _REFUSALS as error:
                reason = Reason.COPY_REFUSED.sentence
                raise RefusedError(f"{reason}: {copy}: {error.message}") from error
        return replaced

    def _is_there(self, seen: Snapshot, copy: Key, owner: Owner | None) -> bool:
        known = self._copies.get(copy)
        if known is None or copy in seen.copies_missing:
            return False
        return owner is None or owner.uid in known.owner_ids

    async def _make(self, seen: Snapshot, source: Key, copy: Key, owner: Owner | None) -> bool:
        """Whether another one was in its place."""
        decided_on = seen.sources.get(source)
        if not isinstance(decided_on, Content) or copy.name not in copy_names(source, decided_on):
            # A pin that stays though its source holds something else that does not matter here.
            await self._own(copy, owner)
            return False
        document = await self._fetch(seen, source, decided_on)
        body = _copy(document, source, copy, owner)
        try:
            await self._create(copy, body)
        except AlreadyExists:
            return await self._reuse(source, copy, decided_on, body, owner)
        return False

    async def _fetch(self, seen: Snapshot, source: Key, decided_on: Content) -> dict[str, Any]:
        """The source as it is, which must be what was decided on."""
        row = self._sources.rows[source.kind]
        request = wire.get(wire.resource_of(row), source.namespace, source.name)
        changed = f"{source} changed while {seen.workload.key} was about to roll"
        try:
            raw = await self._client.send(request)
        except NotFound:
            raise Conflict(changed) from None
        found = _source.decode(raw)
        if not is_same(decided_on, self._content(row, found)):
            self._sources.seen(row, found, watched=False)
            raise Conflict(changed)
        document: dict[str, Any] = msgspec.json.decode(raw)
        return document

    def _content(self, row: SourceKind, found: Source) -> Content:
        return content(found, self._sources.keyring if row.keyed else None, Moment())

    async def _create(self, copy: Key, body: dict[str, Any]) -> None:
        request = wire.create(self._resource(copy), copy.namespace, body)
        # What it holds is not worth sending back.
        raw = await self._client.send(replace(request, accept=wire.METADATA))
        self._copies.made(copy, _stub.decode(raw).metadata)

    async def _reuse(
        self,
        source: Key,
        copy: Key,
        decided_on: Content,
        body: dict[str, Any],
        owner: Owner | None,
    ) -> bool:
        """One of that name is there: take it if it is a copy of this, else put ours there."""
        row = self._sources.rows[copy.kind]
        try:
            raw = await self._client.send(wire.get(self._resource(copy), copy.namespace, copy.name))
        except NotFound:
            raise Conflict(f"{copy} was deleted at this moment") from None
        found = _source.decode(raw)
        holds = self._content(row, found)
        if is_same(decided_on, holds) and holds.immutable and holds.type == decided_on.type:
            self._copies.made(copy, found.metadata)
            await self._own(copy, owner)
            return False
        if holds.immutable and copy.name in copy_names(source, holds):
            raise Rejected(f"another content of {source} has the same digest; change {source}")
        if found.metadata.deletion_timestamp is None:
            request = wire.delete(
                self._resource(copy), copy.namespace, copy.name, uid=found.metadata.uid
            )
            try:
                await self._client.send(request)
            except NotFound:  # not the workload, which would be forgotten
                raise Conflict(f"{copy} was deleted at this moment") from None
        await self._create(copy, body)
        return True

    async def _own(self, copy: Key, owner: Owner | None) -> None:
        known = self._copies.get(copy)
        if owner is None or (known is not None and owner.uid in known.owner_ids):
            return
        if known is not None and not known.is_ours:
            return
        try:
            await change_owners(self._client, self._resource(copy), copy, self._copies, [owner])
        except NotFound:
            raise Conflict(f"{copy} was deleted at this moment") from None

    def _resource(self, copy: Key) -> wire.Resource:
        return wire.resource_of(self._sources.rows[copy.kind])


async def change_owners(
    client: Client,
    resource: wire.Resource,
    copy: Key,
    copies: Copies,
    add: Iterable[Owner],
    drop: Iterable[str] = (),
) -> None:
    """Add owners to a copy and take others away, by uid, whoever else changes them meanwhile."""
    owners: list[dict[str, Any]] = [owner.reference for owner in add]
    owners += [{"$patch": "delete", "uid": uid} for uid in drop]
    known = copies.get(copy)
    guard = {"uid": known.uid} if known else {}
    body = {"metadata": {**guard, "ownerReferences": owners}}
    request = wire.strategic_patch(resource, copy.namespace, copy.name, body)
    raw = await client.send(replace(request, accept=wire.METADATA))
    copies.made(copy, _stub.decode(raw).metadata)


def _copy(document: dict[str, Any], source: Key, copy: Key, owner: Owner | None) -> dict[str, Any]:
    """The whole content, and nothing else of the source: its labels are read by other tools."""
    labels, annotations = copy_marks(source.name)
    metadata: dict[str, Any] = {"name": copy.name, "namespace": copy.namespace, "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    if owner is not None:
        metadata["ownerReferences"] = [owner.reference]
    kept = {field: document[field] for field in _KEPT if field in document}
    return {
        "apiVersion": "v1",
        "kind": copy.kind,
        "metadata": metadata,
        "immutable": True,
        **kept,
    }
