"""Sources as they come from the API server, and what is kept of them: digests by key.

Values are decoded, digested and dropped here; nothing that leaves this module holds one.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from reroll.core.dialects.reroll import ignores, namespaces_in
from reroll.core.dialects.rows import Plain
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.model.content import Content
from reroll.core.model.digest import value_digests
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.moment import Moment
from reroll.core.policy.beside import shown, values_at
from reroll.core.tables.annotations import ALLOW_FROM, IGNORE, INJECTION_READERS
from reroll.core.tables.kinds import EACH
from reroll.core.tables.source_kinds import SourceKind


class ManagedField(msgspec.Struct, gc=False, rename="camel"):
    time: datetime | None = None


class SourceMetadata(Metadata, gc=False, rename="camel"):
    managed_fields: list[ManagedField] | None = None


class Stub(msgspec.Struct, gc=False):
    """A source of which only the metadata is watched."""

    metadata: Metadata


class Source(msgspec.Struct, gc=False, rename="camel"):
    """A ConfigMap or Secret; its data stays undecoded until somebody needs it."""

    metadata: SourceMetadata
    data: msgspec.Raw = msgspec.Raw()
    binary_data: msgspec.Raw = msgspec.Raw()
    immutable: bool | None = None
    type: str = ""


class MountedObject(msgspec.Struct, gc=False):
    id: str
    version: str = ""


class MountStatus(msgspec.Struct, gc=False, rename="camel"):
    secret_provider_class_name: str = ""
    objects: list[MountedObject] | None = None


class MountReport(msgspec.Struct, gc=False):
    """A SecretProviderClassPodStatus: what one pod has mounted of a class."""

    metadata: Metadata
    status: MountStatus = msgspec.field(default_factory=MountStatus)


Keyring = Mapping[str, bytes]
"""HMAC keys by id."""

_texts = msgspec.json.Decoder(dict[str, str] | None)


def content(
    source: Source,
    keyring: Keyring | None,
    changed: Moment,
    dialects: Dialects = ALL,
    hashed: frozenset[str] = frozenset(),
    row: SourceKind | None = None,
) -> Content:
    """What is kept of a source. `keyring` is for a Secret; `hashed`: for whom hashes are needed.

    `row`: of a kind that has its content elsewhere than ConfigMaps and Secrets have.
    """
    values = _values(source, row, are_encoded=keyring is not None)
    if keyring is None:
        digests = {"": value_digests(values, None)}
    else:
        digests = {key_id: value_digests(values, key) for key_id, key in keyring.items()}
    created = changed.at is not None and changed.at == source.metadata.creation_timestamp
    hashes = dialects.hashes(_plain(source, row, keyring is not None), hashed) if hashed else ()
    kept = Content(
        digests,
        changed=changed,
        created=created,
        hashes=hashes,
        immutable=bool(source.immutable),
        type=source.type,
    )
    return annotated(kept, source.metadata, dialects)


def _plain(source: Source, row: SourceKind | None, is_secret: bool) -> Plain:
    if row and row.paths:
        key = Key(row.name, source.metadata.namespace, source.metadata.name)
        return Plain(key, _values(source, row, are_encoded=False))
    key = Key(
        "Secret" if is_secret else "ConfigMap", source.metadata.namespace, source.metadata.name
    )
    without = msgspec.structs.replace(source, binary_data=msgspec.Raw())
    texts = values_of(without, are_encoded=is_secret)
    binaries = values_of(msgspec.structs.replace(source, data=msgspec.Raw()), are_encoded=False)
    return Plain(key, texts, binaries)


def _values(source: Source, row: SourceKind | None, *, are_encoded: bool) -> dict[str, bytes]:
    if row is None or not row.paths:
        return values_of(source, are_encoded=are_encoded)
    roots = {root: getattr(source, name) for name, root in _roots(row)}
    try:
        document = {root: msgspec.json.decode(raw) for root, raw in roots.items() if raw}
    except (msgspec.DecodeError, RecursionError):
        return {root: bytes(raw) for root, raw in roots.items()}
    values = {}
    for path in row.paths:
        found = [value for _, value in values_at(document, path)]
        if found:
            what = found if EACH in path else found[0]
            values[shown(path)] = msgspec.json.encode(what, order="sorted")
    return values


def _roots(row: SourceKind) -> list[tuple[str, str]]:
    """The fields that a row needs of an object, each with a name that Python can have."""
    roots = dict.fromkeys(path[0] for path in row.paths)
    return [(_USUAL.get(root, f"root{number}"), root) for number, root in enumerate(roots)]


_USUAL = {"data": "data", "binaryData": "binary_data"}


def model(row: SourceKind) -> type[Any]:
    """What objects of a kind are decoded into: no more of them than is content."""
    if not row.paths:
        return Source
    roots = {name: root for name, root in _roots(row) if root not in _USUAL}
    fields = [(name, msgspec.Raw, msgspec.Raw()) for name in roots]
    return msgspec.defstruct(row.kind, fields, bases=(Source,), rename=roots, gc=False)


def values_of(source: Source, *, are_encoded: bool) -> dict[str, bytes]:
    """What a source holds; `are_encoded`: it is a Secret, whose values are all base64."""
    texts = (_texts.decode(source.data) if source.data else None) or {}
    if are_encoded:
        return _decoded(texts)
    binaries = _texts.decode(source.binary_data) if source.binary_data else None
    return {name: text.encode() for name, text in texts.items()} | _decoded(binaries or {})


def annotated(kept: Content, metadata: Metadata, dialects: Dialects = ALL) -> Content:
    """With what the annotations of a source say."""
    annotations = metadata.annotations
    if not annotations:
        return kept
    ignored, problem = False, ""
    try:
        ignored = ignores(annotations)
    except ValueError as error:
        problem = f"{annotations[IGNORE][:80]!r} {error}"
    return msgspec.structs.replace(
        kept,
        ignored=ignored,
        problem=problem,
        marks=dialects.source_marks(annotations),
        allow_from=namespaces_in(annotations, ALLOW_FROM),
        readers=namespaces_in(annotations, INJECTION_READERS),
    )


def changed_at(metadata: SourceMetadata) -> datetime | None:
    """When its data was written at the latest, as the object's managed fields tell.

    The newest of all times: whoever only takes a key away owns nothing afterwards that would tell.
    """
    times = [field.time for field in metadata.managed_fields or () if field.time]
    return max(times, default=None)


def _decoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    values = {}
    for name, text in texts.items():
        try:
            values[name] = base64.b64decode(text)
        except binascii.Error:
            # The API server never lets this through; if it did, the text itself is content.
            values[name] = text.encode()
    return values


def mounted_content(
    key: Key,
    reports: Mapping[str, MountReport],
    changed: Moment,
    dialects: Dialects = ALL,
    hashed: frozenset[str] = frozenset(),
) -> Content:
    """The versions of a class that pods have mounted, the newest report of each object."""
    versions: dict[str, bytes] = {}
    for report in sorted(reports.values(), key=lambda r: r.metadata.version):
        for mounted in report.status.objects or ():
            versions[mounted.id] = mounted.version.encode()
    hashes = dialects.hashes(Plain(key, versions), hashed) if hashed else ()
    return Content({"": value_digests(versions, None)}, changed=changed, hashes=hashes)


def is_same(old: Content, new: Content) -> bool:
    """Whether the values are the same, as far as a common HMAC key can tell."""
    common = old.digests.keys() & new.digests.keys()
    return all(old.digests[key_id] == new.digests[key_id] for key_id in common)


def changed_keys(old: Content, new: Content) -> frozenset[str]:
    for key_id, after in new.digests.items():
        before = old.digests.get(key_id)
        if before is not None:
            names = before.keys() | after.keys()
            return frozenset(name for name in names if before.get(name) != after.get(name))
    return frozenset()
