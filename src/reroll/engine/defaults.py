"""What workloads and sources do that do not say it: the settings, and rows of the config file."""

from collections.abc import Mapping, Sequence
from typing import Any

from reroll.core.dialects.annotations import SourcePolicy, with_values
from reroll.core.model.key import Key
from reroll.core.policy.notice import Notice
from reroll.core.policy.policy import Policy
from reroll.core.policy.rows import Policies, PolicyRow

UNSAID = SourcePolicy()
"""Of a source that no row is for."""


class Defaults:
    """Made once; those that the same rows are for share one policy."""

    def __init__(self, default: Policy, rows: Policies, notices: tuple[Notice, ...] = ()) -> None:
        self._default, self._rows, self._notices = default, rows, notices
        self._workloads: dict[tuple[int | str, ...], Policy] = {(): default}
        self._sources: dict[tuple[int, ...], SourcePolicy] = {(): UNSAID}

    def of(self, workload: Key, labels: Mapping[str, str]) -> Policy:
        which = self._for(workload, labels)
        told = tuple(row.name for row in self._notices if row.is_for(workload, labels))
        if (*which, *told) not in self._workloads:
            values = {**_merged(self._rows.workloads, which), "notices": told}
            self._workloads[*which, *told] = with_values(self._default, values)
        return self._workloads[*which, *told]

    def origins(self, workload: Key, labels: Mapping[str, str]) -> dict[str, str]:
        """Where the rows stand that say something of a workload, by field of its policy."""
        rows = [self._rows.workloads[n] for n in self._for(workload, labels)]
        return {field: row.place for row in rows for field in row.values}

    def _for(self, workload: Key, labels: Mapping[str, str]) -> tuple[int, ...]:
        rows = self._rows.workloads
        return tuple(n for n, row in enumerate(rows) if row.is_for(workload, labels))

    def of_source(self, source: Key) -> SourcePolicy:
        rows = self._rows.sources
        which = tuple(n for n, row in enumerate(rows) if row.is_for_source(source))
        if which not in self._sources:
            self._sources[which] = with_values(UNSAID, _merged(rows, which))
        return self._sources[which]


def _merged(rows: Sequence[PolicyRow], which: tuple[int, ...]) -> dict[str, Any]:
    """The values of these rows, a later one before an earlier one."""
    return {field: value for n in which for field, value in rows[n].values.items()}
