"""Kinds that no table knows, as a config file describes them.

kinds:
  - group: example.com
    kind: Machine
    template: spec.template            # it holds a pod template
    references:                        # fields that name a source, besides those of its pods
      - source: ConfigMap
        path: spec.files[].configMap   # [] is each item of a list
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from reroll.core.fields import EACH, Field
from reroll.core.kinds import KINDS, Kind, Path, Strategy

_STEP = re.compile(r"(?P<name>[^.\[\]\s]+)(?P<each>\[\])?")


class _Reference(msgspec.Struct, forbid_unknown_fields=True):
    source: Literal["ConfigMap", "Secret"]
    path: str


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    group: str = ""
    template: str = ""
    references: list[_Reference] = []


class _File(msgspec.Struct):
    """A config file, as far as it matters here."""

    kinds: list[_Row] = []


class Custom(msgspec.Struct, frozen=True):
    kinds: tuple[Kind, ...] = KINDS
    """The table of workload kinds, with those of the file."""
    fields: dict[tuple[str, str], tuple[Field, ...]] = {}
    """By group and kind."""


def custom(document: Mapping[str, Any]) -> Custom:
    """The kinds of a config file; a `ValueError` says what is wrong with it."""
    try:
        rows = msgspec.convert(document, _File).kinds
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$.", "`")) from None
    kinds = [
        Kind(row.kind, row.group, "", "", path(row.template), (Strategy.STAMP,))
        for row in rows
        if row.template
    ]
    fields: dict[tuple[str, str], tuple[Field, ...]] = {}
    for row in rows:
        given = tuple(Field(each.source, path(each.path)) for each in row.references)
        fields[row.group, row.kind] = (*fields.get((row.group, row.kind), ()), *given)
    return Custom((*KINDS, *kinds), fields)


def path(text: str) -> Path:
    """`spec.files[].name` as steps."""
    steps: list[str] = []
    for part in text.split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            raise ValueError(f"{text!r} is not a path; write e.g. spec.files[].configMap")
        steps += (found["name"], *([EACH] if found["each"] else ()))
    return tuple(steps)
