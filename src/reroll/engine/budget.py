"""How much work the writes of one namespace may make in a second.

What is spent is forgiven over time. A namespace that spent more than its measure has to wait.
"""

import asyncio
import math

SHORTEST = 0.001
"""Seconds: what is left by rounding is no wait without an end."""


class Budget:
    """`per_second`, and as much at once after a time without any. Without a loop, nobody waits."""

    def __init__(self, per_second: float, longest: float = math.inf) -> None:
        """`longest`: the seconds after which everything is forgiven."""
        self._per_second, self._most = per_second, per_second * longest
        self._spent: dict[str, tuple[float, float]] = {}
        """By namespace: what is spent, less what is forgiven by now, and when that was."""

    def spend(self, namespace: str, amount: float) -> None:
        if (now := _now()) is not None:
            left = self._left(namespace, now) + amount
            self._spent[namespace] = min(left, self._most), now

    def wait(self, namespace: str) -> float:
        """The seconds until a namespace may spend again."""
        if namespace not in self._spent or (now := _now()) is None:
            return 0.0
        left = self._left(namespace, now)
        if not left:
            del self._spent[namespace]
        beyond = (left - self._per_second) / self._per_second
        return max(beyond, SHORTEST) if beyond > 0 else 0.0

    def _left(self, namespace: str, now: float) -> float:
        spent, at = self._spent.get(namespace, (0.0, now))
        return max(0.0, spent - (now - at) * self._per_second)


def _now() -> float | None:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return None
