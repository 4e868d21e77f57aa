"""An opted-in workload, with what follows from its annotations."""

from collections.abc import Mapping
from datetime import datetime

from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Policy
from reroll.core.tables import limits


class Tracked:
    __slots__ = (
        "handovers",
        "judged",
        "policy",
        "quiet_since",
        "recorded",
        "references",
        "waiting_since",
        "workload",
    )

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self.workload = workload
        self.policy = policy
        self.references: tuple[Reference, ...] = ()
        self.recorded = 0
        """The version at which its record was first seen."""
        self.handovers = 0
        """How often its record changed between a key of ours and one that is not known here."""
        self.judged: tuple[Mapping[str, str], ...] | None = None
        """The annotations that the policy was made from."""
        self.waiting_since: datetime | None = None
        self.quiet_since: datetime | None = None

    @property
    def is_crowded(self) -> bool:
        """Whether it has more sources than one workload may have."""
        too_many = len(self.references) > limits.SOURCES.number
        return too_many or len(self.workload.uses) > limits.USES.number


def is_news(before: Workload, now: Workload, expected: tuple[int, str] | None) -> bool:
    """Whether a workload is another than before, as far as a decision goes."""
    state = now.generation, now.record_text
    if state not in ((before.generation, before.record_text), expected):
        return True
    if (before.ended, before.idle) != (now.ended, now.idle):
        return True
    return before.observed != now.observed


def has_leftovers(found: Policy) -> bool:
    """Whether there is something to tell, or to bring to its end, of one that is not in."""
    return bool(found.problems or found.repair or (found.pause and found.pause.since))


def copies_named_by(seen: Workload | None) -> dict[Key, Key]:
    """The copies that its template names, and what they are copies of."""
    if seen is None or not seen.pins:
        return {}
    home = seen.key.namespace
    return {
        Key(kind, home, copy): Key(kind, home, name) for (kind, name), copy in seen.pins.items()
    }
