"""Windows: when a roll may begin, and when not."""

from datetime import datetime, timedelta

import msgspec

DAY = 24 * 60
"""Minutes."""
EVERY_DAY = frozenset(range(7))


class Window(msgspec.Struct, frozen=True, gc=False):
    """A time that comes again each week, or comes once; by the clocks of its zone."""

    text: str
    """As it was written."""
    zone: str
    days: frozenset[int] = EVERY_DAY
    """On which it begins; 0 is Monday."""
    begins: int = 0
    """Minutes after midnight."""
    ends: int = DAY
    """Minutes after the midnight before it begins."""
    lasts: bool = False
    """It lasts as long as it was written, whatever clocks do meanwhile."""
    first: datetime | None = None
    """Of one that comes once: when it begins there, without a zone."""
    last: datetime | None = None
    denies: bool = False
    """Nothing begins in it; else, nothing begins outside."""
    name: str = ""
    """Of its row in the config file."""
    last_start: timedelta = timedelta()
    """Nothing begins so shortly before its end."""

    @property
    def title(self) -> str:
        return self.name or self.text


class Windows(msgspec.Struct, frozen=True, gc=False):
    """What one annotation says of windows."""

    own: tuple[Window, ...] = ()
    names: tuple[str, ...] = ()
    """Of rows of the config file."""
    problem: str = ""
    """It cannot be read: nobody knows when it is open, so it is not."""

    def __str__(self) -> str:
        return "; ".join([*self.names, *(one.text for one in self.own)]) or "always"


ALWAYS_OPEN = Windows()


class WindowRow(msgspec.Struct, frozen=True):
    """A row `windows:` of the config file."""

    name: str
    windows: tuple[Window, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Globs of the namespaces that it is for; without any, it is for those who name it."""


class Calendar(msgspec.Struct, frozen=True):
    """The windows of the config file."""

    rows: tuple[WindowRow, ...] = ()
