"""Content names: each source becomes `<name>-<hash>`, and every reference to it follows.

The annotation `reroll.dev/names: "true"` or `"false"` on a source decides for it; otherwise the
option does. A content name that is there already, ours or kustomize's or kapp's, stays, so a second
run changes nothing. A Secret that the control plane looks for by its name is never renamed.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from reroll.core.model.digest import stamp
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.revisions.content_names import (
    KEPT_BY_TOOLS,
    KUSTOMIZE_WILL,
    Scheme,
    kustomize_hash,
    marks,
    proved,
)
from reroll.core.tables.fields import WITHOUT_NAMESPACE, Field, fields
from reroll.core.tables.kinds import EACH
from reroll.manifests.checksums import Used, checksums
from reroll.manifests.matching import AmbiguousError, Matcher
from reroll.manifests.model import Edit, ManifestObject, Manifests, ManifestSource, shown
from reroll.manifests.options import NAMES, CustomKinds, Hash, Options
from reroll.manifests.text.edits import Put, Value
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Node, Path, child, items_at, text_at
from reroll.manifests.text.scalars import value_of

_LONGEST = 253
_HASH = 10
_FIXED = frozenset(("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"))


class ContentNames(msgspec.Struct, frozen=True):
    new: dict[Key, str]
    """The new name of each source that gets one."""
    named: frozenset[Key]
    """The sources, as they are in the stream, that have a content name afterwards."""


def content_names(manifests: Manifests, options: Options) -> ContentNames:
    """Which sources get which names."""
    plain: dict[Key, str] = {}
    named = set()
    for source in manifests.sources.values():
        try:
            name = _plain(source, options)
            if name is not None and options.hash is Hash.KUSTOMIZE:
                value_of(source.object.node)
        except TextError as error:
            raise manifests.refused(source.object, error) from None
        if name is not None:
            named.add(source.key)
            if name:
                plain[source.key] = name
    hashes = _hashes(manifests, plain, options)
    new = {key: _name(name, hashes[key]) for key, name in plain.items()}
    changed = {key: name for key, name in new.items() if name != key.name}
    return ContentNames(changed, frozenset(named))


def _plain(source: ManifestSource, options: Options) -> str | None:
    """The plain name of a source to be named; empty if it is named already, `None` if it is not."""
    made = source.object
    if not _wants_name(made, default=options.names):
        return None
    if text_at(made.node, ("type",)) in _FIXED or KUSTOMIZE_WILL in made.annotations:
        return None
    claim = made.claim()
    if claim is None:
        return made.key.name
    if claim.scheme is Scheme.REROLL:
        return claim.plain
    return "" if proved(claim, value_of(made.node)) else made.key.name


def _wants_name(made: ManifestObject, *, default: bool) -> bool:
    text = made.annotations.get(NAMES)
    if text is None:
        return default
    if text not in {"true", "false"}:
        raise TextError(
            made.node.start,
            f'annotation {NAMES} on {shown(made.key)}: {text[:80]!r} is neither "true" nor "false"',
        )
    return text == "true"


def _hashes(manifests: Manifests, plain: Mapping[Key, str], options: Options) -> dict[Key, str]:
    sources = {key: manifests.sources[key] for key in plain}
    if options.hash is Hash.KUSTOMIZE:
        return {key: kustomize_hash(value_of(s.object.node)) for key, s in sources.items()}
    used = [
        (key.namespace, [Used(Reference(key._replace(name=plain[key])), source.content)])
        for key, source in sources.items()
    ]
    sums = checksums(used, keyed=options.key is not None)
    types = (text_at(source.object.node, ("type",)) for source in sources.values())
    return {
        key: stamp({"type": type_, "": checksum})[:_HASH]
        for key, type_, checksum in zip(sources, types, sums, strict=True)
    }


def _name(plain: str, suffix: str) -> str:
    """`<plain>-<suffix>`; a plain name that is too long is shortened, and still like no other."""
    if len(plain) + 1 + len(suffix) > _LONGEST:
        short = hashlib.sha256(plain.encode()).hexdigest()[:_HASH]
        plain = f"{plain[: _LONGEST - 2 - _HASH - len(suffix)].rstrip('-.')}-{short}"
    return f"{plain}-{suffix}"


def naming_edits(manifests: Manifests, names: ContentNames, options: Options) -> Iterator[Edit]:
    """The edits for these names: of the sources, and of everything that refers to them."""
    for key, new in names.new.items():
        yield from _rename(manifests.sources[key].object, new)
    matcher = Matcher(manifests.sources)
    for holder in manifests.objects if names.new else ():
        renames = Renames(holder, names.new, matcher)
        try:
            for path, name in _followed(renames, name_fields(holder, options)):
                yield Edit(holder, Put(path[:-1], {path[-1]: name}))
        except TextError as error:
            raise manifests.refused(holder, error) from None


def name_fields(holder: ManifestObject, options: Options) -> tuple[Field, ...]:
    """The fields of an object that may name a source."""
    return _name_fields(holder.group, holder.key.kind, options.custom)


@lru_cache
def _name_fields(group: str, kind: str, custom: CustomKinds) -> tuple[Field, ...]:
    return (*fields(group, kind, custom.tables.kinds), *custom.fields.get((group, kind), ()))


def _rename(made: ManifestObject, new: str) -> Iterator[Edit]:
    claim = made.claim()
    is_ours = claim is not None and claim.scheme is Scheme.REROLL
    labels, annotations = marks(claim.plain if claim and is_ours else made.key.name)
    kept = {n: v for n, v in KEPT_BY_TOOLS.items() if n not in made.annotations}
    puts: tuple[tuple[Path, Mapping[str, Value]], ...] = (
        (("metadata",), {"name": new}),
        (("metadata", "labels"), labels),
        (("metadata", "annotations"), {**kept, **annotations}),
        ((), {"immutable": True}),
    )
    for path, entries in puts:
        if entries:
            yield Edit(made, Put((*made.path, *path), dict(entries.items())))


class Renames(NamedTuple):
    """What an object has to follow."""

    holder: ManifestObject
    new: Mapping[Key, str]
    matcher: Matcher


def _followed(renames: Renames, known: tuple[Field, ...]) -> Iterator[tuple[Path, Value]]:
    """Where an object names a source that is renamed, and the text that replaces it."""
    holder = renames.holder
    granted: dict[Path, dict[str, str]] = {}
    for field in known:
        for place in _places(field, holder.node, field.path, ()):
            name = _new_text(field, place, renames)
            if name and field.among[0]:
                granted.setdefault(place.path, {})[field.among[1]] = name
            elif name:
                yield (*holder.path, *place.path), name
    for path, by_resource in sorted(granted.items()):
        yield (*holder.path, *path), _granted(holder, path, by_resource)


def _granted(holder: ManifestObject, path: Path, by_resource: dict[str, str]) -> Value:
    """What a rule names instead: all new names, and the old one if it means another kind too."""
    beside = items_at(holder.node, (*path[:-2], "resources")) or ()
    is_shared = any(item.text not in by_resource for item in beside)
    old = [text_at(holder.node, path)] if is_shared else []
    names = tuple(dict.fromkeys((*by_resource.values(), *old)))
    return names if len(names) > 1 else names[0]


class _Place(NamedTuple):
    path: Path
    node: Node
    parent: Node | None


def _places(
    field: Field, node: Node, rest: Path, path: Path, parent: Node | None = None
) -> Iterator[_Place]:
    """Each place of a field in an object."""
    if not rest:
        yield _Place(path, node, parent)
    elif rest[0] == EACH:
        for index, item in enumerate(items_at(node, ()) or ()):
            yield from _places(field, item, rest[1:], (*path, index), node)
    elif (below := child(node, rest[0])) is not None and (
        not field.among[0] or len(rest) != 2 or _is_among(field, node)
    ):
        yield from _places(field, below, rest[1:], (*path, rest[0]), node)


def _is_among(field: Field, node: Node) -> bool:
    beside = items_at(node, (field.among[0],)) or ()
    return any(item.text in {field.among[1], EACH} for item in beside)


def _new_text(field: Field, place: _Place, renames: Renames) -> str | None:
    holder, new, matcher = renames
    text = place.node.text or ""
    prefix, slash, name = text.rpartition("/") if field.has_namespace else ("", "", text)
    namespace = prefix or _namespace_beside(field, place.parent)
    if namespace or holder.key.kind not in WITHOUT_NAMESPACE:
        wanted = Key(field.source, namespace or holder.key.namespace, name)
        try:
            source = matcher.find(wanted, holder) if name else None
        except AmbiguousError as error:
            sentence = f"{shown(holder.key)} refers to {field.source} {name}, which {error}"
            raise TextError(place.node.start, sentence) from None
        found = new.get(source) if source else None
        return f"{prefix}{slash}{found}" if found else None
    names = {of for key, of in new.items() if (key.kind, key.name) == (field.source, name)}
    if len(names) > 1:
        raise TextError(
            place.node.start,
            f"{shown(holder.key)} names {field.source} {name}, which several namespaces have; "
            f'give those `{NAMES}: "false"`',
        )
    return next(iter(names), None)


def _namespace_beside(field: Field, parent: Node | None) -> str:
    if parent is None or field.path[-1] != "name":
        return ""
    return text_at(parent, ("namespace",))
