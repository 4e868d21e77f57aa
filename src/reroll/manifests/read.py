"""Read a stream of manifests: which sources and workloads are in it, and where.

Bad input is reported all at once where that is possible: each problem is a sentence that begins
with file, line and column. Lists are entered, so an object is a document or an item of one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.podspec import PodTemplate, without_nulls
from reroll.core.policy.beside import named
from reroll.core.policy.references import Use, uses
from reroll.core.tables.annotations import DOMAIN, concern_us
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.manifests.matching import AmbiguousError, Matcher
from reroll.manifests.model import (
    BadInputError,
    Input,
    ManifestObject,
    Manifests,
    ManifestSource,
    ManifestWorkload,
    refuse,
    shown,
)
from reroll.manifests.options import Options
from reroll.manifests.pruning import keep_only, may_request_names
from reroll.manifests.sources import DATA_KINDS, content
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import (
    MappingNode,
    Node,
    Path,
    ScalarNode,
    child,
    is_merge,
    is_null,
    items_at,
    merged_into,
    resolve,
    resolve_at,
    text_at,
    text_of,
)
from reroll.manifests.text.scalars import key_of, meaning, value_of

MARK = "\ufeff"
_STEP = r"\.([^.\[`]+)|\[(\d+)\]"
_UNRENDERED = (
    "a template that was not rendered ({{ … }}); render it first, e.g. with `helm template`"
)


def read(inputs: Iterable[Input], options: Options, *, prune: bool = False) -> Manifests:
    """The manifests in `inputs`; `BadInputError` if some of it cannot be read.

    With `prune` the trees keep only what checksums need, unless a source may request a new name.
    """
    reader = Reader(options)
    for each in inputs:
        reader.decode(each)
    prune = prune and not any(map(may_request_names, reader.manifests.texts))
    for number in range(len(reader.manifests.texts)):
        reader.parse(number, prune=prune)
    return reader.finished()


def decoded(given: Input) -> str:
    try:
        text = given.data.decode()
    except UnicodeDecodeError as error:
        what = "is binary data" if b"\0" in given.data[:8192] else "is not UTF-8"
        raise BadInputError(
            f"{given.name} {what} (byte {error.start + 1}); give it manifests in UTF-8"
        ) from None
    if "\0" in text:
        raise BadInputError(f"{given.name} is binary data; give it manifests in UTF-8")
    return text


class Reader:
    def __init__(self, options: Options) -> None:
        self.manifests = Manifests()
        self._options = options
        self._kinds = {(kind.group, kind.kind): kind for kind in options.custom.tables.kinds[::-1]}
        self.problems: list[str] = []

    def decode(self, given: Input) -> None:
        text = ""
        try:
            text = decoded(given)
        except BadInputError as error:
            self.problems += error.problems
        if not self.manifests.texts and text.startswith(MARK):
            self.manifests.mark = MARK
        self.manifests.names.append(given.name)
        self.manifests.texts.append(text.removeprefix(MARK))

    def parse(self, number: int, *, prune: bool) -> None:
        try:
            for document in compose(self.manifests.texts[number]):
                before = len(self.manifests.workloads)
                self._add_document(number, document)
                self._note_repeated(number, document)
                if prune and not document.has_aliases:
                    new = self.manifests.workloads[before:]
                    paths = [(*each.object.path, *each.kind.annotations[:-1]) for each in new]
                    keep_only(document.root, paths)
        except TextError as error:
            self.problems.append(self._sentence(number, error))

    def _note_repeated(self, number: int, document: Document) -> None:
        for key in document.repeated:
            self.manifests.notes.append(
                f"{self.manifests.position(number, key.start)}: the key {(key.text or '')[:80]!r} "
                "is there twice; the last one counts"
            )

    def finished(self) -> Manifests:
        """The stream, once the policies are known; those of Namespaces may come last."""
        matcher = Matcher(self.manifests.sources)
        with_policies = [self._with_policy(each) for each in self.manifests.workloads]
        self.manifests.workloads = [self._matched(matcher, each) for each in with_policies]
        refuse(self.problems)
        return self.manifests

    def _with_policy(self, workload: ManifestWorkload) -> ManifestWorkload:
        own, key = workload.object.annotations, workload.key
        namespace = self.manifests.namespaces.get(key.namespace, {})
        if not concern_us((*own, *namespace)):
            return workload
        from reroll.core.dialects.reroll import policy
        from reroll.core.policy.policy import Policy

        found = policy(own, namespace, Policy(), key, self._options.custom.tables)
        where = self.manifests.where(workload.object) if found.problems else ""
        self.problems += (f"{where}: {problem.sentence}" for problem in found.problems)
        return msgspec.structs.replace(workload, policy=found)

    def _matched(self, matcher: Matcher, workload: ManifestWorkload) -> ManifestWorkload:
        """The workload with the names that its sources have here; how else it means them is kept.

        What is renamed in the middle of kustomize's build is named as the build will name it.
        """
        if workload.is_opted_out:
            return workload
        uses = []
        for use in workload.uses:
            source = self._match(matcher, workload, use.kind, use.name)
            name = source.name if source else use.name
            uses.append(use if name == use.name else msgspec.structs.replace(use, name=name))
        for pattern in workload.policy.sources if workload.policy else ():
            if not (pattern.is_glob or pattern.namespace):
                self._match(matcher, workload, pattern.kind, pattern.name)
        return msgspec.structs.replace(workload, uses=tuple(uses))

    def _match(
        self, matcher: Matcher, workload: ManifestWorkload, kind: str, name: str
    ) -> Key | None:
        wanted = Key(kind, workload.key.namespace, name)
        try:
            source = matcher.find(wanted, workload.object)
        except AmbiguousError as error:
            where, who = self.manifests.where(workload.object), shown(workload.key)
            self.problems.append(f"{where}: {who} refers to {kind} {name}, which {error}")
            return None
        if source is not None and source != wanted:
            self.manifests.aliases[wanted._replace(name=source.name)] = source
        return source

    def _sentence(self, number: int, error: TextError) -> str:
        text, position = self.manifests.texts[number], error.position
        start = text.rfind("\n", 0, max(text.rfind("\n", 0, position), 0)) + 1
        end = text.find("\n", position)
        braces = text.find("{{", start, end if end >= 0 else len(text))
        if braces >= 0 and error.is_broken:
            return f"{self.manifests.position(number, braces)}: {_UNRENDERED} ({error})"
        return f"{self.manifests.position(number, position)}: {error}"

    def _add_document(self, number: int, document: Document) -> None:
        for path, node in _objects((), document.root):
            try:
                self._add_object(number, document, path, node)
            except TextError as error:
                self.problems.append(self._sentence(number, error))

    def _add_object(self, number: int, document: Document, path: Path, node: Node) -> None:
        kind = _text(node, "kind")
        if not kind:
            return  # What has no kind is nothing that matters here.
        group = _text(node, "apiVersion").rpartition("/")[0]
        metadata = child(node, "metadata")
        namespace = _text(metadata, "namespace") or self._options.namespace
        key = Key(kind, namespace, _text(metadata, "name"))
        annotations = texts(metadata and child(metadata, "annotations"))
        labels = texts(metadata and child(metadata, "labels"))
        added = ManifestObject(number, document, path, node, group, key, annotations, labels)
        self.manifests.objects.append(added)
        self.take(added)

    def take(self, added: ManifestObject) -> None:
        """Make of an object what it is."""
        key, of = added.key, (added.group, added.key.kind)
        if of == ("", "Namespace"):
            self.manifests.namespaces[key.name] = added.annotations
        if (source := DATA_KINDS.get(of)) and key.name:
            self._add_source(added, source)
        if row := self._kinds.get(of):
            self._add_workload(added, row)

    def _add_source(self, added: ManifestObject, kind: SourceKind) -> None:
        sources = self.manifests.sources
        if other := sources.get(added.key):
            first = self.manifests.where(other.object)
            raise TextError(
                added.node.start,
                f"{shown(added.key)} is there twice, first at {first}; take one away",
            )
        kept = content(kind, added.node, added.annotations, self._options.key)
        sources[added.key] = ManifestSource(added, kind, kept)

    def _add_workload(self, added: ManifestObject, kind: Kind) -> None:
        beside = tuple(named(kind.names, value_of(added.node))) if kind.names else ()
        if kind.template:
            node = resolve_at(added.node, kind.template)
            if not isinstance(node, MappingNode):
                return
            beside = (*_template_uses(added, kind, node), *beside)
        elif kind.stamp is None or kind.stamp.path[0] == "metadata":
            return  # A checksum has no place in it.
        self.manifests.workloads.append(ManifestWorkload(added, kind, beside))


def _template_uses(added: ManifestObject, kind: Kind, node: Node) -> Iterator[Use]:
    try:
        template = _pod_template(value_of(node))
    except msgspec.ValidationError as error:
        path = ".".join(kind.template)
        raise TextError(
            _field_at(node, str(error)).start,
            f"`{path}` of {shown(added.key)} is not a pod template: {error}",
        ) from None
    return uses(template.spec) if template.spec else iter(())


def _pod_template(value: Any) -> PodTemplate:
    """Nulls are where most types expect them: only where one is not, all are taken out."""
    try:
        return msgspec.convert(value, PodTemplate)
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls(value), PodTemplate)


def _field_at(node: Node, problem: str) -> Node:
    """The node that a decoder complains about: its path is at the end, `$.spec.volumes[0]`."""
    for name, index in re.findall(_STEP, problem.rpartition("`$")[2]):
        items = [each for each in items_at(node, ()) or () if not is_null(each)]
        node = (child(node, name) if name else items[int(index)]) or node
    return node


def _objects(path: Path, node: Node) -> Iterator[tuple[Path, Node]]:
    """The objects of a document: itself, or those that it lists."""
    here = resolve(node)
    if not isinstance(here, MappingNode):
        raise TextError(node.start, "this is no Kubernetes object; it has to have `kind: …`")
    items = items_at(here, ("items",))
    if items is not None and text_at(here, ("kind",)).endswith("List"):
        for index, item in enumerate(items):
            yield from _objects((*path, "items", index), item)
    else:
        yield path, node


def _text(node: Node | None, name: str) -> str:
    """The text of an entry, if there is one."""
    found = child(node, name) if node is not None else None
    if found is None:
        return ""
    text = text_of(found)
    if "{{" in text:
        raise TextError(found.start, _UNRENDERED)
    return text


def texts(node: Node | None) -> dict[str, str]:
    """The entries of a mapping that are text; of two with one name the last."""
    here = resolve(node) if node is not None else None
    if not isinstance(here, MappingNode):
        return {}
    values: dict[str, Any] = {}
    for merged in reversed([*merged_into(here)]):
        values |= texts(merged)
    for key, each in here.pairs():
        if is_merge(key):
            continue
        name, scalar = key_of(key), resolve(each)
        values[name] = meaning(scalar) if isinstance(scalar, ScalarNode) else scalar
        if name.startswith(DOMAIN):
            here.check_unique(key.text)
            if not isinstance(values[name], str | None):
                raise TextError(here.start, f"{name}: the value is not text; put it in quotes")
    return {name: value for name, value in values.items() if isinstance(value, str)}
