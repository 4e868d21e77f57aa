"""Render a stream of manifests: checksums and content names in, everything else byte for byte.

`render` does no I/O. The bytes of files come in, the bytes of a stream come out, or
`BadInputError` with every problem. `reroll render` is this function and its arguments.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.tables.annotations import ALLOW_FROM, NAMES
from reroll.manifests.checksums import Used, checksums
from reroll.manifests.editing import apply_edits
from reroll.manifests.model import (
    ContentNames,
    Edit,
    Input,
    Manifests,
    ManifestWorkload,
    refuse,
    shown,
)
from reroll.manifests.options import Options
from reroll.manifests.read import read
from reroll.manifests.references import Contents, references_of, undefined
from reroll.manifests.report import frozen, outdated, summary
from reroll.manifests.text.edits import Put

_LONGEST_NAME = 63

Lookup = Callable[[set[Key]], Contents]
"""Finds sources that are not in the stream."""
Referring = tuple[ManifestWorkload, tuple[Reference, ...]]


class Rendered(NamedTuple):
    data: bytes
    notes: list[str]
    """What may have been missed."""
    summary: list[str]


def render(inputs: Iterable[Input], options: Options, lookup: Lookup | None = None) -> Rendered:
    """The stream with content names, checksums and, where asked for, Jobs that attach."""
    manifests = read(inputs, options, prune=not options.names)
    elsewhere = lookup(undefined(manifests)) if lookup else {}
    names, renames, notes = _names(manifests, options)
    stamps = checksum_edits(manifests, options, elsewhere, names)
    data = apply_edits(manifests, [*renames, *stamps])
    if options.attach_image:
        data += _attach_jobs(data, options)
    return Rendered(
        data,
        [
            *manifests.notes,
            *outdated(manifests),
            *frozen(manifests),
            *notes,
        ],
        list(summary(manifests, names, renames, stamps)),
    )


def _names(manifests: Manifests, options: Options) -> tuple[ContentNames, list[Edit], list[str]]:
    """The content names, their edits and what to say of them; most streams have none."""
    asked = (NAMES in source.object.annotations for source in manifests.sources.values())
    if not options.names and not any(asked):
        return ContentNames(), [], []
    from reroll.manifests.content_names import content_names, names_notes, naming_edits

    names = content_names(manifests, options)
    edits = list(naming_edits(manifests, names))
    return names, edits, list(names_notes(manifests, names))


def _attach_jobs(data: bytes, options: Options) -> bytes:
    # The names of these Jobs are hashes of templates as they are deployed, so those are parsed.
    from reroll.manifests.attach_job import attach_jobs

    deployed = read([Input("<rendered>", data)], Options(options.namespace))
    return attach_jobs(deployed, options.attach_image)


def checksum_edits(
    manifests: Manifests, options: Options, elsewhere: Contents, names: ContentNames
) -> list[Edit]:
    """The checksums of all workloads; `elsewhere` are sources that are not in the stream."""
    contents = {**elsewhere, **manifests.contents()}
    workloads = [
        (workload, references_of(workload, contents))
        for workload in manifests.workloads
        if not workload.is_opted_out
    ]
    refuse([p for each in workloads for p in _forbidden(manifests, each, contents)])
    if options.strict:
        refuse([p for each in workloads for p in _unmet(manifests, each, contents)])
    aliases = {alias for alias, key in manifests.aliases.items() if key in names.named}
    named = names.named | aliases
    wanted = [
        (workload, name, used)
        for workload, references in workloads
        if not workload.is_frozen
        for name, used in _annotations(workload, references, contents, options, named)
    ]
    used_in = [(workload.key.namespace, used) for workload, _, used in wanted]
    edits: list[Edit] = []
    for (workload, name, _), checksum in zip(
        wanted, checksums(used_in, keyed=options.key is not None), strict=True
    ):
        if not edits or edits[-1].object is not workload.object:
            path = (*workload.object.path, *workload.kind.annotations)
            edits.append(Edit(workload.object, Put(path, {})))
        edits[-1].put.entries[name] = checksum
    return edits


def _annotations(
    workload: ManifestWorkload,
    references: tuple[Reference, ...],
    contents: Contents,
    options: Options,
    named: frozenset[Key],
) -> Iterator[tuple[str, list[Used]]]:
    """Each annotation that a workload gets, and what its checksum is of."""
    used = [
        Used(reference, contents[reference.source])
        for reference in references
        # A content name in the template is enough; one that only an annotation names is not.
        if (reference.added or reference.source not in named)
        and reference.source in contents
        and not contents[reference.source].ignored
    ]
    if options.per_source:
        for each in used:
            yield _annotation_of(each.reference.source, workload, options.annotation), [each]
    elif used:
        # Where all sources are elsewhere, nothing is known, and what is there stays.
        yield options.annotation, used


def _annotation_of(source: Key, workload: ManifestWorkload, annotation: str) -> str:
    """The annotation of one source: `checksum.reroll.dev/configmap-app`."""
    prefix, slash, _ = annotation.rpartition("/")
    namespace = "" if source.namespace == workload.key.namespace else f"{source.namespace}-"
    name = f"{source.kind.lower()}-{namespace}{source.name}"
    if len(name) > _LONGEST_NAME:
        name = f"{name[:52]}-{hashlib.sha256(name.encode()).hexdigest()[:10]}"
    return f"{prefix}{slash}{name}"


def _unmet(manifests: Manifests, referring: Referring, contents: Contents) -> Iterator[str]:
    """References of a workload that nothing in the stream defines."""
    workload, references = referring
    for reference in references:
        content = contents.get(reference.source)
        what = f"{_subject(manifests, workload)} refers to {shown(reference.source)}"
        if content is None and (reference.required or reference.added):
            yield f"{what}, which nothing here defines; add it, or mark the reference optional"
        elif content is not None and (missing := reference.required_keys - content.keys):
            yield f"{what}, which has no key {', '.join(sorted(missing))}; add it"


def _forbidden(manifests: Manifests, referring: Referring, contents: Contents) -> Iterator[str]:
    """Sources of other namespaces that do not allow the reference; the engine's rule."""
    workload, references = referring
    home = workload.key.namespace
    for reference in references:
        content = contents.get(reference.source)
        if content and reference.source.namespace != home and not content.allows(home):
            yield (
                f"{_subject(manifests, workload)} names {shown(reference.source)}, which does not "
                f"allow that; annotate it with {ALLOW_FROM}: {home}"
            )


def _subject(manifests: Manifests, workload: ManifestWorkload) -> str:
    return f"{manifests.where(workload.object)}: {shown(workload.key)}"
