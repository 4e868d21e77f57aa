"""Times as people read them: how long ago, or the moment itself."""

from reroll.answers.documents import moment
from reroll.core.policy.durations import ago

__all__ = ["ago", "moment"]
