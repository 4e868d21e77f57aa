"""Every place in a stream that names a source in a field that is known to do so."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.tables.fields import WITHOUT_NAMESPACE, Field, fields
from reroll.core.tables.kinds import EACH
from reroll.manifests.matching import AmbiguousError, Matcher
from reroll.manifests.model import ManifestObject, Manifests, shown
from reroll.manifests.options import CustomKinds, Options
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Node, Path, child, items_at, text_at


class Place(NamedTuple):
    """A field of an object, and the sources that it may name."""

    holder: ManifestObject
    field: Field
    path: Path
    """From the root of the object."""
    node: Node
    prefix: str
    """What stands before the name: `namespace/`, or nothing."""
    sources: tuple[Key, ...]
    """One, or for an object without a namespace those of that name in all namespaces."""


def places(manifests: Manifests, options: Options) -> Iterator[Place]:
    """The places that name sources of the stream; `BadInputError` where that is ambiguous."""
    matcher = Matcher(manifests.sources)
    for holder in manifests.objects:
        try:
            for field in name_fields(holder, options):
                for path, node, parent in _nodes(field, holder.node, field.path, ()):
                    if node.text and (
                        place := _place(matcher, holder, field, (path, node, parent))
                    ):
                        yield place
        except TextError as error:
            raise manifests.refused(holder, error) from None


def name_fields(holder: ManifestObject, options: Options) -> tuple[Field, ...]:
    """The fields of an object that may name a source."""
    return _name_fields(holder.group, holder.key.kind, options.custom)


@lru_cache
def _name_fields(group: str, kind: str, custom: CustomKinds) -> tuple[Field, ...]:
    return (*fields(group, kind, custom.tables.kinds), *custom.fields.get((group, kind), ()))


_Found = tuple[Path, Node, Node | None]


def _nodes(
    field: Field, node: Node, rest: Path, path: Path, parent: Node | None = None
) -> Iterator[_Found]:
    """Each node at a field of an object, its path and the node above it."""
    if not rest:
        yield path, node, parent
    elif rest[0] == EACH:
        for index, item in enumerate(items_at(node, ()) or ()):
            yield from _nodes(field, item, rest[1:], (*path, index), node)
    elif (below := child(node, rest[0])) is not None and (
        not field.among[0] or len(rest) != 2 or _is_among(field, node)
    ):
        yield from _nodes(field, below, rest[1:], (*path, rest[0]), node)


def _is_among(field: Field, node: Node) -> bool:
    beside = items_at(node, (field.among[0],)) or ()
    return any(item.text in {field.among[1], EACH} for item in beside)


def _place(matcher: Matcher, holder: ManifestObject, field: Field, found: _Found) -> Place | None:
    path, node, parent = found
    text = node.text
    if not text:
        return None
    prefix, slash, name = text.rpartition("/") if field.has_namespace else ("", "", text)
    namespace = prefix or _namespace_beside(field, parent)
    sources: tuple[Key, ...]
    if namespace or holder.key.kind not in WITHOUT_NAMESPACE:
        wanted = Key(field.source, namespace or holder.key.namespace, name)
        try:
            source = matcher.find(wanted, holder)
        except AmbiguousError as error:
            sentence = f"{shown(holder.key)} refers to {field.source} {name}, which {error}"
            raise TextError(node.start, sentence) from None
        sources = (source,) if source else ()
    else:
        sources = matcher.named(field.source, name)
    return Place(holder, field, path, node, prefix + slash, sources) if sources else None


def _namespace_beside(field: Field, parent: Node | None) -> str:
    if parent is None or field.path[-1] != "name":
        return ""
    return text_at(parent, ("namespace",))
