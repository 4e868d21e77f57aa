"""Puts a value into a target, and takes it out again: the only code that writes to one.

A field is written by server-side apply, under the Injection's own field manager. Applying replaces
an atomic list or map as a whole; there, one field is written by a JSON Patch under the same name,
guarded by the version that was read. No error that leaves here holds a value.
"""

from typing import Any, NamedTuple

import msgspec

from reroll.core.model import fieldpaths
from reroll.core.model.fieldpaths import Path, PathError
from reroll.core.model.injection import Injection, Written
from reroll.core.model.metadata import Metadata
from reroll.features.injection.decide import Seen, Target, holds
from reroll.features.injection.ownership import Managed, Owner, can_be_applied, owners
from reroll.features.injection.redact import hidden
from reroll.features.injection.values import Made
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound


class TargetMetadata(Metadata, gc=False, rename="camel"):
    managed_fields: list[Managed] | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: TargetMetadata


_head = msgspec.json.Decoder(_Head)


class RefusedError(Exception):
    """The API server did not take a value. `words`: what it said, without the value."""

    def __init__(self, error: ApiError, words: str) -> None:
        super().__init__(words)
        self.error, self.words = error, words


class Found(NamedTuple):
    """A target as it is now; `document` holds what others put there, and is never kept."""

    resource: wire.Resource
    target: Target
    metadata: TargetMetadata
    document: dict[str, Any]

    def __repr__(self) -> str:
        return f"Found({self.target})"

    @property
    def managed(self) -> list[Managed]:
        return self.metadata.managed_fields or []

    def written(self, path: Path) -> Written:
        return Written(
            self.resource.api_version,
            self.resource.kind,
            self.target.name,
            fieldpaths.text(path),
            self.target.namespace,
            self.metadata.uid,
        )

    def owners(self, path: Path) -> list[Owner]:
        return owners(self.managed, path)


class Writer:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, resource: wire.Resource, target: Target) -> Found:
        request = wire.get(resource, target.namespace or None, target.name)
        return _found(resource, target, await self._client.send(request))

    def seen(self, one: Injection, found: Found, made: Made) -> Seen:
        """What is at the place now; `PathError` where there can be nothing."""
        place = fieldpaths.find(found.document, one.path)
        there = place.is_there and holds(place.value, made.value)
        ours = one.manager in {owner.manager for owner in found.owners(one.path)}
        return Seen(there, ours or not can_be_applied(found.managed, found.document, one.path))

    async def write(
        self, one: Injection, found: Found, made: Made, *, dry_run: bool = False
    ) -> Found:
        """The target afterwards."""
        if can_be_applied(found.managed, found.document, one.path):
            request = self._apply(one, found, made.value, dry_run)
        else:
            place = fieldpaths.find(found.document, one.path)
            pointer, value = fieldpaths.written_value(place, made.value)
            request = self._patch(one, found, {"path": pointer, "value": value}, dry_run)
        try:
            raw = await self._client.send(request)
        except ApiError as error:
            raise RefusedError(error, hidden(error.message, made.raw, made.value)) from None
        return _found(found.resource, found.target, raw)

    def _apply(
        self, one: Injection, found: Found, value: Any, dry_run: bool = False
    ) -> wire.Request:
        document = {} if value is None else fieldpaths.document(one.path, value)
        # With its uid, an object that went away meanwhile is not made anew.
        head = {
            "apiVersion": found.resource.api_version,
            "kind": found.resource.kind,
            "metadata": {"name": found.target.name, "uid": found.metadata.uid},
        }
        return wire.apply(
            found.resource,
            found.target.namespace or None,
            found.target.name,
            {**document, **head},
            force=True,
            manager=one.manager,
            dry_run=dry_run,
        )

    def _patch(
        self, one: Injection, found: Found, change: dict[str, Any], dry_run: bool = False
    ) -> wire.Request:
        version = found.metadata.resource_version
        operations = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add"} | change,
        ]
        return wire.json_patch(
            found.resource,
            found.target.namespace or None,
            found.target.name,
            operations,
            manager=one.manager,
            dry_run=dry_run,
        )

    async def release(self, one: Injection, resource: wire.Resource, written: Written) -> bool:
        """Give a field back; whether there was something of ours to give."""
        target = Target(resource.group, resource.kind, written.namespace, written.name)
        path = fieldpaths.parse(written.path)
        try:
            found = await self.read(resource, target)
            owned = found.owners(path)
            if found.metadata.uid != written.uid or one.manager not in {o.manager for o in owned}:
                return False
            if not fieldpaths.find(found.document, path).is_there:
                return False  # It was given back, and nobody lived to say so.
            await self._client.send(self._removal(one, found, path, owned))
        except (NotFound, PathError):
            return False
        except ApiError as error:
            raise RefusedError(error, hidden(error.message, (), None)) from None
        return True

    def _removal(
        self, one: Injection, found: Found, path: Path, owned: list[Owner]
    ) -> wire.Request:
        if any(owner.manager != one.manager for owner in owned):
            return self._apply(one, found, None)  # It stays for the others who own it.
        # Applying nothing would take away maps that become empty too.
        pointer = fieldpaths.pointer_text(fieldpaths.find(found.document, path).pointer)
        return self._patch(one, found, {"op": "remove", "path": pointer})


def _found(resource: wire.Resource, target: Target, raw: bytes) -> Found:
    return Found(resource, target, _head.decode(raw).metadata, msgspec.json.decode(raw))
