"""The kinds of a config file, for whoever reads manifests: the same rows as the controller's.

What only an API server needs to know of a kind, its version and resource, may be left out.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from reroll.core.policy.beside import NAME_FIELDS
from reroll.core.tables.fields import Field
from reroll.core.tables.kinds import TABLES, Kind, Tables


class Custom(msgspec.Struct, frozen=True):
    tables: Tables = TABLES
    """With the rows of the file."""
    fields: dict[tuple[str, str], tuple[Field, ...]] = {}
    """What names sources in the kinds of the file, besides their pods, by group and kind."""


def custom(document: Mapping[str, Any]) -> Custom:
    """The kinds of a config file; a `ValueError` says all that is wrong with them."""
    from reroll.core.tables.custom import tables

    found, problems = tables(document.get("kinds"), document.get("sources"), served=False)
    if problems:
        raise ValueError("\n  ".join(problems))
    rows = [row for row in found.custom.values() if isinstance(row, Kind)]
    return Custom(found, {(row.group, row.kind): _fields(row) for row in rows})


def _fields(row: Kind) -> tuple[Field, ...]:
    """A path leads to a name, or to an object that has one."""
    return tuple(
        Field(field.source, (*field.path, *more))
        for field in row.names
        for more in ((), *((name,) for name in NAME_FIELDS))
    )
