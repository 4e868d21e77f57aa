"""Times as people read them: how long ago, or the moment itself."""

from datetime import UTC, datetime

from reroll.core.policy.durations import ago

__all__ = ["ago", "moment"]


def moment(then: datetime | None) -> str | None:
    """For programs: RFC 3339 in UTC, to the second as the API server tells it."""
    return then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if then else None
