"""Who wrote the data of a source, or the record or template of a workload: `managedFields` tell.

Pure. Names of keys and managers and times are all there is in them, never a value. They have limits
that whoever reads them must tell: times are whole seconds, an entry has one time for all that its
manager owns, and whoever only takes a key away leaves no trace.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from reroll.core.model.metadata import Metadata
from reroll.core.revisions.copies import is_copy
from reroll.core.tables.annotations import STATE

_DATA = ("f:data", "f:binaryData")
_LAST_APPLIED = "f:kubectl.kubernetes.io/last-applied-configuration"


class Touch(msgspec.Struct, gc=False, rename="camel"):
    """One manager's part of an object, as far as its time goes."""

    time: datetime | None = None


class Touched(Metadata, gc=False, rename="camel"):
    """Metadata with the times of those who wrote the object."""

    managed_fields: Sequence[Touch] | None = None


class Entry(Touch, gc=False, rename="camel"):
    """One manager's part of an object."""

    manager: str = ""
    fields: dict[str, Any] | None = msgspec.field(default=None, name="fieldsV1")


class Managed(Touched, gc=False, rename="camel"):
    """Metadata with the entries of those who wrote the object."""

    managed_fields: Sequence[Entry] | None = None


class Stub(msgspec.Struct, gc=False):
    """An object of which only the metadata is read."""

    metadata: Managed


class Write(msgspec.Struct, frozen=True, gc=False):
    """The last time that one manager changed something of what it owns, data among it."""

    by: str
    at: datetime
    keys: frozenset[str]
    only_data: bool
    """It owns nothing but data, so data is what it changed."""

    def is_sure_for(self, keys: frozenset[str] | None) -> bool:
        """Whether it must have changed one of these keys; `None`: of all."""
        return self.only_data and (keys is None or self.keys <= keys)


class Writes(msgspec.Struct, frozen=True, gc=False):
    """All that is known about how the data of one source came to be."""

    created: datetime | None = None
    known: tuple[Write, ...] = ()
    immutable: bool = False
    copy: bool = False
    """It is a copy, see `core.pins`: it never held anything else."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys that somebody owns: all there are, unless somebody cleared `managedFields`."""
        return frozenset().union(*(write.keys for write in self.known))

    def last(self, keys: frozenset[str] | None = None) -> Write | None:
        """The last write that may have changed one of these keys; `None`: any key."""
        found = [one for one in self.known if keys is None or one.keys & keys]
        return max(found, key=lambda one: one.at, default=None)


def writes(metadata: Managed) -> Writes:
    entries = metadata.managed_fields or []
    return Writes(
        created=metadata.creation_timestamp,
        known=tuple(_writes(entries)),
        immutable=any("f:immutable" in (entry.fields or {}) for entry in entries),
        copy=is_copy(metadata),
    )


def record_written(metadata: Managed) -> datetime | None:
    """When our record was last written, by the clock of the API server."""
    times = [
        entry.time
        for entry in metadata.managed_fields or ()
        if entry.time and STATE in _annotations(entry.fields or {})
    ]
    return max(times, default=None)


def annotation_writer(metadata: Managed, name: str) -> tuple[str, datetime] | None:
    """Who wrote an annotation last, and when that manager last wrote anything."""
    found = [
        (entry.time, entry.manager)
        for entry in metadata.managed_fields or ()
        if entry.time and name in _annotations(entry.fields or {})
    ]
    at, by = max(found, default=(None, ""))
    return (by, at) if at else None


def template_writer(metadata: Managed, path: Sequence[str]) -> str:
    """Who changed something after our record was written, and owns some of what is at `path`.

    Empty if nobody did. Whoever also owns something else may have changed only that.
    """
    written = record_written(metadata)
    if written is None:
        return ""
    for entry in metadata.managed_fields or ():
        fields: Any = entry.fields or {}
        if entry.time is None or entry.time <= written or STATE in _annotations(fields):
            continue
        for step in path:
            fields = fields.get(f"f:{step}") if isinstance(fields, Mapping) else None
        if fields is not None:
            return entry.manager or "another writer"
    return ""


def _annotations(fields: Mapping[str, Any]) -> Iterable[str]:
    metadata = fields.get("f:metadata")
    return _names(metadata.get("f:annotations") if isinstance(metadata, Mapping) else None)


def _writes(entries: Iterable[Entry]) -> Iterable[Write]:
    for entry in entries:
        fields = entry.fields or {}
        keys = frozenset(key for part in _DATA for key in _names(fields.get(part)))
        if entry.time and keys:
            yield Write(entry.manager, entry.time, keys, not _owns_more(fields))


def _names(fields: Any) -> Iterable[str]:
    names = fields if isinstance(fields, Mapping) else {}
    return (name.removeprefix("f:") for name in names if name.startswith("f:"))


def _owns_more(fields: Mapping[str, Any]) -> bool:
    """Whether it owns something that can change while the data stays: labels, annotations, owners.

    What `kubectl apply` keeps for itself changes with what it applies.
    """
    metadata = fields.get("f:metadata")
    for part, names in (metadata if isinstance(metadata, Mapping) else {}).items():
        own = set(names) - {"."} if isinstance(names, Mapping) else {part}
        if own - {_LAST_APPLIED} or not isinstance(names, Mapping) or not names:
            return True
    return False
