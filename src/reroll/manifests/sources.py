"""The content of a ConfigMap or Secret of the stream: digests by key.

Its values are read as the API server would read them, digested and dropped here.
"""

import base64
import binascii

from reroll.core.model.content import Content
from reroll.core.model.digest import value_digests
from reroll.core.tables.annotations import ALLOW_FROM, IGNORE, concern_us
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind, Watched
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    child,
    is_merge,
    merged_into,
    resolve,
)
from reroll.manifests.text.scalars import key_of, meaning

DATA_KINDS: dict[tuple[str, str], SourceKind] = {
    (row.group, row.name): row for row in SOURCE_KINDS if row.watched is not Watched.STATUSES
}
"""The kinds whose content stands in the manifest itself, by group and kind."""

_FIELDS = {
    "ConfigMap": {"data": False, "binaryData": True},
    "Secret": {"data": True, "stringData": False},
}
"""The fields that hold values, and whether in base64; the later one wins, as in the API server."""


def content(
    kind: SourceKind, node: Node, annotations: dict[str, str], key: bytes | None
) -> Content:
    """What is kept of a source. `key` is the HMAC key for kinds that are digested with one."""
    values = values_of(kind, node)
    digests = value_digests(values, key if kind.keyed else None)
    if not concern_us(annotations):
        return Content({"": digests})
    from reroll.core.dialects.reroll import ignores, namespaces_in

    try:
        ignored = ignores(annotations)
    except ValueError as error:
        raise TextError(node.start, f"annotation {IGNORE} {error}") from None
    return Content(
        {"": digests}, ignored=ignored, allow_from=namespaces_in(annotations, ALLOW_FROM)
    )


def values_of(kind: SourceKind, node: Node) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    for field in _FIELDS[kind.name]:
        values |= _values(kind, field, child(node, field))
    return values


def _values(kind: SourceKind, field: str, node: Node | None) -> dict[str, bytes]:
    here = resolve(node) if node is not None else None
    if here is None or (isinstance(here, ScalarNode) and meaning(here) is None):
        return {}
    if not isinstance(here, MappingNode):
        raise TextError(here.start, f"`{field}` of a {kind.name} has to be a mapping")
    here.check_unique()
    values: dict[str, bytes] = {}
    for key, value in here.pairs():
        if is_merge(key):
            continue
        if (name := key_of(key)) in values:
            # Which of them the API server gets is a matter of chance.
            raise TextError(key.start, f"`{field}` has the key {name!r} twice, in two forms")
        values[name] = _bytes(kind, field, name, resolve(value))
    for merged in merged_into(here):
        values = _values(kind, field, merged) | values
    return values


def _bytes(kind: SourceKind, field: str, name: str, node: Node) -> bytes:
    """A value as it is in the cluster. No sentence of this function may show it."""
    where = f"`{field}` of a {kind.name}, key {name[:80]!r}"
    found = meaning(node) if isinstance(node, ScalarNode) else node
    if found is None:
        return b""
    if not isinstance(found, str):
        raise TextError(node.start, f"{where}: the value is not text; put it in quotes")
    if not _FIELDS[kind.name][field]:
        return found.encode()
    try:
        return base64.b64decode(found.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        # Encrypted, or what a later step fills in; if neither, the API server will tell.
        return found.encode()
