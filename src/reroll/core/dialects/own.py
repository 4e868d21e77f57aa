"""The dialect of this product as a row of the table."""

from collections.abc import Mapping

import msgspec

from reroll.core.dialects.reroll import WORDS, is_unknown, policy
from reroll.core.dialects.rows import Dialect, Opinion, Options, PolicyInput, Roll
from reroll.core.model.content import Term
from reroll.core.model.marks import Mark
from reroll.core.policy.policy import Claim
from reroll.core.tables.annotations import ENABLED, STAMP, STAMP_ENV
from reroll.core.tables.kinds import Strategy

_TERM = Term("reroll")


def _quick(workload: Mapping[str, str], namespace: Mapping[str, str]) -> bool | None:
    """A bad value is looked at more closely."""
    text = workload.get(ENABLED, namespace.get(ENABLED))
    if text is None:
        return True if any(map(is_unknown, workload)) else None
    return text.strip().lower() != "false"


def _read(told: PolicyInput, options: Options) -> Opinion:
    default = msgspec.structs.replace(told.default, enabled=None)
    found = policy(told.workload, told.namespace, default, told.key, options.tables)
    return Opinion(
        enabled=found.enabled,
        claims=(Claim(_TERM, options.sources, found.sources),),
        strategy=None if found.strategy is default.strategy else found.strategy,
        base=found,
        problems=found.problems,
    )


def _marks(roll: Roll, _: Options) -> tuple[Mark, ...]:
    match roll.strategy:
        case Strategy.STAMP:
            return (Mark(STAMP, roll.stamp),)
        case Strategy.ENV:
            return (Mark(STAMP_ENV, roll.stamp, container=0),)
    return ()


REROLL = Dialect(
    name="reroll",
    help="the annotations of this product",
    words=lambda _: WORDS,
    quick=_quick,
    read=_read,
    marks=_marks,
    vetoes=True,
)
