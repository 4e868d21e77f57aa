"""The words that can matter: what is kept of annotations and environments, and nothing else is.

The domain of this product is always read; what other dialects read depends on which are in use.
"""

from collections.abc import Mapping

import msgspec

from reroll.core.tables.annotations import DOMAIN


class Vocabulary(msgspec.Struct, frozen=True):
    annotations: frozenset[str] = frozenset()
    """Keys on a workload or a Namespace."""
    template: frozenset[str] = frozenset()
    """Keys on a pod template that say what to do."""
    marks: frozenset[str] = frozenset()
    """Keys on a pod template, or variables in it, that a roll writes."""
    mark_prefixes: tuple[str, ...] = ()
    """How the names of other such variables begin."""

    def relevant(self, annotations: Mapping[str, str]) -> dict[str, str]:
        """The annotations of a workload or a Namespace that can matter."""
        words = self.annotations
        return {k: v for k, v in annotations.items() if k.startswith(DOMAIN) or k in words}

    def said_by(self, template: Mapping[str, str]) -> dict[str, str]:
        """The annotations of a pod template that say what to do."""
        return {key: value for key, value in template.items() if key in self.template}

    def is_mark(self, variable: str) -> bool:
        return variable in self.marks or variable.startswith(self.mark_prefixes)
