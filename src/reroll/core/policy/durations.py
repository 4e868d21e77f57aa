"""Times and durations as people write them in Kubernetes: `500ms`, `5s`, `1m30s`, `2h`."""

import re
from datetime import UTC, datetime, timedelta

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_duration(text: str) -> timedelta | None:
    """The duration, or `None` if `text` is not one. A bare `0` needs no unit."""
    text = text.strip()
    if text == "0":
        return timedelta()
    if not text or _PART.sub("", text) or len(text) > 64:
        return None
    total = timedelta()
    try:
        for amount, unit in _PART.findall(text):
            total += timedelta(**{_UNITS[unit]: float(amount)})
    except OverflowError:
        return None
    return total


def parse_time(text: str) -> datetime | None:
    """The moment in an RFC 3339 text, or `None`. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_duration(duration: timedelta) -> str:
    """The shortest text that reads back as the same duration."""
    left = round(duration.total_seconds() * 1000)
    if left == 0:
        return "0s"
    parts = []
    for size, unit in ((3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")):
        amount, left = divmod(left, size)
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts)


_AGES = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def ago(then: datetime | None, now: datetime) -> str:
    """`3d`, `2h`, `5m`, `12s`: as `kubectl` tells ages, in the largest unit that fits twice."""
    if then is None:
        return "-"
    seconds = max(0, int((now - then).total_seconds()))
    size, unit = next((one for one in _AGES if seconds >= 2 * one[0]), (1, "s"))
    return f"{seconds // size}{unit} ago"
