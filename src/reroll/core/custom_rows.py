"""What a config file may say about kinds: the fields of its rows, and their types.

Pure. A row is read field by field, so that one mistake does not hide the next.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec

from reroll.core.kinds import EACH, Path

T = TypeVar("T")
_STEP = re.compile(r"(?P<name>[^.\[\]\s/~]+)(?P<each>\[\*?\])?")
_WORD = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][-A-Za-z0-9.]*$")]
_KIND = Annotated[str, msgspec.Meta(pattern="^[A-Z][A-Za-z0-9]*$")]
_GROUP = Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9][-a-z0-9]*(\.[a-z0-9][-a-z0-9]*)*)?$")]
_LABEL = Annotated[str, msgspec.Meta(pattern=r"^([-a-z0-9.]+/)?[A-Za-z0-9][-._A-Za-z0-9]*$")]


_EXAMPLES = {
    "kind": "CloneSet",
    "group": "apps.kruise.io",
    "version": "v1alpha1",
    "resource": "clonesets",
}


class ReferenceRow(msgspec.Struct, forbid_unknown_fields=True):
    source: str
    path: str
    optional: bool = False


class StampRow(msgspec.Struct, forbid_unknown_fields=True):
    annotations: str
    name: _LABEL | None = None
    value: str = "hash"


class MembersRow(msgspec.Struct, forbid_unknown_fields=True):
    label: _LABEL | None = None
    selector: str = ""


class ConditionRow(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    status: str = "True"


class HealthRow(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    replicas: str = ""
    current: str = ""
    updated: str = ""
    available: str = ""
    partition: str = ""
    condition: ConditionRow | None = None
    observed_generation: bool = False


class KindRow(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A row of `kinds:`."""

    kind: _KIND
    group: _GROUP = ""
    version: _WORD | None = None
    resource: _WORD | None = None
    template: str = ""
    references: list[ReferenceRow] = []
    stamp: StampRow | None = None
    pods: MembersRow | None = None
    strategies: list[str] = []
    health: HealthRow = msgspec.field(default_factory=HealthRow)
    revisions: str = ""
    paused: str = ""
    update_strategy: str = ""


class SourceRow(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `sources:`."""

    kind: _KIND
    group: _GROUP
    version: _WORD
    resource: _WORD
    aliases: list[_WORD] = []
    paths: list[str] = msgspec.field(default_factory=lambda: ["spec"])
    secret: bool = False


def path(text: str) -> Path:
    """`spec.files[*].name` as steps; a `ValueError` says what is wrong with it."""
    steps: list[str] = []
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise ValueError(f"{text!r} is not a path; write e.g. spec.files[*].name")
        steps += (found["name"], *([EACH] if found["each"] else ()))
    return tuple(steps)


def rows(given: Any, where: str, type_: type[T], problems: list[str]) -> Iterator[tuple[str, T]]:
    if not isinstance(given, list):
        if given is not None:
            problems.append(f"{where}: is not a list; begin each row with a dash")
        return
    for number, row in enumerate(given):
        place = f"{where}[{number}]"
        if not isinstance(row, Mapping):
            problems.append(f"{place}: is not a row; write e.g. `- kind: CloneSet`")
            continue
        if isinstance(name := row.get("kind"), str):
            place += f" ({name[:80]})"
        found = _converted(row, place, type_, problems)
        if found is not None:
            yield place, found


def _converted(row: Mapping[str, Any], where: str, type_: type[T], problems: list[str]) -> T | None:
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
            told = str(error).replace(" - at `$", f" - at `{name}")
            if name in _EXAMPLES:
                told = f"{row[name]!r:.80} cannot be one; write e.g. {_EXAMPLES[name]}"
            wrong.append(f"{where}: {name}: {told}")
    problems += wrong
    return None if wrong else type_(**values)
