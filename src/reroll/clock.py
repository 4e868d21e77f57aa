"""Time and chance: the only module that reads the clock or draws random numbers.

Everything above `core` is given a `Clock`; tests give one whose time they move themselves.
"""

import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the machinery may ask of time."""

    def now(self) -> datetime:
        """The wall clock, aware, for what people and objects see."""

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines and delays."""

    def jitter(self, seconds: float) -> float:
        """A random duration between half of `seconds` and all of it."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def jitter(self, seconds: float) -> float:
        return seconds * random.uniform(0.5, 1.0)
