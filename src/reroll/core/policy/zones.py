"""Time zones by name: the one module of `core` that reads them.

They are tables of facts like those of `core.tables`, and come with Python's `tzdata` or with the
system. A name means the same for as long as the process runs.
"""

import re
from datetime import tzinfo
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9][A-Za-z0-9_+\-]*){0,3}")


@lru_cache(maxsize=512)
def zone(name: str) -> tzinfo | None:
    """The zone, or `None` if nobody here knows it."""
    if len(name) > 64 or not _NAME.fullmatch(name):
        return None
    from zoneinfo import ZoneInfo  # It brings half a megabyte, which only windows need.

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return None
