"""What a config file may say about kinds: the fields of its rows, and their types.

Pure. A row is read field by field, so that one mistake does not hide the next.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

import msgspec

from reroll.core.tables.kinds import EACH, HASH, Path
from reroll.core.tables.row_errors import sentence

T = TypeVar("T")
_STEP = re.compile(r"(?P<name>[^.\[\]\s/~]+)(?P<each>\[\*?\])?")
_WORD = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][-A-Za-z0-9.]*$")]
_KIND = Annotated[str, msgspec.Meta(pattern="^[A-Z][A-Za-z0-9]*$")]
_GROUP = Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9][-a-z0-9]*(\.[a-z0-9][-a-z0-9]*)*)?$")]
_LABEL = Annotated[str, msgspec.Meta(pattern=r"^([-a-z0-9.]+/)?[A-Za-z0-9][-._A-Za-z0-9]*$")]


class Help(NamedTuple):
    """What a field is for."""

    text: str


_EXAMPLES = {
    "kind": "CloneSet",
    "group": "apps.kruise.io",
    "version": "v1alpha1",
    "resource": "clonesets",
}


class ReferenceRow(msgspec.Struct, forbid_unknown_fields=True):
    source: Annotated[str, Help("`ConfigMap`, `Secret`, or an alias of a row of `sources`")]
    path: Annotated[
        str, Help("to a name, or to an object with a `name` and maybe a `key`; `[*]` is each item")
    ]
    optional: Annotated[bool, Help("its pods start without the source too")] = False


class StampRow(msgspec.Struct, forbid_unknown_fields=True):
    annotations: Annotated[
        str,
        Help("path to the map that a roll writes into: below `spec`, or `metadata.annotations`"),
    ]
    name: Annotated[
        _LABEL | None, Help("of the annotation; `reroll.dev/config-hash` if left out")
    ] = None
    value: Annotated[
        str, Help("`hash` of what is used, `time` of the roll, or any other text as it stands")
    ] = HASH


class MembersRow(msgspec.Struct, forbid_unknown_fields=True):
    label: Annotated[_LABEL | None, Help("a label whose value is the name of the object")] = None
    selector: Annotated[str, Help("path to a map of labels")] = ""


class ConditionRow(msgspec.Struct, forbid_unknown_fields=True):
    type: Annotated[str, Help("of the condition in `status.conditions`")]
    status: Annotated[str, Help("what it says when all is well; `True` if left out")] = "True"


class HealthRow(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    replicas: Annotated[str, Help("path to the number of pods that there should be")] = ""
    current: Annotated[str, Help("path to the number of pods that there are")] = ""
    updated: Annotated[str, Help("path to the number of those of the newest template")] = ""
    available: Annotated[str, Help("path to the number of those that are ready")] = ""
    partition: Annotated[str, Help("path to the number of pods that keep the old template")] = ""
    condition: Annotated[ConditionRow | None, Help("what the status has to say: see below")] = None
    observed_generation: Annotated[
        bool, Help("wait until `status.observedGeneration` is that of the change")
    ] = False


class KindRow(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A row of `kinds:`."""

    kind: Annotated[_KIND, Help("as its objects say it")]
    group: Annotated[_GROUP, Help("of its API")] = ""
    version: Annotated[
        _WORD | None, Help("that the API server serves; only `reroll render` does without")
    ] = None
    resource: Annotated[
        _WORD | None,
        Help("its plural, as in a URL and in RBAC; only `reroll render` does without"),
    ] = None
    template: Annotated[str, Help("path to a pod template, if it has one")] = ""
    references: Annotated[
        list[ReferenceRow], Help("fields that name sources, besides those of the pod template")
    ] = []
    stamp: Annotated[
        StampRow | None, Help("where a roll writes, if not into the annotations of the template")
    ] = None
    pods: Annotated[
        MembersRow | None, Help("which pods are its own, if it is not their direct owner")
    ] = None
    strategies: Annotated[
        list[str],
        Help("those that it can do, the usual one first; all that the row tells enough for"),
    ] = []
    health: Annotated[HealthRow, Help("how `reroll sync --wait` sees that a rollout is over")] = (
        msgspec.field(default_factory=HealthRow)
    )
    revisions: Annotated[
        str, Help("what keeps its earlier templates: `replicasets` or `controllerrevisions`")
    ] = ""
    paused: Annotated[str, Help("path to a boolean: nothing rolls while it is true")] = ""
    update_strategy: Annotated[
        str, Help("path to a text: with `OnDelete` a changed template replaces no pod")
    ] = ""


class SourceRow(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `sources:`."""

    kind: Annotated[_KIND, Help("as its objects say it")]
    group: Annotated[_GROUP, Help("of its API")]
    version: Annotated[_WORD, Help("that the API server serves")]
    resource: Annotated[_WORD, Help("its plural, as in a URL and in RBAC")]
    aliases: Annotated[
        list[_WORD], Help("what people write in annotations; its kind and plural if left out")
    ] = []
    paths: Annotated[
        list[str], Help("what of it is content, each a key; all of `spec` if left out")
    ] = msgspec.field(default_factory=lambda: ["spec"])
    secret: Annotated[
        bool, Help("only its metadata is watched, and its digests are keyed, as for Secrets")
    ] = False


ROWS: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    ("kinds", KindRow),
    ("references", ReferenceRow),
    ("stamp", StampRow),
    ("pods", MembersRow),
    ("health", HealthRow),
    ("health.condition", ConditionRow),
    ("sources", SourceRow),
)
"""What a file may say, for the reference."""


def helped(type_: type[msgspec.Struct]) -> Iterator[tuple[str, str, bool]]:
    """The fields of a row: name, help, and whether it has to be there."""
    hints = get_type_hints(type_, include_extras=True)
    for field in msgspec.structs.fields(type_):
        found = (one for one in get_args(hints[field.name]) if isinstance(one, Help))
        yield field.encode_name, next(found).text, field.required


def path(text: str) -> Path:
    """`spec.files[*].name` as steps; a `ValueError` says what is wrong with it."""
    steps: list[str] = []
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise ValueError(f"{text!r} is not a path; write e.g. spec.files[*].name")
        steps += (found["name"], *([EACH] if found["each"] else ()))
    return tuple(steps)


def listed(
    given: Any, where: str, example: str, problems: list[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a list, each with its place; what is none of them is a problem."""
    if not isinstance(given, list):
        if given is not None:
            problems.append(f"{where}: is not a list; begin each row with a dash")
        return
    for number, row in enumerate(given):
        place = f"{where}[{number}]"
        if isinstance(row, Mapping):
            yield place, row
        else:
            problems.append(f"{place}: is not a row; write e.g. `- {example}`")


def rows(given: Any, where: str, type_: type[T], problems: list[str]) -> Iterator[tuple[str, T]]:
    for place, row in listed(given, where, "kind: CloneSet", problems):
        if isinstance(name := row.get("kind"), str):
            place = f"{place} ({name[:80]})"  # noqa: PLW2901  the same place, with its name
        found = converted(row, place, type_, problems)
        if found is not None:
            yield place, found


def converted(row: Mapping[str, Any], where: str, type_: type[T], problems: list[str]) -> T | None:
    """A row as a struct, or `None` and all that is wrong with it."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(type_)}  # type: ignore[arg-type]
    hints = get_type_hints(type_, include_extras=True)
    wrong = [
        f"{where}: there is no field {str(name)[:80]!r}; use {', '.join(fields)}"
        for name in row
        if name not in fields
    ]
    values = {}
    for name, field in fields.items():
        if name not in row:
            if field.required:
                wrong.append(f"{where}: {name} is missing")
            continue
        try:
            values[field.name] = msgspec.convert(row[name], hints[field.name])
        except msgspec.ValidationError as error:
            told = sentence(error, name, hints[field.name])
            if name in _EXAMPLES:
                told = f"{name}: {row[name]!r:.80} cannot be one; write e.g. {_EXAMPLES[name]}"
            wrong.append(f"{where}: {told}")
    problems += wrong
    return None if wrong else type_(**values)
