"""Content names: each source becomes `<name>-<hash>`, and every reference to it follows.

A source says `reroll.dev/names: "true"` or `"false"` for itself; otherwise the option decides. What
has a content name already, ours or kustomize's or kapp's, keeps it, so a second run changes
nothing. A Secret that the control plane looks for by its name is never renamed.
"""

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from reroll.core.model.digest import stamp
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.revisions.content_names import (
    KEPT_BY_TOOLS,
    KUSTOMIZE_WILL,
    Scheme,
    claimed,
    kustomize_hash,
    marks,
    proved,
)
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.fields import EACH, WITHOUT_NAMESPACE, Field, fields
from reroll.core.tables.kinds import KINDS, Kind
from reroll.manifests.checksums import Checksums, Used
from reroll.manifests.read import Change, Manifests, Object, Source, shown
from reroll.manifests.text.edits import Put, Value
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Node, Path, Sequence, aimed, at, child, text_of
from reroll.manifests.text.scalars import value_of

NAMES = DOMAIN + "names"
_LONGEST = 253
_HASH = 10
_FIXED = frozenset(("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"))


class Hash(StrEnum):
    """How the suffix is made."""

    REROLL = "reroll"
    KUSTOMIZE = "kustomize"


class Naming(msgspec.Struct, frozen=True):
    everything: bool = False
    """Sources that do not say whether they want it."""
    hash: Hash = Hash.REROLL
    keyed: bool = False
    kinds: tuple[Kind, ...] = KINDS
    more: Mapping[tuple[str, str], tuple[Field, ...]] = {}
    """Fields of custom kinds, by group and kind."""


class Names(msgspec.Struct, frozen=True):
    new: dict[Key, str]
    """The new name of each source that gets one."""
    named: frozenset[Key]
    """The sources, as they are in the stream, that have a content name afterwards."""


def names(manifests: Manifests, naming: Naming) -> Names:
    """Which sources get which names."""
    wanted: dict[Key, str] = {}
    named = set()
    for source in manifests.sources.values():
        try:
            state = _plain(source, naming)
        except TextError as error:
            raise manifests.refused(source.object.place, error) from None
        if state is not None:
            named.add(source.key)
            if state:
                wanted[source.key] = state
    hashes = _hashes(manifests, wanted, naming)
    new = {key: _name(plain, hashes[key]) for key, plain in wanted.items()}
    return Names({key: name for key, name in new.items() if name != key.name}, frozenset(named))


def _plain(source: Source, naming: Naming) -> str | None:
    """The plain name of a source to be named; empty if it is named already, `None` if it is not."""
    made = source.object
    asked = _asked(made, default=naming.everything)
    if not asked or _type(made) in _FIXED or KUSTOMIZE_WILL in made.annotations:
        return None
    claim = claimed(made.key.name, made.labels, made.annotations)
    if claim is None:
        return made.key.name
    if claim.scheme is Scheme.REROLL:
        return claim.plain
    return "" if proved(claim, value_of(made.place.node)) else made.key.name


def _asked(made: Object, *, default: bool) -> bool:
    text = made.annotations.get(NAMES)
    if text is None:
        return default
    if text not in {"true", "false"}:
        raise TextError(
            made.place.node.start,
            f'annotation {NAMES} on {shown(made.key)}: {text[:80]!r} is neither "true" nor "false"',
        )
    return text == "true"


def _type(made: Object) -> str:
    node = child(made.place.node, "type")
    return (text_of(node) or "") if node is not None else ""


def _hashes(manifests: Manifests, wanted: Mapping[Key, str], naming: Naming) -> dict[Key, str]:
    found = {key: manifests.sources[key] for key in wanted}
    if naming.hash is Hash.KUSTOMIZE:
        return {key: kustomize_hash(value_of(s.object.place.node)) for key, s in found.items()}
    checksums = Checksums(keyed=naming.keyed)
    used = {
        key: [Used(Reference(key._replace(name=wanted[key])), source.content)]
        for key, source in found.items()
    }
    for key, each in used.items():
        checksums.add(key.namespace, each)
    checksums.harden()
    return {
        key: stamp({"type": _type(found[key].object), "": checksums.of(key.namespace, each)})[
            :_HASH
        ]
        for key, each in used.items()
    }


def _name(plain: str, suffix: str) -> str:
    """`<plain>-<suffix>`; a plain name that is too long is shortened, and still like no other."""
    if len(plain) + 1 + len(suffix) > _LONGEST:
        short = hashlib.sha256(plain.encode()).hexdigest()[:_HASH]
        plain = f"{plain[: _LONGEST - 2 - _HASH - len(suffix)].rstrip('-.')}-{short}"
    return f"{plain}-{suffix}"


def naming_changes(manifests: Manifests, given: Names, naming: Naming) -> Iterator[Change]:
    """Everything that has to be put into the stream for these names."""
    for key in given.new:
        made = manifests.sources[key].object
        yield from _renamed(made, given.new[key])
    known: dict[tuple[str, str], tuple[Field, ...]] = {}
    for made in manifests.objects if given.new else ():
        kind = (made.group, made.key.kind)
        if kind not in known:
            known[kind] = (*fields(*kind, naming.kinds), *naming.more.get(kind, ()))
        try:
            for path, name in _followed(made, given, known[kind]):
                yield Change(made.place, Put(path[:-1], {path[-1]: name}))
        except TextError as error:
            raise manifests.refused(made.place, error) from None


def _renamed(made: Object, new: str) -> Iterator[Change]:
    claim = claimed(made.key.name, made.labels, made.annotations)
    is_ours = claim is not None and claim.scheme is Scheme.REROLL
    labels, annotations = marks(claim.plain if claim and is_ours else made.key.name)
    kept = {n: v for n, v in KEPT_BY_TOOLS.items() if n not in made.annotations}
    root = made.place.path
    puts: tuple[tuple[Path, Mapping[str, Value]], ...] = (
        (("metadata",), {"name": new}),
        (("metadata", "labels"), labels),
        (("metadata", "annotations"), {**kept, **annotations}),
        ((), {"immutable": True}),
    )
    for path, entries in puts:
        if entries:
            yield Change(made.place, Put((*root, *path), dict(entries.items())))


def _followed(made: Object, given: Names, known: tuple[Field, ...]) -> Iterator[tuple[Path, str]]:
    """Where an object names a source that is renamed, and what stands there then."""
    for field in known:
        for path, node, parent in _places(field, made.place.node, field.path, ()):
            text = text_of(node)
            if text and (new := _new_text(field, text, made, node, parent, given)):
                yield (*made.place.path, *path), new


def _places(
    field: Field, node: Node, rest: Path, path: Path, parent: Node | None = None
) -> Iterator[tuple[Path, Node, Node | None]]:
    """Each place of a field in an object: the way there, what stands there, what it stands in."""
    if not rest:
        yield path, node, parent
    elif rest[0] != EACH:
        if (below := child(node, rest[0])) is not None:
            if field.among[0] and len(rest) == 2 and not _is_among(field, node):
                return
            yield from _places(field, below, rest[1:], (*path, rest[0]), node)
    elif isinstance(here := aimed(node), Sequence):
        for index, item in enumerate(here.children):
            yield from _places(field, item, rest[1:], (*path, index), node)


def _is_among(field: Field, node: Node) -> bool:
    beside = at(node, (field.among[0],))
    here = aimed(beside) if beside is not None else None
    return isinstance(here, Sequence) and any(
        text_of(item) in {field.among[1], EACH} for item in here.children
    )


def _new_text(
    field: Field, text: str, made: Object, node: Node, parent: Node | None, given: Names
) -> str | None:
    prefix, slash, name = text.rpartition("/") if field.has_namespace else ("", "", text)
    told = prefix or _beside(field, parent)
    if told or made.key.kind not in WITHOUT_NAMESPACE:
        new = given.new.get(Key(field.source, told or made.key.namespace, name))
        return f"{prefix}{slash}{new}" if new else None
    found = {new for key, new in given.new.items() if (key.kind, key.name) == (field.source, name)}
    if len(found) > 1:
        raise TextError(
            node.start,
            f"{shown(made.key)} names {field.source} {name}, of which several namespaces have one; "
            f'give those `{NAMES}: "false"`',
        )
    return next(iter(found), None)


def _beside(field: Field, parent: Node | None) -> str | None:
    """The namespace that stands beside a name."""
    if parent is None or field.path[-1] != "name":
        return None
    found = child(parent, "namespace")
    return text_of(found) if found is not None else None
