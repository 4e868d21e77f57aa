"""Whose rights a request has: the dashboard's own, those of a token, or those of a name."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Who:
    """Without a token and without a proxy: whoever started the dashboard."""

    name: str = ""
    groups: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    is_named: bool = False
    """A proxy says so, and the dashboard acts in that name."""


OURSELVES = Who()
