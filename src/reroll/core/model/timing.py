"""When a roll may begin, apart from how a change propagates: holds, windows, and what is urgent."""

from datetime import datetime, timedelta

import msgspec

from reroll.core.model.windows import ALWAYS_OPEN, Windows


class Hold(msgspec.Struct, frozen=True, gc=False):
    """Somebody wants it not to roll, until then or until it is released."""

    until: datetime | None = None
    why: str = ""

    def is_over(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until


class SourceTiming(msgspec.Struct, frozen=True, gc=False):
    """What a source says of when its changes may roll those that use it."""

    hold: Hold | None = None
    window: Windows = ALWAYS_OPEN
    urgent: bool = False
    """Its changes pass windows, soak times and cooldowns; no hold, and no stop."""


ANY_TIME = timedelta.max
"""Of a certificate that runs out: how long before that is early enough to wait no longer."""
