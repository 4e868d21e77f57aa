"""The options of a render, and the kinds of a config file: the same rows as the controller's.

What only an API server needs to know of a kind, its version and resource, may be left out.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from reroll.core.policy.beside import NAME_FIELDS
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.fields import Field
from reroll.core.tables.kinds import Kind

ANNOTATION = "checksum.reroll.dev/config"
"""Not `checksum/config`: that is what charts call a checksum of their own."""


class Hash(StrEnum):
    """How the suffix of a content name is made."""

    REROLL = "reroll"
    KUSTOMIZE = "kustomize"


class CustomKinds(msgspec.Struct, frozen=True, eq=False):
    tables: Tables = TABLES
    """With the rows of the file."""
    fields: dict[tuple[str, str], tuple[Field, ...]] = {}
    """What names sources in the kinds of the file, besides their pods, by group and kind."""


class Options(msgspec.Struct, frozen=True):
    """How a stream is read and rendered."""

    namespace: str = ""
    """The namespace of objects that name none."""
    key: bytes | None = None
    """The HMAC key for Secrets."""
    custom: CustomKinds = CustomKinds()
    annotation: str = ANNOTATION
    per_source: bool = False
    strict: bool = False
    names: bool = False
    """Sources that pods use get content names, unless something else uses them by name."""
    all_names: bool = False
    """With `names`: all sources do, unless their annotation says otherwise."""
    hash: Hash = Hash.REROLL
    attach_image: str = ""
    """Add a Job with this image that runs `reroll attach`."""


def custom_kinds(document: Mapping[str, Any]) -> CustomKinds:
    """The kinds of a config file; a `ValueError` says all that is wrong with them."""
    from reroll.core.tables.custom import tables

    rows, problems = tables(document.get("kinds"), document.get("sources"), served=False)
    if problems:
        raise ValueError("\n  ".join(problems))
    kinds = [row for row in rows.custom.values() if isinstance(row, Kind)]
    return CustomKinds(rows, {(row.group, row.kind): _fields(row) for row in kinds})


def _fields(row: Kind) -> tuple[Field, ...]:
    """A path leads to a name, or to an object that has one."""
    return tuple(
        Field(field.source, (*field.path, *more))
        for field in row.names
        for more in ((), *((name,) for name in NAME_FIELDS))
    )
