"""What one workload has to know of the others, before it rolls."""

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.pace import Limits, Parallel


class Spread(msgspec.Struct, frozen=True, gc=False):
    """How far the content of a source has got, as one workload that uses it sees that."""

    source: Key
    concerned: int = 1
    healthy: int = 0
    moving: int = 0
    """Others that are under way."""
    beside: Key | None = None
    """One of these."""
    before: Key | None = None
    """One of a lower wave that is not healthy yet."""
    before_wave: int = 0
    stopped_by: Key | None = None
    why: str = ""
    """What failed there."""
    is_definite: bool = False
    """It is the fault of the content."""
    limits: tuple[Parallel, ...] = ()
    """How many may be under way for it to begin; all of them count."""
    is_free: bool = False
    """It waits for nobody's turn, see `core.propagation.member`."""

    @property
    def allowed(self) -> int:
        """How many may be under way at once; as many as there are without a limit."""
        found = (one.allowed(self.concerned, self.healthy) for one in self.limits)
        return min(found, default=self.concerned + self.moving)

    @property
    def room(self) -> int:
        """How many more may begin, this one among them."""
        return self.allowed - self.moving

    def blame(self, home: str) -> str:
        """What failed, as people of a namespace may know it."""
        if self.stopped_by is None:
            return ""
        if self.stopped_by.namespace != home:
            return f"{named(self.stopped_by, home)} failed with {self.source}"
        why = f": {self.why}" if self.why else ""
        return f"{self.stopped_by} failed with {self.source}{why}"


def named(other: Key, home: str) -> str:
    """Another workload, as people of a namespace may know it."""
    return str(other) if other.namespace == home else "a workload of another namespace"


class Traffic(msgspec.Struct, frozen=True, gc=False):
    """How many others are under way, for whatever source."""

    limits: Limits = Limits()
    cluster: int = 0
    namespace: int = 0
    beside: Key | None = None
    """One of the same exclusive group."""
