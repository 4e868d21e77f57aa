"""A notice as it is configured: where news go, which, and of whom."""

from collections.abc import Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from reroll.core.model.key import Key
from reroll.core.policy.selectors import Selector
from reroll.core.tables.news import PROBLEMS, News


class Notice(msgspec.Struct, frozen=True):
    name: str
    receiver: str
    """A word of the table of receivers."""
    to: Any
    """What that receiver needs, a struct of `core.policy.receivers`."""
    about: frozenset[News] = frozenset(PROBLEMS)
    namespaces: tuple[str, ...] = ()
    labels: Selector = Selector()
    named: bool = False
    """Only of those who name it."""
    gather: timedelta = timedelta(seconds=15)
    """How long news of one kind about one change are gathered."""
    held_after: timedelta = timedelta(hours=1)
    link: str = ""
    """Where people can see more."""
    cluster: str = ""

    def is_for(self, workload: Key, labels: Mapping[str, str]) -> bool:
        """Whether it may get news of a workload."""
        is_there = not self.namespaces or any(
            fnmatchcase(workload.namespace, glob) for glob in self.namespaces
        )
        return is_there and self.labels.matches(labels)
