"""A stream of manifests: which sources and workloads are in it, and where they stand.

Bad input is told all at once where that is possible: each problem is a sentence that begins with
file, line and column. Lists are gone into, so an object is a document or an item of one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from collections.abc import Sequence as Several
from typing import NamedTuple

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.podspec import PodTemplate
from reroll.core.policy.beside import named
from reroll.core.policy.policy import Policy
from reroll.core.policy.references import Use, uses
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import TABLES, Kind, SourceKind, Tables
from reroll.manifests.pruning import keep_only
from reroll.manifests.sources import DATA_KINDS, content
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.edits import Put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Mapping, Node, Path, Sequence, aimed, at, text_of
from reroll.manifests.text.scalars import value_of
from reroll.manifests.wishes import wishes

MARK = "\ufeff"


class Input(NamedTuple):
    """One file, or standard input."""

    name: str
    data: bytes


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an object stands: a document of an input, and the path to it in there."""

    input: int
    document: Document
    path: Path
    node: Node


class Object(msgspec.Struct, frozen=True, gc=False):
    place: Place
    group: str
    key: Key
    annotations: dict[str, str]
    labels: dict[str, str]


class Change(msgspec.Struct, frozen=True, gc=False):
    """Something to be put into an object."""

    place: Place
    put: Put


class Source(msgspec.Struct, frozen=True, gc=False):
    object: Object
    kind: SourceKind
    content: Content

    @property
    def key(self) -> Key:
        return self.object.key


class Workload(msgspec.Struct, frozen=True, gc=False):
    object: Object
    kind: Kind
    uses: tuple[Use, ...]
    policy: Policy = Policy()

    @property
    def key(self) -> Key:
        return self.object.key


class Reading(msgspec.Struct, frozen=True):
    """How a stream is read."""

    namespace: str = ""
    """The namespace of objects that name none."""
    key: bytes | None = None
    """The HMAC key for Secrets."""
    tables: Tables = TABLES
    only_checksums: bool = False
    """Nothing else will be written, so what that does not need may be forgotten."""


class BadInputError(Exception):
    """All that is wrong with a stream, a sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Manifests:
    """Everything that was read. `texts` are the inputs, decoded; positions are offsets in them."""

    def __init__(self, names: list[str], texts: list[str]) -> None:
        self.names = names
        self.texts = texts
        self.mark = ""
        """The byte order mark, if the stream begins with one."""
        self.objects: list[Object] = []
        self.sources: dict[Key, Source] = {}
        self.workloads: list[Workload] = []
        self.namespaces: dict[str, dict[str, str]] = {}
        """The annotations of the Namespaces."""
        self._breaks: dict[int, list[int]] = {}

    def where(self, input_: int, position: int) -> str:
        """`app.yaml:12:3`: file, line and column, as compilers write it."""
        if input_ not in self._breaks:
            found = re.finditer("\n", self.texts[input_])
            self._breaks[input_] = [-1, *(each.start() for each in found)]
        breaks = self._breaks[input_]
        line = bisect_left(breaks, position)
        return f"{self.names[input_]}:{line}:{position - breaks[line - 1]}"

    def refused(self, place: Place, error: TextError) -> BadInputError:
        return BadInputError([f"{self.where(place.input, error.position)}: {error}"])


def read(inputs: Several[Input], reading: Reading) -> Manifests:
    """The manifests in `inputs`; `BadInputError` if some of it cannot be read."""
    problems: list[str] = []
    found = Manifests([each.name for each in inputs], [""] * len(inputs))
    for number, each in enumerate(inputs):
        try:
            text = decoded(each)
            found.texts[number] = text.removeprefix(MARK)
            if number == 0 and text.startswith(MARK):
                found.mark = MARK
            for document in compose(found.texts[number]):
                _add_document(found, number, document, reading, problems)
        except TextError as error:
            problems.append(_sentence(found, number, error))
        except UndecodableError as error:
            problems.append(str(error))
    found.workloads = [_treated(found, each, reading.tables, problems) for each in found.workloads]
    if problems:
        raise BadInputError(problems)
    return found


def _treated(found: Manifests, workload: Workload, tables: Tables, problems: list[str]) -> Workload:
    """A workload with what it and its Namespace ask for, if that is in the stream too."""
    made, home = workload.object, workload.key.namespace
    namespace = found.namespaces.get(home, {})
    asked = wishes(made.annotations, namespace, workload.key, tables)
    where = found.where(made.place.input, made.place.node.start) if asked.problems else ""
    problems += (f"{where}: {problem.sentence}" for problem in asked.problems)
    return msgspec.structs.replace(workload, policy=asked)


class UndecodableError(Exception):
    """Bytes that are no text."""


def decoded(given: Input) -> str:
    try:
        text = given.data.decode()
    except UnicodeDecodeError as error:
        what = "is binary data" if b"\0" in given.data[:8192] else "is not UTF-8"
        raise UndecodableError(
            f"{given.name} {what} (byte {error.start + 1}); give it manifests in UTF-8"
        ) from None
    if "\0" in text:
        raise UndecodableError(f"{given.name} is binary data; give it manifests in UTF-8")
    return text


def _sentence(found: Manifests, number: int, error: TextError) -> str:
    text, position = found.texts[number], error.position
    start = text.rfind("\n", 0, max(text.rfind("\n", 0, position), 0)) + 1
    end = text.find("\n", position)
    braces = text.find("{{", start, end if end >= 0 else len(text))
    if braces >= 0 and error.is_broken:
        return f"{found.where(number, braces)}: {_UNRENDERED} ({error})"
    return f"{found.where(number, position)}: {error}"


_UNRENDERED = (
    "a template that was not rendered ({{ … }}); render it first, e.g. with `helm template`"
)


def _add_document(
    found: Manifests, number: int, document: Document, reading: Reading, problems: list[str]
) -> None:
    before = len(found.workloads)
    for path, node in _objects((), document.root):
        try:
            _add_object(found, Place(number, document, path, node), reading)
        except TextError as error:
            problems.append(_sentence(found, number, error))
    if reading.only_checksums and document.root is not None and not document.has_aliases:
        new = found.workloads[before:]
        keep_only(
            document.root,
            [(*each.object.place.path, *each.kind.annotations[:-1]) for each in new],
        )


def _objects(path: Path, node: Node | None) -> Iterator[tuple[Path, Node]]:
    """The objects of a document: itself, or those that it lists."""
    if node is None:
        return
    here = aimed(node)
    if not isinstance(here, Mapping):
        raise TextError(node.start, "this is no Kubernetes object; it has to have `kind: …`")
    items = at(here, ("items",))
    listed = aimed(items) if items is not None else None
    if (text_of(at(here, ("kind",)) or here) or "").endswith("List") and isinstance(
        listed, Sequence
    ):
        for index, item in enumerate(listed.children):
            yield from _objects((*path, "items", index), item)
    else:
        yield path, node


def _add_object(found: Manifests, place: Place, reading: Reading) -> None:
    made = _object(place, reading)
    if made is None:
        return
    found.objects.append(made)
    if (made.group, made.key.kind) == ("", "Namespace"):
        found.namespaces[made.key.name] = made.annotations
    if (source := DATA_KINDS.get((made.group, made.key.kind))) and made.key.name:
        _add_source(found, made, source, reading)
    kind = next(
        (k for k in reading.tables.kinds if (k.group, k.kind) == (made.group, made.key.kind)),
        None,
    )
    if kind is not None and (kind.template or _has_a_place(kind)):
        _add_workload(found, made, kind)


def _object(place: Place, reading: Reading) -> Object | None:
    """The object at a place; `None` for what has no kind: it is nothing that matters here."""
    kind = _text(place.node, ("kind",))
    if not kind:
        return None
    group = _text(place.node, ("apiVersion",)).rpartition("/")[0]
    namespace = _text(place.node, ("metadata", "namespace")) or reading.namespace
    key = Key(kind, namespace, _text(place.node, ("metadata", "name")))
    annotations = _texts(place.node, ("metadata", "annotations"))
    return Object(place, group, key, annotations, _texts(place.node, ("metadata", "labels")))


def _text(node: Node, path: Path) -> str:
    found = at(node, path)
    text = text_of(found) if found is not None else None
    if found is not None and "{{" in (text or ""):
        raise TextError(found.start, _UNRENDERED)
    return text or ""


def _texts(node: Node, path: Path) -> dict[str, str]:
    found = at(node, path)
    here = aimed(found) if found is not None else None
    if not isinstance(here, Mapping):
        return {}
    values = value_of(here)
    for name, value in values.items():
        if name.startswith(DOMAIN) and not isinstance(value, str):
            raise TextError(here.start, f"{name}: the value is not text; put it in quotes")
    return {name: value for name, value in values.items() if isinstance(value, str)}


def _add_source(found: Manifests, made: Object, kind: SourceKind, reading: Reading) -> None:
    other = found.sources.get(made.key)
    if other is not None:
        first = found.where(other.object.place.input, other.object.place.node.start)
        raise TextError(
            made.place.node.start,
            f"{shown(made.key)} is there twice, first at {first}; take one away",
        )
    kept = content(kind, made.place.node, made.annotations, reading.key)
    found.sources[made.key] = Source(made, kind, kept)


def shown(key: Key) -> str:
    """A key in a sentence; without a namespace if none is known."""
    return str(key) if key.namespace else f"{key.kind} {key.name}"


def _has_a_place(kind: Kind) -> bool:
    """Whether a checksum has a place in it, though it has no pod template."""
    return kind.stamp is not None and kind.stamp.path[0] != "metadata"


def _add_workload(found: Manifests, made: Object, kind: Kind) -> None:
    beside = tuple(named(kind.names, value_of(made.place.node))) if kind.names else ()
    node = at(made.place.node, kind.template) if kind.template else None
    if not kind.template:
        found.workloads.append(Workload(made, kind, beside))
        return
    if node is None or not isinstance(aimed(node), Mapping):
        return
    try:
        template = msgspec.convert(value_of(node), PodTemplate)
    except msgspec.ValidationError as error:
        path = ".".join(kind.template)
        raise TextError(
            node.start, f"`{path}` of {shown(made.key)} is not a pod template: {error}"
        ) from None
    used = tuple(uses(template.spec)) if template.spec else ()
    found.workloads.append(Workload(made, kind, (*used, *beside)))
