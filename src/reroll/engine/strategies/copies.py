"""Makes copies of sources: of exactly what was decided on, and owned before any pod uses them.

A copy that exists is used as it is, if it holds what its name says. One that holds something else
is deleted, that very one, and made again; what has the name and is no copy by its label stays, and
is reported. Content is fetched for it, sent, and dropped.
"""

from collections.abc import Iterable
from typing import Any

from reroll.core.decide.actions import MakeCopies
from reroll.core.model.content import Content
from reroll.core.model.key import Key, Problem
from reroll.core.model.moment import Moment
from reroll.core.observe.snapshot import Snapshot
from reroll.core.revisions.content_names import COPY_OF
from reroll.core.revisions.copies import copy_marks, copy_names, is_copy_of
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.content import Source, content, copied, is_same
from reroll.engine.copies import Copies
from reroll.engine.outcome import SLOWLY, Amended, Blocked, Step, Turn
from reroll.engine.sources import Sources
from reroll.kube import api, owners, resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, Rejected
from reroll.kube.objects import OwnerRef, Stub
from reroll.kube.wire import Resource

_CONTENT_FIELDS: tuple[str, ...] = ("data", "binaryData", "type")
_REFUSALS = (Forbidden, Invalid, Rejected)


class CopyMaker:
    def __init__(self, client: Client, sources: Sources, copies: Copies) -> None:
        self._client, self._sources, self._copies = client, sources, copies

    async def make(self, turn: Turn, action: MakeCopies) -> Step:
        """Have these copies exist, owned by the workload.

        Raises `Conflict` where a source is not what was decided on.
        """
        snapshot, replaced = turn.snapshot, []
        owner = None if snapshot.kind.fixed else owner_of(snapshot)
        for source, name in action.copies:
            copy = Key(source.kind, source.namespace, name)
            if self._exists(snapshot, copy, owner):
                continue
            try:
                if await self._make(snapshot, source, copy, owner):
                    replaced.append(copy)
            except _REFUSALS as error:
                reason = Reason.COPY_REFUSED
                return Blocked(reason, f"{reason.sentence}: {copy}: {error.message}", SLOWLY)
        if not replaced or turn.plan.reason is Reason.COPY_RESTORED:
            return Amended()
        names = ", ".join(map(str, replaced))
        problem = Problem(f"{Reason.COPY_RESTORED.sentence}: {names}", Reason.COPY_RESTORED)
        return Amended(problems=(problem,))

    def _exists(self, snapshot: Snapshot, copy: Key, owner: OwnerRef | None) -> bool:
        known = self._copies.get(copy)
        if known is None or copy in snapshot.copies_missing:
            return False
        return owner is None or owner.uid in known.owner_ids

    async def _make(
        self, snapshot: Snapshot, source: Key, copy: Key, owner: OwnerRef | None
    ) -> bool:
        """Whether another object was in its place."""
        decided_on = snapshot.sources.get(source)
        if not isinstance(decided_on, Content) or copy.name not in copy_names(source, decided_on):
            # A pin that stays though its source holds something else that does not matter here.
            await self._own(copy, owner)
            return False
        document = await self._fetch(snapshot, source, decided_on)
        body = _body(document, source, copy, owner)
        try:
            await self._create(copy, body)
        except AlreadyExists:
            return await self._reuse(source, copy, decided_on, body, owner)
        return False

    async def _fetch(self, snapshot: Snapshot, source: Key, decided_on: Content) -> dict[str, Any]:
        """The source as it is, which must be what was decided on."""
        row = self._sources.rows[source.kind]
        changed = f"{source} changed while {snapshot.workload.key} was about to roll"
        request = wire.get(resources.of(row), source.namespace, source.name)
        try:
            raw = await self._client.send(request)
        except NotFound:
            raise Conflict(changed) from None
        served = decoded(raw, Source, str(source))
        if not is_same(decided_on, self._content(row, served)):
            self._sources.observe(row, served, watched=False)
            raise Conflict(changed)
        return decoded(raw, dict[str, Any], str(source))

    def _content(self, row: SourceKind, source: Source) -> Content:
        return content(source, self._sources.keyring if row.keyed else None, Moment())

    async def _create(self, copy: Key, body: dict[str, Any]) -> None:
        # Only its metadata comes back: what it holds is not worth sending.
        stub = await api.create(self._client, self._resource(copy), copy.namespace, body, Stub)
        self._copies.made(copy, stub.metadata)

    async def _reuse(
        self,
        source: Key,
        copy: Key,
        decided_on: Content,
        body: dict[str, Any],
        owner: OwnerRef | None,
    ) -> bool:
        """One of that name exists: use it if it holds this, replace it if it is a spoilt copy."""
        place = self._resource(copy), copy.namespace, copy.name
        served = await api.find(self._client, *place, Source)
        if served is None:
            raise Conflict(f"{copy} was deleted at this moment")
        holds = self._content(self._sources.rows[copy.kind], copied(served, source))
        if is_same(decided_on, holds) and holds.immutable and holds.type == decided_on.type:
            self._copies.made(copy, served.metadata)
            await self._own(copy, owner)
            return False
        if holds.immutable and copy.name in copy_names(source, holds):
            raise Rejected(f"another content of {source} has the same digest; change {source}")
        if not is_copy_of(served.metadata, source.name):
            raise Rejected(f"something else has its name, and has no label {COPY_OF}; delete it")
        if served.metadata.deletion_timestamp is None and not await api.delete(
            self._client, *place, uid=served.metadata.uid
        ):
            raise Conflict(f"{copy} was deleted at this moment")
        await self._create(copy, body)
        return True

    async def _own(self, copy: Key, owner: OwnerRef | None) -> None:
        known = self._copies.get(copy)
        if owner is None or (known is not None and owner.uid in known.owner_ids):
            return
        if known is not None and not known.is_ours:
            return
        try:
            await change_owners(self._client, self._resource(copy), copy, self._copies, [owner])
        except NotFound:
            raise Conflict(f"{copy} was deleted at this moment") from None

    def _resource(self, copy: Key) -> Resource:
        return resources.of(self._sources.rows[copy.kind])


def owner_of(snapshot: Snapshot) -> OwnerRef:
    """The workload, as an owner of its copies."""
    resource, workload = resources.of(snapshot.kind), snapshot.workload
    return OwnerRef(resource.api_version, resource.kind, workload.key.name, workload.uid)


async def change_owners(
    client: Client,
    resource: Resource,
    copy: Key,
    copies: Copies,
    add: Iterable[OwnerRef],
    drop: Iterable[str] = (),
) -> None:
    """Add owners to a copy and take others away, by uid, whatever else changes at the same time."""
    known = copies.get(copy)
    uid = known.uid if known else ""
    copies.made(copy, await owners.change(client, resource, copy, add, drop, uid))


def _body(
    document: dict[str, Any], source: Key, copy: Key, owner: OwnerRef | None
) -> dict[str, Any]:
    """The whole content, and nothing else of the source: other tools read its labels."""
    labels, annotations = copy_marks(source.name)
    metadata: dict[str, Any] = {"name": copy.name, "namespace": copy.namespace, "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    if owner is not None:
        metadata["ownerReferences"] = [owner.reference]
    holds = {field: document[field] for field in _CONTENT_FIELDS if field in document}
    return {
        "apiVersion": "v1",
        "kind": copy.kind,
        "metadata": metadata,
        "immutable": True,
        **holds,
    }
