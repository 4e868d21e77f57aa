"""The value types that the rest of `core` speaks in.

Frozen throughout: "change" is a new value. `gc=False` because none of them can be part of a cycle,
and a cluster has many of them.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:  # The table is long, and who finds no problem need not wait for it.
    from reroll.core.tables.reasons import Reason


class Key(NamedTuple):
    """Which object: kind, namespace and name. For sources and workloads alike."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"

    @property
    def api_kind(self) -> str:
        """Its kind as the API spells it: that of a configured row has its group behind it."""
        return self.kind.partition(".")[0]


def _invalid_annotation() -> "Reason":
    from reroll.core.tables.reasons import Reason

    return Reason.INVALID_ANNOTATION


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Bad input as a value: a sentence with what, where and what to do."""

    sentence: str
    reason: "Reason" = msgspec.field(default_factory=_invalid_annotation)


def first_problems(problems: Iterable[Problem], of: str) -> tuple[Problem, ...]:
    """As many as are listed, those that tell of a limit first, and how many more there are."""
    distinct = tuple(dict.fromkeys(problems))
    if not distinct:
        return distinct
    from reroll.core.tables import limits
    from reroll.core.tables.reasons import Reason

    rest = len(distinct) - limits.PROBLEMS.number
    if rest <= 0:
        return distinct
    of_limits = {limit.reason for limit in limits.LIMITS} - {Reason.INVALID_ANNOTATION}
    listed = sorted(distinct, key=lambda one: one.reason not in of_limits)[: limits.PROBLEMS.number]
    more = Problem(f"{of} has {rest} more problems than are listed", Reason.TOO_MANY_PROBLEMS)
    return (*listed, more)
