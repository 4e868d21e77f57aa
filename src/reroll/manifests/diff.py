"""Compare two streams: which workloads roll from one to the other, because of which keys.

Pure. A workload rolls if its pod template changes. A change of content shows there as a checksum or
a content name, so those are taken out, and the keys that changed are reported by name. Values are
never shown, not even that two of them are equal.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.podspec import without_empty
from reroll.core.model.reference import Reference
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.kinds import Strategy
from reroll.manifests.model import Manifests, ManifestWorkload
from reroll.manifests.options import ANNOTATION
from reroll.manifests.references import references_of
from reroll.manifests.text.nodes import text_at

_PREFIX = ANNOTATION.partition("/")[0] + "/"
_MOST_FIELDS = 5

Digests = dict[Key, dict[str, bytes]]


class Effect(StrEnum):
    """What the change does to a workload."""

    ROLLS = "rolls"
    ON_DELETE = "on delete"
    """Its pods are replaced when they are deleted."""
    NEXT_RUN = "next run"
    RECREATE = "recreate"
    """Its template cannot be changed: it has to be deleted and created again."""
    NOT_SEEN = "does not roll"
    """What it uses changes, and nothing in its template shows that."""
    NEW = "new"
    REMOVED = "removed"


REPLACES_PODS = frozenset((Effect.ROLLS, Effect.RECREATE))
"""Pods that run now are replaced."""


class Cause(msgspec.Struct, frozen=True):
    """What changes of one source, as far as the workload uses it."""

    source: Key
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def by_word(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("changed", self.changed), ("added", self.added), ("removed", self.removed))


class Difference(msgspec.Struct, frozen=True):
    workload: Key
    effect: Effect
    causes: tuple[Cause, ...] = ()
    fields: tuple[str, ...] = ()
    """What else changes in its template."""


class Side:
    """One of the two streams; `live` are sources that stand elsewhere."""

    def __init__(
        self,
        manifests: Manifests,
        live: Mapping[Key, Content] | None = None,
        templates: Mapping[Key, Any] | None = None,
    ) -> None:
        self.contents = {**(live or {}), **manifests.contents()}
        rows = (one for one in manifests.workloads if one.kind.template)
        self.workloads = {one.key: one for one in rows if one.key.name}
        self._templates = templates or {}
        self.plain = {
            key: Key(key.kind, key.namespace, claim.plain)
            for key, source in manifests.sources.items()
            if (claim := source.object.claim())
        }
        self._meant = manifests.meant

    def template(self, workload: ManifestWorkload) -> Any:
        """The pod template as values; empty fields say nothing."""
        served = self._templates.get(workload.key)
        return without_empty(workload.template() if served is None else served)

    def used(self, workload: ManifestWorkload) -> Digests:
        """The digests that a workload uses, by plain source and key."""
        used: Digests = {}
        for reference in references_of(workload, self.contents):
            content = self.contents.get(reference.source)
            if content is not None and not content.ignored:
                key = self.plain.get(self._meant(reference.source), reference.source)
                used.setdefault(key, {}).update(_digests(reference, content))
        return used


def compare(before: Side, after: Side, stamp: str = ANNOTATION) -> list[Difference]:
    """Every workload that the change touches, by kind, namespace and name."""
    found = []
    for key in sorted(before.workloads.keys() | after.workloads.keys()):
        old, new = before.workloads.get(key), after.workloads.get(key)
        if old is None or new is None:
            effect = Effect.NEW if old is None else Effect.REMOVED
            found.append(Difference(key, effect))
        elif difference := _difference(before, old, after, new, stamp):
            found.append(difference)
    return found


def _difference(
    before: Side, old: ManifestWorkload, after: Side, new: ManifestWorkload, stamp: str
) -> Difference | None:
    causes = tuple(_causes(before.used(old), after.used(new)))
    was, is_ = before.template(old), after.template(new)
    if was == is_:
        return Difference(new.key, Effect.NOT_SEEN, causes) if causes else None
    names = {key.name: plain.name for key, plain in (before.plain | after.plain).items()}
    fields = list(_unlike(_plain(was, names, stamp), _plain(is_, names, stamp), ""))
    if len(fields) > _MOST_FIELDS:
        fields = [*fields[:_MOST_FIELDS], f"and {len(fields) - _MOST_FIELDS} more"]
    return Difference(new.key, _effect(new), causes, tuple(fields))


def _effect(workload: ManifestWorkload) -> Effect:
    kind = workload.kind
    if Strategy.RECREATE in kind.strategies:
        return Effect.RECREATE
    if not kind.replaces_pods:
        return Effect.NEXT_RUN
    update = text_at(workload.object.node, kind.update_strategy)
    return Effect.ON_DELETE if update == "OnDelete" else Effect.ROLLS


def _causes(was: Digests, is_: Digests) -> Iterator[Cause]:
    """What changes of the sources that both use; others are changes of the template."""
    for source in sorted(was.keys() & is_.keys()):
        old, new = was[source], is_[source]
        cause = Cause(
            source,
            changed=tuple(sorted(k for k in old.keys() & new.keys() if old[k] != new[k])),
            added=tuple(sorted(new.keys() - old.keys())),
            removed=tuple(sorted(old.keys() - new.keys())),
        )
        if cause != Cause(source):
            yield cause


def _digests(reference: Reference, content: Content) -> dict[str, bytes]:
    by_key = next(iter(content.digests.values()), {})
    used = by_key.keys() if reference.keys is None else reference.keys & by_key.keys()
    return {key: by_key[key] for key in used - reference.without}


def _plain(template: Any, names: Mapping[str, str], stamp: str) -> Any:
    """The template as it was before it was rendered: without checksums and content names."""
    plain = _renamed(template, names)
    annotations = (plain.get("metadata") or {}).get("annotations") or {}
    for name in [*annotations]:
        if name.startswith(_PREFIX) or name in {stamp, STAMP}:
            del annotations[name]
    return without_empty(plain)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {key: _renamed(each, names) for key, each in value.items()}
        case list():
            return [_renamed(each, names) for each in value]
        case str():
            return names.get(value, value)
    return value


def _unlike(was: Any, is_: Any, path: str) -> Iterator[str]:
    """The paths at which two values differ, as deep as possible."""
    if isinstance(was, dict) and isinstance(is_, dict):
        for key in sorted(was.keys() | is_.keys()):
            yield from _unlike(was.get(key), is_.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(was, list) and isinstance(is_, list) and len(was) == len(is_):
        for index, (old, new) in enumerate(zip(was, is_, strict=True)):
            name = old.get("name", index) if isinstance(old, dict) else index
            yield from _unlike(old, new, f"{path}[{name}]")
    elif was != is_:
        yield path


def overlay(below: Any, above: Any) -> Any:
    """What `above` says, and where it says nothing what `below` says."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: overlay(below.get(key), above[key]) for key in above}}
    if isinstance(below, list) and isinstance(above, list) and len(below) == len(above):
        return [overlay(*pair) for pair in zip(below, above, strict=True)]
    return above
