"""Find annotations of ours that do nothing.

They are misspelt, have a value that cannot be used, or stand in a pod template, where nobody reads
them. Each is judged by the tables that the controller reads it with. One that is right where it is
read is not told where it is not: tools put the same on every object of a stream.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from reroll.core.dialects.annotations import SOURCE_ANNOTATIONS, parsed
from reroll.core.dialects.reroll import WORDS, ignores, policy, unknown
from reroll.core.dialects.words import Place
from reroll.core.model.key import Key
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN, NAMES
from reroll.core.tables.catalog import Tables
from reroll.manifests.content_names import wish
from reroll.manifests.model import Input, ManifestObject, Manifests, shown
from reroll.manifests.options import Options
from reroll.manifests.read import Reader, texts
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import MappingNode, Path, at, resolve_at

_ANNOTATIONS: Path = ("metadata", "annotations")


class Finding(NamedTuple):
    sentence: str
    where: str = ""
    """File, line and column; empty where the sentence begins with them."""
    object: Key | None = None
    annotation: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}" if self.where else self.sentence


class Linted(NamedTuple):
    objects: int
    findings: tuple[Finding, ...]


def lint(inputs: Iterable[Input], options: Options) -> Linted:
    """What is wrong with the annotations of a stream, and what of it cannot be read."""
    reader = _Scanner(options)
    for each in inputs:
        reader.decode(each)
    for number in range(len(reader.manifests.texts)):
        reader.parse(number, prune=False)
    linter, objects = _Linter(reader.manifests, options.custom.tables), reader.manifests.objects
    found = [finding for each in objects for finding in linter.of(each)]
    return Linted(len(objects), (*map(Finding, reader.problems), *found))


class _Scanner(Reader):
    def take(self, added: ManifestObject) -> None:
        """Nothing is made of an object: whether it can be rendered is another question."""


class _Linter:
    def __init__(self, manifests: Manifests, tables: Tables) -> None:
        self._manifests, self._tables = manifests, tables
        self._kinds = {(kind.group, kind.kind): kind for kind in tables.kinds[::-1]}
        self._places = {
            ("", "Namespace"): Place.NAMESPACE,
            **{(kind.group, kind.kind): Place.SOURCE for kind in tables.sources},
            **dict.fromkeys(self._kinds, Place.WORKLOAD),
        }
        self._of_workloads = {one.key for one in WORDS if Place.WORKLOAD in one.places}

    def of(self, made: ManifestObject) -> Iterator[Finding]:
        place = self._places.get((made.group, made.key.kind))
        for name, text in made.annotations.items():
            if name.startswith(DOMAIN):
                for told in _judged(place, {name: text}, made.key, self._tables):
                    yield self._finding(made, _ANNOTATIONS, name, told)
        if place is Place.WORKLOAD:
            yield from self._of_template(made)

    def _of_template(self, made: ManifestObject) -> Iterator[Finding]:
        kind = self._kinds[made.group, made.key.kind]
        path = (*kind.template, *_ANNOTATIONS)
        try:
            names = texts(at(made.node, path)) if kind.template else {}
        except TextError as error:
            yield Finding(str(error), self._manifests.position(made.input, error.position))
            return
        for name in names:
            if name in self._of_workloads and name not in made.annotations:
                where = f"annotation {name} on the pod template of {shown(made.key)}"
                told = f"{where} means nothing there; put it on the {made.key.kind} itself"
                yield self._finding(made, path, name, told)

    def _finding(self, made: ManifestObject, path: Path, name: str, told: str) -> Finding:
        mapping, start = resolve_at(made.node, path), made.node.start
        if isinstance(mapping, MappingNode) and (pair := mapping.pair(name)):
            start = pair[0].start
        return Finding(told, self._manifests.position(made.input, start), made.key, name)


def _judged(place: Place | None, one: Mapping[str, str], key: Key, tables: Tables) -> Iterator[str]:
    """What is wrong with one annotation, if something is."""
    if place is Place.NAMESPACE:
        return _told(policy({}, one, Policy(), Key("", key.name, ""), tables))
    if place is Place.WORKLOAD:
        return _told(policy(one, {}, Policy(), key, tables))
    on = f"on {shown(key)}"
    means_nothing = (f"annotation {name} {on} {told}" for name, told in unknown(one, Place.SOURCE))
    if place is None:
        return means_nothing
    bad = (f"annotation {name} {on}: {told}" for name in one for told in _bad_value(name, one))
    return iter((*means_nothing, *bad))


def _told(found: Policy) -> Iterator[str]:
    return (problem.sentence for problem in found.problems)


def _bad_value(name: str, one: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the value of an annotation on a source."""
    yield from (told for _, told in parsed(SOURCE_ANNOTATIONS, one, {}))
    try:
        ignores(one)
    except ValueError as error:
        yield f"{one[name][:80]!r} {error}"
    try:
        if name == NAMES:
            wish(one[name])
    except ValueError as error:
        yield str(error)
