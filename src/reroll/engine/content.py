"""Sources as they come from the API server, and what is kept of them: digests by key.

Values are decoded, digested and dropped here; nothing that leaves this module holds one.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.core.dialects.reroll import ignores, namespaces_in, unknown
from reroll.core.dialects.rows import Plain
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.dialects.words import Place
from reroll.core.model.content import Content
from reroll.core.model.digest import Pieces, at_once, value_digests, whole_digest
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.moment import Moment
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.observe.provenance import Touched
from reroll.core.policy.beside import shown, values_at
from reroll.core.revisions.copies import copy_names
from reroll.core.tables import limits
from reroll.core.tables.annotations import ALLOW_FROM, IGNORE, INJECTION_READERS
from reroll.core.tables.kinds import EACH
from reroll.core.tables.source_kinds import SourceKind
from reroll.kube.errors import Malformed


class Stub(msgspec.Struct, gc=False):
    """A source of which only the metadata is watched."""

    metadata: Metadata


class Source(msgspec.Struct, gc=False, rename="camel"):
    """A ConfigMap or Secret; its data stays undecoded until somebody needs it."""

    metadata: Touched
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


class Wanted(NamedTuple):
    """What users need of a source besides a digest of each key."""

    hashed: frozenset[str] = frozenset()
    """The dialects that need the hash that their tool makes of it."""
    named: Callable[[], frozenset[str]] = frozenset
    """The keys that they name, see `Content.wholes`."""


_DIGESTS = Wanted()


def content(
    source: Source,
    keyring: Keyring | None,
    changed: Moment,
    dialects: Dialects = ALL,
    wanted: Wanted = _DIGESTS,
    row: SourceKind | None = None,
) -> Content:
    """What is kept of a source. `keyring` is for a Secret.

    `row`: of a kind that has its content elsewhere than ConfigMaps and Secrets have.
    """
    return at_once(content_in_pieces(source, keyring, changed, dialects, wanted, row))


def content_in_pieces(
    source: Source,
    keyring: Keyring | None,
    changed: Moment,
    dialects: Dialects,
    wanted: Wanted,
    row: SourceKind | None,
) -> Pieces[Content]:
    """As `content`, with breaks where a source has very many keys."""
    is_secret, hashed = keyring is not None, wanted.hashed
    values = _values(source, row, are_encoded=is_secret)
    created = changed.at is not None and changed.at == source.metadata.creation_timestamp
    kept = Content(
        {},
        changed=changed,
        created=created,
        hashes=dialects.hashes(_plain(source, row, is_secret), hashed) if hashed else (),
        immutable=bool(source.immutable),
        type=source.type,
        expires=_expires(values) if source.type == _TLS else None,
    )
    key = _key(source, row, is_secret)
    digested = yield from _digested(kept, key, values, keyring, wanted)
    return annotated(digested, source.metadata, dialects)


_TLS = "kubernetes.io/tls"


def _expires(values: Mapping[str, bytes]) -> datetime | None:
    """Until when a certificate is good, which is for everybody to see who is shown it."""
    from reroll.x509 import certificate  # Most sources hold none.

    found = certificate("tls.crt", values.get("tls.crt", b""))
    return found.ends if found else None


def copied(copy: Source, source: Key) -> Source:
    """A copy as its source was: names are a part of digests."""
    metadata = msgspec.structs.replace(copy.metadata, name=source.name)
    return msgspec.structs.replace(copy, metadata=metadata)


def is_copy_right(document: Source, copy: Key, source: Key, keyring: Keyring | None) -> bool:
    """Whether an object is the copy of this source that its name says."""
    holds = content(copied(document, source), keyring, Moment())
    return holds.immutable and copy.name in copy_names(source, holds)


def _digested(
    kept: Content, key: Key, values: Mapping[str, bytes], keyring: Keyring | None, wanted: Wanted
) -> Pieces[Content]:
    """With the digests of its keys: of each, or of the whole and of those that somebody names."""
    keys = {"": None} if keyring is None else keyring
    if len(values) <= limits.KEYS.number:
        digests = {key_id: value_digests(values, hmac) for key_id, hmac in keys.items()}
        return msgspec.structs.replace(kept, digests=digests)
    named = wanted.named()
    some = {name: values[name] for name in named & values.keys()}
    digests = {key_id: value_digests(some, hmac) for key_id, hmac in keys.items()}
    wholes = {}
    for key_id, hmac in keys.items():
        wholes[key_id] = yield from whole_digest(key, kept.type, values, hmac)
    return msgspec.structs.replace(kept, digests=digests, wholes=wholes, named=named)


def is_wide(source: Source) -> bool:
    """Whether it has so many keys that its digest takes a while; without a look at any of them."""
    texts = (bytes(source.data), bytes(source.binary_data))
    if sum(map(len, texts)) <= limits.KEYS.number * len('"":"",'):
        return False
    # Once after each key, and at most once more at the end of its value.
    return sum(text.count(b'":"') for text in texts) > 2 * limits.KEYS.number


def _key(source: Source, row: SourceKind | None, is_secret: bool) -> Key:
    kind = row.name if row else "Secret" if is_secret else "ConfigMap"
    return Key(kind, source.metadata.namespace, source.metadata.name)


def _plain(source: Source, row: SourceKind | None, is_secret: bool) -> Plain:
    key = _key(source, row, is_secret)
    if row and row.paths:
        return Plain(key, _values(source, row, are_encoded=False))
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
    except UNREADABLE:
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
    """What a source holds; `are_encoded`: it is a Secret, whose values are all base64.

    `Malformed` if that is no map of texts, which the API server lets through for no ConfigMap.
    """
    try:
        texts = (_texts.decode(source.data) if source.data else None) or {}
        if are_encoded:
            return _decoded(texts)
        values = {name: text.encode() for name, text in texts.items()}
        if source.binary_data:
            values |= _decoded(_texts.decode(source.binary_data) or {})
    except UNREADABLE:
        place = source.metadata
        raise Malformed(
            "its data is not a map of texts", namespace=place.namespace, name=place.name
        ) from None
    return values


def annotated(kept: Content, metadata: Metadata, dialects: Dialects = ALL) -> Content:
    """With what the annotations of a source say."""
    annotations = metadata.annotations
    if not annotations:
        return kept
    ignored, problems = False, (*kept.problems, *unknown(annotations, Place.SOURCE))
    try:
        ignored = ignores(annotations)
    except ValueError as error:
        problems += ((IGNORE, f"{annotations[IGNORE][:80]!r} {error}"),)
    return msgspec.structs.replace(
        kept,
        ignored=ignored,
        problems=problems,
        marks=dialects.source_marks(annotations),
        allow_from=namespaces_in(annotations, ALLOW_FROM),
        readers=namespaces_in(annotations, INJECTION_READERS),
    )


def changed_at(metadata: Touched) -> datetime | None:
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
        except ValueError:  # text that is no base64, or not even ASCII
            # The API server never lets this through; if it did, the text itself is content.
            values[name] = text.encode()
    return values


def mounted_content(
    key: Key,
    mounted: Mapping[str, str],
    changed: Moment,
    dialects: Dialects = ALL,
    wanted: Wanted = _DIGESTS,
) -> Content:
    """The versions of a class that pods have mounted, by object."""
    versions = {name: version.encode() for name, version in mounted.items()}
    hashes = dialects.hashes(Plain(key, versions), wanted.hashed) if wanted.hashed else ()
    kept = Content({}, changed=changed, hashes=hashes)
    return at_once(_digested(kept, key, versions, None, wanted))


def is_same(old: Content, new: Content) -> bool:
    """Whether the values are the same, as far as a common HMAC key can tell."""
    common = old.digests.keys() & new.digests.keys()
    if old.wholes or new.wholes:
        return all(old.wholes.get(key_id) == new.wholes.get(key_id) for key_id in common)
    return all(old.digests[key_id] == new.digests[key_id] for key_id in common)


def changed_keys(old: Content, new: Content) -> frozenset[str]:
    """The keys that differ, as far as that is known: not of a source with very many."""
    if old.wholes or new.wholes:
        return frozenset()
    for key_id, after in new.digests.items():
        before = old.digests.get(key_id)
        if before is not None:
            names = before.keys() | after.keys()
            return frozenset(name for name in names if before.get(name) != after.get(name))
    return frozenset()
