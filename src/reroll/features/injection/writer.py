"""Writes a value to a field of a target, and removes it: the only code that writes to targets.

A field is written by server-side apply, under the Injection's own field manager. Apply replaces an
atomic list or map as a whole; there, one field is written by a JSON Patch under the same manager,
guarded by the version that was read. No error raised here holds a value.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from reroll.core.model import fieldpaths
from reroll.core.model.fieldpaths import Path, PathError
from reroll.core.model.injection import Injection, Written
from reroll.core.model.metadata import Metadata
from reroll.core.tables.reasons import Reason
from reroll.features.injection.decide import FieldState, Target, holds
from reroll.features.injection.ownership import Managed, Owner, can_be_applied, owners
from reroll.features.injection.redact import redact, refused_by
from reroll.features.injection.values import Value
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import ApiError, Conflict, Forbidden, NotFound, Throttled, Unavailable

_NO_VALUE = Value(None, ())


class TargetMetadata(Metadata, gc=False, rename="camel"):
    managed_fields: list[Managed] | None = None


class TargetHead(msgspec.Struct, gc=False):
    """What `managedFields` of a target say, without its spec."""

    metadata: TargetMetadata

    def owners(self, path: Path) -> list[Owner]:
        return owners(self.metadata.managed_fields or [], path)


class RefusedError(Exception):
    """The API server refused a write; `words` are its message without the value."""

    def __init__(self, error: ApiError, words: str) -> None:
        super().__init__(words)
        self.words = words
        # Server-side apply answers 500 to a value that does not fit the schema: that lasts.
        may_pass = isinstance(error, Throttled | Unavailable) and error.status != 500
        self.reason = Reason.FAILED if may_pass else Reason.REJECTED
        if isinstance(error, Forbidden):
            self.reason = Reason.FORBIDDEN


class TargetObject(NamedTuple):
    """A target as it is now; `document` holds the values of others and is never kept."""

    resource: wire.Resource
    target: Target
    head: TargetHead
    document: dict[str, Any]

    def __repr__(self) -> str:
        return f"TargetObject({self.target})"

    @property
    def metadata(self) -> TargetMetadata:
        return self.head.metadata

    def written(self, path: Path) -> Written:
        return Written(
            self.resource.api_version,
            self.resource.kind,
            self.target.name,
            fieldpaths.text(path),
            self.target.namespace,
            self.metadata.uid,
        )

    def holds(self, path: Path, value: Value) -> bool:
        """Whether the value is in place; `PathError` where it cannot be."""
        location = fieldpaths.locate(self.document, path)
        return location.exists and holds(location.value, value.desired)

    def can_be_applied(self, path: Path) -> bool:
        return can_be_applied(self.metadata.managed_fields or [], self.document, path)

    def state(self, injection: Injection, value: Value) -> FieldState:
        owned = injection.manager in {owner.manager for owner in self.head.owners(injection.path)}
        return FieldState(
            self.holds(injection.path, value), owned or not self.can_be_applied(injection.path)
        )


class FieldWriter:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, resource: wire.Resource, target: Target) -> TargetObject:
        request = wire.get(resource, target.namespace or None, target.name)
        return _decoded(resource, target, await self._client.send(request))

    async def write(
        self, injection: Injection, observed: TargetObject, value: Value, *, dry_run: bool = False
    ) -> TargetObject:
        """The target afterwards. `Conflict`: it changed since it was read."""
        if observed.can_be_applied(injection.path):
            document = fieldpaths.document(injection.path, value.desired)
            request = _apply(injection, observed, document, dry_run=dry_run)
        else:
            location = fieldpaths.locate(observed.document, injection.path)
            pointer, addition = fieldpaths.addition(location, value.desired)
            change = {"op": "add", "path": pointer, "value": addition}
            request = _patch(injection, observed, change, dry_run=dry_run)
        with _redacted(observed.target, value):
            raw = await self._client.send(request)
        return _decoded(observed.resource, observed.target, raw)

    async def release(
        self,
        injection: Injection,
        resource: wire.Resource,
        written: Written,
        was_written: Callable[[Injection, Any], bool],
    ) -> bool:
        """Give a field back; whether there was a value of ours to remove.

        `was_written`: whether a value is the one that the Injection wrote last.
        """
        target = Target(resource.group, resource.kind, written.namespace, written.name)
        try:
            path = fieldpaths.parse(written.path)
            with _redacted(target, _NO_VALUE):
                observed = await self.read(resource, target)
                if observed.metadata.uid != written.uid:
                    return False
                request = _removal(injection, observed, path, was_written)
                if request is not None:
                    await self._client.send(request)
        except (NotFound, PathError):
            return False
        return request is not None


@contextmanager
def _redacted(target: Target, value: Value) -> Iterator[None]:
    """Whatever the API server says of a write, without the value."""
    try:
        yield
    except NotFound:
        raise NotFound(f"{target} does not exist") from None
    except Conflict:
        raise Conflict(f"{target} changed while it was written") from None
    except ApiError as error:
        raise RefusedError(error, _words(error, value)) from None


def _words(error: ApiError, value: Value) -> str:
    """What the API server says; the bare answer where its text may have a part of the value."""
    if words := redact(error.message, value.raw, value.desired):
        return words
    by = refused_by(error.message)
    source = f" of the {by}" if by else ""
    reason = redact(error.reason, value.raw, value.desired)
    answer = f"{error.status or 'no status'} {reason}".strip()
    return f"{answer}; the text{source} may have a part of the value in it, so it is not shown"


def _removal(
    injection: Injection,
    observed: TargetObject,
    path: Path,
    was_written: Callable[[Injection, Any], bool],
) -> wire.Request | None:
    """`None`: there is no value of ours."""
    managers = {owner.manager for owner in observed.head.owners(path)}
    location = fieldpaths.locate(observed.document, path)
    if injection.manager not in managers or not location.exists:
        return None  # It was overwritten, or removed before a restart.
    if not observed.can_be_applied(path) and not was_written(injection, location.value):
        return None  # Of an atomic list or map, we are shown as the owner of all items.
    if len(managers) > 1:
        return _apply(injection, observed, {})  # The field stays for its other owners.
    # Applying nothing would also remove maps that become empty.
    pointer = fieldpaths.pointer_text(location.pointer)
    return _patch(injection, observed, {"op": "remove", "path": pointer})


def _apply(
    injection: Injection, observed: TargetObject, document: dict[str, Any], *, dry_run: bool = False
) -> wire.Request:
    # With its uid, an object that was deleted since it was read is not created again.
    head = {
        "apiVersion": observed.resource.api_version,
        "kind": observed.resource.kind,
        "metadata": {"name": observed.target.name, "uid": observed.metadata.uid},
    }
    return wire.apply(
        observed.resource,
        observed.target.namespace or None,
        observed.target.name,
        {**document, **head},
        force=True,
        manager=injection.manager,
        dry_run=dry_run,
    )


def _patch(
    injection: Injection, observed: TargetObject, change: dict[str, Any], *, dry_run: bool = False
) -> wire.Request:
    version = observed.metadata.resource_version
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
    return wire.json_patch(
        observed.resource,
        observed.target.namespace or None,
        observed.target.name,
        [guard, change],
        manager=injection.manager,
        dry_run=dry_run,
    )


def _decoded(resource: wire.Resource, target: Target, raw: bytes) -> TargetObject:
    head = decoded(raw, TargetHead, str(target))
    return TargetObject(resource, target, head, decoded(raw, dict[str, Any], str(target)))
