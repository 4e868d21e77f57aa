"""How a change propagates: which workloads first, how many at once, and what a failure means.

The default is all at once.
"""

from datetime import timedelta
from enum import StrEnum

import msgspec


class OnFailure(StrEnum):
    """What a workload that failed with a content means for that content."""

    HOLD = "hold"
    ROLLBACK = "rollback"
    CONTINUE = "continue"


class Parallel(msgspec.Struct, frozen=True, gc=False):
    """How many of the workloads that a change concerns may be under way at once."""

    number: int = 0
    """0: as many as there are."""
    percent: int = 0
    doubling: bool = False

    @property
    def is_limited(self) -> bool:
        return self != ALL

    def allowed(self, concerned: int, healthy: int) -> int:
        """How many may be under way, of so many concerned, once so many are healthy with it."""
        if self.doubling:
            # Rounds of 1, 2, 4 ...: a round begins when all of the rounds before it are healthy.
            return int(2 ** (healthy + 1).bit_length()) - 1 - healthy
        if self.percent:
            return max(1, concerned * self.percent // 100)
        return self.number or concerned

    def __str__(self) -> str:
        if self.doubling:
            return "doubling"
        return f"{self.percent}%" if self.percent else str(self.number or "all")


ALL = Parallel()


class Rolls(msgspec.Struct, frozen=True, gc=False):
    """At most so many rolls of one workload in so long a time; 0: any number."""

    number: int
    period: timedelta

    @property
    def quiet(self) -> timedelta:
        """How long sources that flap have to keep still before the last content rolls."""
        return self.period / self.number if self.number else timedelta()


USUAL_ROLLS = Rolls(20, timedelta(hours=1))


class Pace(msgspec.Struct, frozen=True, gc=False):
    """What annotations and settings say of how a workload takes part in a change."""

    wave: int = 0
    max_parallel: Parallel = ALL
    soak: timedelta = timedelta()
    deadline: timedelta | None = None
    """`None`: that of its own controller, else ten minutes without progress."""
    on_failure: OnFailure | None = None
    """`None`: nobody said anything, which means hold."""
    exclusive: str = ""
    cooldown: timedelta = timedelta()
    max_rolls: Rolls = USUAL_ROLLS
    gates: tuple[str, ...] = ()
    """All of them have to be open before it begins, and while it soaks."""

    @property
    def governs(self) -> bool:
        """Whether somebody asked for more than all at once: then rollouts are judged."""
        return bool(
            self.wave
            or self.max_parallel.is_limited
            or self.soak
            or self.on_failure
            or self.exclusive
            or self.gates
        )


class SourcePace(msgspec.Struct, frozen=True, gc=False):
    """What a source says of how its changes propagate, for all that use it."""

    max_parallel: Parallel = ALL
    soak: timedelta = timedelta()
    on_failure: OnFailure | None = None


class Limits(msgspec.Struct, frozen=True, gc=False):
    """How many workloads may be under way at once, whatever they roll for; 0: any number."""

    cluster: int = 0
    namespace: int = 0
