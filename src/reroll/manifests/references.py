"""What the workloads of a stream refer to, as the engine sees it.

Annotations count, if they are of the reroll dialect: those of other dialects ask a controller for
something, and there is none.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.policy.references import Use, references
from reroll.core.tables.catalog import TABLES
from reroll.manifests.model import Manifests, ManifestWorkload
from reroll.manifests.sources import DATA_KINDS

if TYPE_CHECKING:
    from reroll.core.policy.patterns import Pattern
    from reroll.core.policy.policy import Policy

Contents = Mapping[Key, Content]

_KINDS = frozenset(row.name for row in DATA_KINDS.values())


def references_of(workload: ManifestWorkload, contents: Contents) -> tuple[Reference, ...]:
    home, policy = workload.key.namespace, workload.policy
    if policy is None:
        found = references(home, workload.uses, mounts_are_live=False)
        return tuple(each for each in found if each.source.kind in _KINDS)
    return _wanted(home, workload.uses, policy, contents)


def _wanted(
    home: str, uses: tuple[Use, ...], policy: "Policy", contents: Contents
) -> tuple[Reference, ...]:
    """With what annotations add to it, and take from it."""
    from reroll.core.policy.policy import Claim
    from reroll.core.policy.select import claimed

    def matching(pattern: "Pattern") -> list[Key]:
        if pattern.is_glob:
            return [key for key in contents if pattern.matches(key, home)]
        return [Key(pattern.kind, pattern.namespace or home, pattern.name)]

    # Custom resources count where a controller sees them, not in a stream.
    named = tuple(one for one in policy.sources if one.kind in TABLES.sources_by_name)
    everything = msgspec.structs.replace(policy, claims=(Claim(kinds=_KINDS, named=named),))
    return claimed(home, uses, everything, matching)


def undefined(manifests: Manifests) -> set[Key]:
    """The sources that workloads refer to and that are not in the stream."""
    contents = manifests.contents()
    return {
        reference.source
        for workload in manifests.workloads
        for reference in references_of(workload, contents)
        if reference.source not in contents
    }
