"""The paths of a row against the schema of its kind, as the API server publishes it.

Pure. Schemas are large, so only the branches that a path goes through are decoded. What a schema
does not tell is no problem: many say of whole branches only that there may be anything.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from reroll.core.model.unreadable import UNREADABLE
from reroll.core.policy.beside import shown
from reroll.core.tables.kinds import EACH, Kind, Path
from reroll.core.tables.source_kinds import SourceKind

MOST_SHOWN = 12
_OBJECT, _NUMBER, _TRUTH = frozenset(("object",)), frozenset(("integer",)), frozenset(("boolean",))
_NAME = frozenset(("string", "object"))
_TEXT = frozenset(("string",))
_ANYTHING = frozenset[str]()


class _GroupVersionKind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Schema(msgspec.Struct):
    """One branch; what lies below it stays as it came."""

    type: str = ""
    properties: dict[str, msgspec.Raw] | None = None
    items: msgspec.Raw = msgspec.Raw()
    more: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="additionalProperties")
    all_of: list[msgspec.Raw] | None = msgspec.field(default=None, name="allOf")
    elsewhere: str = msgspec.field(default="", name="$ref")
    anything: bool = msgspec.field(default=False, name="x-kubernetes-preserve-unknown-fields")
    kinds: list[_GroupVersionKind] | None = msgspec.field(
        default=None, name="x-kubernetes-group-version-kind"
    )


class _Components(msgspec.Struct):
    schemas: dict[str, msgspec.Raw] = {}


class Document(msgspec.Struct):
    """What `/openapi/v3/apis/<group>/<version>` answers with."""

    components: _Components = msgspec.field(default_factory=_Components)


_schema = msgspec.json.Decoder(_Schema)
_REFERENCE = "#/components/schemas/"


def tells_of(row: Kind | SourceKind, document: Document) -> bool:
    return _root(row, document) is not None


def problems(row: Kind | SourceKind, document: Document) -> list[str]:
    """A sentence for each path of a row that its kind cannot have."""
    root = _root(row, document)
    if root is None:
        return []
    found = (_problem(path, types, root, document) for _, path, types in places(row))
    names = (field for field, _, _ in places(row))
    return [f"{field}: {told}" for field, told in zip(names, found, strict=True) if told]


def places(row: Kind | SourceKind) -> Iterator[tuple[str, Path, frozenset[str]]]:
    """The paths of a row: the field that has it, the path, and the types that it may lead to."""
    if isinstance(row, SourceKind):
        for number, path in enumerate(row.paths):
            yield f"paths[{number}]", path, _ANYTHING
        return
    counts, members = row.counts, row.members
    given = (
        ("template", row.template, _OBJECT),
        ("paused", row.still, _TRUTH),
        ("updateStrategy", row.update_strategy, _TEXT),
        ("stamp.annotations", row.stamp.path if row.stamp else (), _OBJECT),
        ("pods.selector", members.selector if members else (), _OBJECT),
        ("health.replicas", row.replicas, _NUMBER),
        ("health.current", counts.there if counts else (), _NUMBER),
        ("health.updated", counts.updated if counts else (), _NUMBER),
        ("health.available", counts.available if counts else (), _NUMBER),
        ("health.partition", counts.partition if counts else (), _NUMBER),
        *((f"references[{n}].path", one.path, _NAME) for n, one in enumerate(row.names)),
    )
    yield from (one for one in given if one[1])


def _root(row: Kind | SourceKind, document: Document) -> _Schema | None:
    wanted = _GroupVersionKind(row.group, row.version, row.kind)
    needle = f'"{row.kind}"'.encode()
    for raw in document.components.schemas.values():
        if needle in bytes(raw):
            found = _decoded(raw)
            if wanted in (found.kinds or ()):
                return found
    return None


def _problem(path: Path, types: frozenset[str], root: _Schema, document: Document) -> str:
    here, taken = root, 0
    for step in path:
        if path[:1] == ("metadata",) or here.anything:
            return ""
        below = _below(here, step)
        if below is None:
            return _missing(path, taken, here)
        here, taken = _resolved(_decoded(below), document), taken + 1
    if types and here.type and here.type not in types:
        return f"{shown(path)} is of the type {here.type}, not {' or '.join(sorted(types))}"
    return ""


def _below(here: _Schema, step: str) -> msgspec.Raw | None:
    """The schema of a step; an empty one where there is no telling."""
    if step == EACH:
        found = here.items or here.more
    else:
        found = (here.properties or {}).get(step) or here.more
    if found:
        return found if bytes(found)[:1] == b"{" else _UNTOLD
    is_leaf = here.type not in {"", "object", "array"}
    tells = here.properties is not None or bool(here.items) or is_leaf
    return None if tells else _UNTOLD


_UNTOLD = msgspec.Raw(b"{}")


def _missing(path: Path, taken: int, here: _Schema) -> str:
    above, wanted = shown(path[:taken]), path[taken]
    if wanted == EACH:
        return f"{above} is not a list; take [{EACH}] out"
    if here.items:
        return f"{above} is a list; write {above}[{EACH}]"
    names = sorted(here.properties or ())
    more = ", …" if names[MOST_SHOWN:] else ""
    there = (
        f"it has {', '.join(names[:MOST_SHOWN])}{more}"
        if names
        else f"it is of the type {here.type}"
    )
    return f"{above or 'the object'} has no {wanted}; {there}"


def _resolved(schema: _Schema, document: Document) -> _Schema:
    """The schema that another one stands for."""
    for _ in range(10):
        inner = schema.all_of[0] if schema.all_of and len(schema.all_of) == 1 else None
        if schema.elsewhere.startswith(_REFERENCE):
            name = schema.elsewhere.removeprefix(_REFERENCE)
            schema = _decoded(document.components.schemas.get(name, _UNTOLD))
        elif inner is not None and schema.properties is None:
            schema = _decoded(inner)
        else:
            break
    return schema


def _decoded(raw: Any) -> _Schema:
    try:
        return _schema.decode(raw)
    except UNREADABLE:
        return _Schema()
