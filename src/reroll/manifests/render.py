"""Manifests in, the same manifests with checksums out.

`render` does no I/O: the bytes of files come in, the bytes of a stream go out, or `BadInputError`
with every problem. What is not edited stays byte for byte.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.manifests.checksums import Checksums, Used
from reroll.manifests.names import Names, Naming, names, naming_changes
from reroll.manifests.read import BadInputError, Change, Manifests, Workload, shown
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.edits import Edit, Put, Value, apply, put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Step
from reroll.manifests.text.scalars import value_of
from reroll.manifests.wishes import references_of

ANNOTATION = "checksum/config"
_LONGEST_NAME = 63


class Options(msgspec.Struct, frozen=True):
    annotation: str = ANNOTATION
    per_source: bool = False
    strict: bool = False
    naming: Naming = Naming()


Contents = Mapping[Key, Content]


def uses_of(workload: Workload, contents: Contents) -> tuple[Reference, ...]:
    return references_of(workload.key.namespace, workload.uses, workload.policy, contents)


def contents_of(manifests: Manifests) -> dict[Key, Content]:
    return {key: source.content for key, source in manifests.sources.items()}


def outside(manifests: Manifests) -> set[Key]:
    """The sources that workloads refer to and that are not in the stream."""
    contents = contents_of(manifests)
    return {
        reference.source
        for workload in manifests.workloads
        for reference in uses_of(workload, contents)
        if reference.source not in contents
    }


def render(manifests: Manifests, options: Options, live: Contents | None = None) -> bytes:
    """The stream with content names and checksums. `live` is what is known of other sources."""
    return edited(manifests, changes(manifests, options, live or {}))


def changes(manifests: Manifests, options: Options, live: Contents) -> list[Change]:
    """All that has to be put into the stream."""
    given = names(manifests, options.naming)
    return [
        *naming_changes(manifests, given, options.naming),
        *checksum_changes(manifests, options, live, given),
    ]


def checksum_changes(
    manifests: Manifests, options: Options, live: Contents, given: Names
) -> list[Change]:
    contents = {**live, **contents_of(manifests)}
    found = [
        (workload, uses_of(workload, contents))
        for workload in manifests.workloads
        if workload.policy.enabled is not False
    ]
    _refuse([p for each in found for p in _forbidden(manifests, *each, contents)])
    if options.strict:
        _refuse([p for each in found for p in _unmet(manifests, *each, contents)])
    checksums = Checksums(keyed=options.naming.keyed)
    wanted = [
        (workload, name, used)
        for workload, refs in found
        for name, used in _annotations(workload, refs, contents, options, given)
    ]
    for workload, _, used in wanted:
        checksums.add(workload.key.namespace, used)
    checksums.harden()
    found_entries: dict[int, tuple[Workload, dict[Step, Value]]] = {}
    for workload, name, used in wanted:
        _, entries = found_entries.setdefault(id(workload), (workload, {}))
        entries[name] = checksums.of(workload.key.namespace, used)
    return [_stamped(workload, entries) for workload, entries in found_entries.values()]


def _stamped(workload: Workload, entries: dict[Step, Value]) -> Change:
    place = workload.object.place
    path = (*place.path, *workload.kind.annotations)
    return Change(place, Put(path, entries))


def _annotations(
    workload: Workload,
    refs: tuple[Reference, ...],
    contents: Contents,
    options: Options,
    given: Names,
) -> Iterator[tuple[str, list[Used]]]:
    """Each annotation that a workload gets, and what its checksum is of."""
    # A content name in the template says it already; one that only an annotation names does not.
    told = [ref for ref in refs if ref.source in given.named and not ref.added]
    used = [
        Used(ref, contents[ref.source])
        for ref in refs
        if ref not in told and ref.source in contents and not contents[ref.source].ignored
    ]
    if options.per_source:
        for each in used:
            yield _own_name(options.annotation, each.reference.source, workload), [each]
    elif used or not refs:
        # Where all sources are elsewhere, nothing is known, and what is there stays.
        yield options.annotation, used


def _own_name(annotation: str, source: Key, workload: Workload) -> str:
    """The annotation of one source: `checksum/configmap-app`."""
    prefix, slash, _ = annotation.rpartition("/")
    namespace = "" if source.namespace == workload.key.namespace else f"{source.namespace}-"
    name = f"{source.kind.lower()}-{namespace}{source.name}"
    if len(name) > _LONGEST_NAME:
        name = f"{name[:52]}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"
    return f"{prefix}{slash}{name}"


def _unmet(
    manifests: Manifests, workload: Workload, refs: tuple[Reference, ...], contents: Contents
) -> Iterator[str]:
    """What a workload needs and nothing in the stream defines."""
    for ref in refs:
        what = f"{_where(manifests, workload)} refers to {shown(ref.source)}"
        content = contents.get(ref.source)
        if content is None and (ref.required or (ref.added)):
            yield f"{what}, which nothing here defines; add it, or mark the reference optional"
        elif content is not None and (missing := ref.required_keys - content.keys):
            yield f"{what}, which has no key {', '.join(sorted(missing))}; add it"


def _forbidden(
    manifests: Manifests, workload: Workload, refs: tuple[Reference, ...], contents: Contents
) -> Iterator[str]:
    """Sources of other namespaces that did not agree to be named, as the engine wants it."""
    home = workload.key.namespace
    for ref in refs:
        content = contents.get(ref.source)
        if content is None or ref.source.namespace == home:
            continue
        if not any(fnmatchcase(home, glob) for glob in content.allow_from):
            yield (
                f"{_where(manifests, workload)} names {shown(ref.source)}, which does not allow "
                f"that; annotate it with {ALLOW_FROM}: {home}"
            )


def _where(manifests: Manifests, workload: Workload) -> str:
    place = workload.object.place
    return f"{manifests.where(place.input, place.node.start)}: {shown(workload.key)}"


def _refuse(problems: list[str]) -> None:
    if problems:
        raise BadInputError(problems)


def edited(manifests: Manifests, changes: list[Change]) -> bytes:
    """The stream with all changes made."""
    by_input: dict[int, list[Edit]] = {}
    by_document: dict[int, list[Change]] = {}
    problems = []
    for change in changes:
        place = change.place
        text, root = manifests.texts[place.input], place.document.root
        assert root is not None  # noqa: S101  it holds an object
        try:
            by_input.setdefault(place.input, []).extend(put(text, root, change.put))
        except TextError as error:
            problems.append(f"{manifests.where(place.input, error.position)}: {error}")
        if place.document.has_aliases:
            by_document.setdefault(id(place.document), []).append(change)
    _refuse(problems)
    for together in by_document.values():
        problems += _unlike(manifests, together, by_input[together[0].place.input])
    _refuse(problems)
    texts = [
        apply(text, by_input[number]) if number in by_input else text
        for number, text in enumerate(manifests.texts)
    ]
    return (manifests.mark + joined_texts(texts)).encode()


def _unlike(manifests: Manifests, together: list[Change], edits: list[Edit]) -> Iterator[str]:
    """See that the edits of a document with aliases do what they should, and no more."""
    place = together[0].place
    document = place.document
    assert document.root is not None  # noqa: S101  it holds an object
    wanted = value_of(document.root)
    for change in together:
        _set(wanted, change.put)
    after = _slice(manifests.texts[place.input], document, edits)
    if [value_of(each.root) for each in compose(after) if each.root is not None] != [wanted]:
        where = manifests.where(place.input, place.node.start)
        yield (
            f"{where}: this cannot be edited without changing another place that shares it by a "
            "YAML anchor; write out what is shared"
        )


def _slice(text: str, document: Document, edits: list[Edit]) -> str:
    start, end = document.start, document.end
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        start = line  # What it is indented by is a part of it.
    inside = [
        Edit(e.start - start, e.end - start, e.text) for e in edits if start <= e.start <= end
    ]
    return apply(text[start:end], inside)


def _set(value: Any, change: Put) -> None:
    for step in change.path:
        if isinstance(value, dict) and value.get(step) is None:
            value[step] = {}
        value = value[step]
    for step, new in change.entries.items():
        value[step] = new


_BEGINS = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+(---(?=\s|$)|%)?")


def joined_texts(texts: list[str]) -> str:
    """Several inputs as one stream, each beginning a document; one alone stays as it is."""
    parts: list[str] = []
    for text in texts:
        if not parts:
            parts.append(text)
        elif text.strip():
            found = _BEGINS.match(text)
            begins = found[1] if found else None
            broken = "\n" if parts[-1] and not parts[-1].endswith("\n") else ""
            mark = {"---": "", "%": "...\n"}.get(begins or "", "---\n")
            parts += (broken + mark, text)
    return "".join(parts)
