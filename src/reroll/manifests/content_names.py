"""Content names: a source becomes `<name>-<hash>`, and every reference to it follows.

The annotation `reroll.dev/names: always` or `never` on a source decides for it. Otherwise, and if
names are asked for at all, those sources get one that have data, that a pod template in the stream
refers to, and of which nothing is seen that could not follow (see `uses`); or all of them, if that
is asked for. A content name that is there already, ours or kustomize's or kapp's, stays, so a
second run changes nothing. A Secret that the control plane looks for by its name is never renamed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from reroll.core.model.digest import stamp
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.revisions.content_names import (
    KUSTOMIZE_WILL,
    Scheme,
    kept_by_tools,
    kustomize_hash,
    marks,
    proved,
)
from reroll.core.tables.annotations import NAMES
from reroll.core.tables.fields import FIELDS
from reroll.manifests.checksums import Used, checksums
from reroll.manifests.model import (
    ContentNames,
    Edit,
    ManifestObject,
    Manifests,
    ManifestSource,
    shown,
)
from reroll.manifests.options import Hash, Options
from reroll.manifests.places import Place, places
from reroll.manifests.sources import values_of
from reroll.manifests.text.edits import Put, Value
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Path, items_at, text_at
from reroll.manifests.text.scalars import value_of
from reroll.manifests.uses import Mention, Uses

_LONGEST = 253
_HASH = 10
_MOST = 10
_FIXED = frozenset(("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"))
_WISHES = {"always": True, "true": True, "never": False, "false": False}
UNUSED = "no pod template here refers to it"
EMPTY = "it has no data, so that something may fill it in the cluster"


def content_names(manifests: Manifests, options: Options) -> ContentNames:
    """Which sources get which names, and which keep theirs."""
    wishes = {key: _wish(manifests, source) for key, source in manifests.sources.items()}
    plain = {
        key: name
        for key, wish in wishes.items()
        if wish is not False and (wish or options.names)
        if (name := _plain(manifests, manifests.sources[key], options)) is not None
    }
    known = list(places(manifests, options))
    free = set() if options.all_names else {key for key in plain if not wishes[key]}
    kept = dict(_unfit(manifests, known, free))
    left = [key for key in plain if key not in kept]
    mentions = list(Uses(manifests, left, known, options.custom).mentions())
    free = {key for key in free if not _is_ours(manifests.sources[key].object)}
    kept |= {each.source: each.what for each in mentions if each.source in free}
    fitting = {key: name for key, name in plain.items() if key not in kept}
    hashes = _hashes(manifests, {key: name for key, name in fitting.items() if name}, options)
    new = {key: _name(fitting[key], hash_) for key, hash_ in hashes.items()}
    changed = {key: name for key, name in new.items() if name != key.name}
    return ContentNames(changed, frozenset(fitting), known, kept, mentions)


def _unfit(
    manifests: Manifests, known: Iterable[Place], sources: set[Key]
) -> Iterator[tuple[Key, str]]:
    """The sources for which a content name does nothing, and why."""
    referred = {
        key
        for place in known
        if (place.holder.group, place.holder.key.kind) not in FIELDS
        for key in place.sources
    }
    for key in sources:
        source = manifests.sources[key]
        if _is_ours(source.object):
            continue
        if key not in referred:
            yield key, UNUSED
        elif not any(values_of(source.kind, source.object.node).values()):
            yield key, EMPTY


def _is_ours(made: ManifestObject) -> bool:
    claim = made.claim()
    return claim is not None and claim.scheme is Scheme.REROLL


def _wish(manifests: Manifests, source: ManifestSource) -> bool | None:
    """What the annotation of a source asks for; `None` if it has none."""
    made = source.object
    text = made.annotations.get(NAMES)
    try:
        return None if text is None else wish(text)
    except ValueError as error:
        sentence = f"annotation {NAMES} on {shown(made.key)}: {error}"
        raise manifests.refused(made, TextError(made.node.start, sentence)) from None


def wish(text: str) -> bool:
    """Whether a source that says this gets a content name; a `ValueError` if it says neither."""
    if text not in _WISHES:
        raise ValueError(f'{text[:80]!r} is neither "always" nor "never"')
    return _WISHES[text]


def _plain(manifests: Manifests, source: ManifestSource, options: Options) -> str | None:
    """The plain name of a source; empty if it has a content name, `None` if it never gets one."""
    made = source.object
    if text_at(made.node, ("type",)) in _FIXED or KUSTOMIZE_WILL in made.annotations:
        return None
    claim = made.claim()
    if claim is not None and claim.scheme is Scheme.REROLL:
        return claim.plain
    try:
        if claim is not None and proved(claim, value_of(made.node)):
            return ""
        if options.hash is Hash.KUSTOMIZE:
            value_of(made.node)
    except TextError as error:
        raise manifests.refused(made, error) from None
    return made.key.name


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


def naming_edits(manifests: Manifests, names: ContentNames) -> Iterator[Edit]:
    """The edits for these names: of the sources, and of everything that refers to them."""
    for key, new in names.new.items():
        yield from _rename(manifests.sources[key].object, new)
    granted: dict[tuple[int, Path], list[tuple[Place, str]]] = {}
    for place in names.places if names.new else ():
        try:
            name = _new_name(place, names.new)
        except TextError as error:
            raise manifests.refused(place.holder, error) from None
        if name and place.field.among[0]:
            granted.setdefault((id(place.holder), place.path), []).append((place, name))
        elif name:
            yield _edit(place, place.prefix + name)
    for together in granted.values():
        yield _edit(together[0][0], _granted(together))


def _edit(place: Place, value: Value) -> Edit:
    *above, last = (*place.holder.path, *place.path)
    return Edit(place.holder, Put(tuple(above), {last: value}))


def _rename(made: ManifestObject, new: str) -> Iterator[Edit]:
    claim = made.claim()
    labels, annotations = marks(claim.plain if claim and _is_ours(made) else made.key.name)
    puts: tuple[tuple[Path, Mapping[str, Value]], ...] = (
        (("metadata",), {"name": new}),
        (("metadata", "labels"), labels),
        (("metadata", "annotations"), {**kept_by_tools(made.annotations), **annotations}),
        ((), {"immutable": True}),
    )
    for path, entries in puts:
        if entries:
            yield Edit(made, Put((*made.path, *path), dict(entries.items())))


def _new_name(place: Place, new: Mapping[Key, str]) -> str | None:
    names = {new[key] for key in place.sources if key in new}
    if len(names) > 1:
        raise TextError(
            place.node.start,
            f"{shown(place.holder.key)} names {place.field.source} {place.sources[0].name}, which "
            f"several namespaces have; give those `{NAMES}: never`",
        )
    return next(iter(names), None)


def _granted(together: list[tuple[Place, str]]) -> Value:
    """What a rule names instead: all new names, and the old one if it means another kind too."""
    place = together[0][0]
    followed = {each.field.among[1] for each, _ in together}
    beside = items_at(place.holder.node, (*place.path[:-2], "resources")) or ()
    old = [place.node.text or ""] if any(item.text not in followed for item in beside) else []
    names = tuple(dict.fromkeys((*(name for _, name in together), *old)))
    return names if len(names) > 1 else names[0]


def names_notes(manifests: Manifests, names: ContentNames) -> Iterator[str]:
    """Which sources keep their names and why, and what does not follow a new one."""
    mentions: dict[Key, list[Mention]] = {}
    for mention in names.mentions:
        if mention.source in names.kept or mention.otherwise:
            mentions.setdefault(mention.source, []).append(mention)
    for key, (first, *more) in mentions.items():
        others = f" (and {len(more)} more)" if more else ""
        start = f"{first.where}: {first.what}{others}; {shown(key)}"
        if key in names.kept:
            yield f"{start} keeps its name, unless it has {NAMES}: always"
        elif key in names.new:
            now = f"is now {names.new[key]}{first.otherwise}"
            yield f"{start} {now}, or keep the name with {NAMES}: never"
    for reason in (UNUSED, EMPTY):
        keys = [shown(key) for key in manifests.sources if names.kept.get(key) == reason]
        if keys:
            rest = f" and {len(keys) - _MOST} more" if len(keys) > _MOST else ""
            yield f"name kept, because {reason}: {', '.join(keys[:_MOST])}{rest}"
