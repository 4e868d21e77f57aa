"""What rows `policies:` of a config file say, once they are read by `core.dialects.policy_rows`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.selectors import Selector


class PolicyRow(msgspec.Struct, frozen=True):
    """One row, read."""

    values: Mapping[str, Any]
    """By field of a `Policy`, or of a `SourcePolicy` where the row is for sources."""
    place: str = ""
    """Where it stands: `policies[0]`."""
    namespaces: tuple[str, ...] = ()
    labels: Selector = Selector()
    sources: tuple[Pattern, ...] = ()

    def is_for(self, workload: Key, labels: Mapping[str, str]) -> bool:
        return self._is_in(workload.namespace) and self.labels.matches(labels)

    def is_for_source(self, source: Key) -> bool:
        return self._is_in(source.namespace) and any(
            pattern.matches(source, source.namespace) for pattern in self.sources
        )

    def _is_in(self, namespace: str) -> bool:
        return not self.namespaces or any(fnmatchcase(namespace, glob) for glob in self.namespaces)


class Policies(msgspec.Struct, frozen=True):
    """The rows of a file, in its order: a later one wins, key by key."""

    workloads: tuple[PolicyRow, ...] = ()
    sources: tuple[PolicyRow, ...] = ()
