"""Times as people read them: how long ago, or the moment itself."""

from datetime import UTC, datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def ago(then: datetime | None, now: datetime) -> str:
    """`3d`, `2h`, `5m`, `12s`: as `kubectl` tells ages, in the largest unit that fits twice."""
    if then is None:
        return "-"
    seconds = max(0, int((now - then).total_seconds()))
    size, unit = next((one for one in _UNITS if seconds >= 2 * one[0]), (1, "s"))
    return f"{seconds // size}{unit} ago"


def moment(then: datetime | None) -> str | None:
    """For programs: RFC 3339 in UTC, to the second as the API server tells it."""
    return then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if then else None
