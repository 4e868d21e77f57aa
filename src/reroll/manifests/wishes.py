"""What annotations ask for, of a workload and of a source, and what a workload so refers to.

The one module here that knows the annotations of the reroll dialect. Those of other dialects ask a
controller for something, and there is none.
"""

from collections.abc import Mapping

import msgspec

from reroll.core.dialects.reroll import allowed_namespaces, ignores, policy
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Claim, Policy
from reroll.core.policy.references import Use
from reroll.core.policy.select import claimed
from reroll.core.tables.kinds import SOURCE_KINDS, TABLES, Tables, Watched

__all__ = ["allowed_namespaces", "ignores", "references_of", "wishes"]

_KINDS = frozenset(row.name for row in SOURCE_KINDS if row.watched is not Watched.STATUSES)


def wishes(
    annotations: Mapping[str, str], namespace: Mapping[str, str], key: Key, tables: Tables = TABLES
) -> Policy:
    """What the annotations of a workload ask for, and those of its Namespace."""
    return policy(annotations, namespace, Policy(), key, tables)


def references_of(
    home: str, uses: tuple[Use, ...], asked: Policy, contents: Mapping[Key, Content]
) -> tuple[Reference, ...]:
    """Everything that a workload refers to, as the engine sees it."""

    def matching(pattern: Pattern) -> list[Key]:
        if pattern.is_glob:
            return [key for key in contents if pattern.matches(key, home)]
        return [Key(pattern.kind, pattern.namespace or home, pattern.name)]

    # Custom resources count where a controller sees them, not in a stream.
    named = tuple(one for one in asked.sources if one.kind in TABLES.sources_by_name)
    everything = msgspec.structs.replace(asked, claims=(Claim(kinds=_KINDS, named=named),))
    return claimed(home, uses, everything, matching)
