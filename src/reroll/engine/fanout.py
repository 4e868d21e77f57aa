"""How many workloads the changes of one namespace's sources may concern, in a second.

To tell thousands of workloads that a source changed takes a moment, and whoever may write the
source may do so dozens of times a second: then nothing else would get a turn. So what is beyond the
measure is told later, as if the watch had brought it later, and only as it is then. The measure is
far above what people write.
"""

import asyncio
from collections.abc import Callable

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.tables import limits
from reroll.engine.budget import Budget

PER_SECOND = limits.NAMESPACE_CHANGES.number


class Fanout:
    """`apply(source, content, version)`: take it in now. Without an event loop, nothing waits."""

    def __init__(self, apply: Callable[[Key, Content, int], None]) -> None:
        self._apply = apply
        self._told = Budget(PER_SECOND)
        self._late: dict[str, dict[Key, tuple[Content, int]]] = {}

    def tells(self, namespace: str, users: int) -> None:
        """So many are told of a change in this namespace."""
        self._told.spend(namespace, users)

    def wait(self, namespace: str) -> float:
        """The seconds until the next change there may be told."""
        return self._told.wait(namespace)

    def put_off(self, source: Key, content: Content, version: int) -> bool:
        """Whether this content is taken in later, in the place of one that waits already."""
        home = source.namespace
        late, seconds = self._late.get(home), self.wait(home)
        if late is None and not seconds:
            return False
        if late is None:
            late = self._late[home] = {}
            asyncio.get_running_loop().call_later(seconds, self._catch_up, home)
        late[source] = content, version
        return True

    def _catch_up(self, namespace: str) -> None:
        late = self._late[namespace]
        while late and not self.wait(namespace):
            source = next(iter(late))
            self._apply(source, *late.pop(source))
        if late:
            seconds = self.wait(namespace)
            asyncio.get_running_loop().call_later(seconds, self._catch_up, namespace)
        else:
            del self._late[namespace]
