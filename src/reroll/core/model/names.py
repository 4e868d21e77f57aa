"""Names: a few of them in a sentence, and the number at the end of that of a pod."""

from collections.abc import Collection

_MOST, _LONGEST = 10, 300


def several(names: Collection[str]) -> str:
    """The first of them, each cut where it is very long, and how many more there are."""
    shown = ", ".join(_cut(name) for name, _ in zip(names, range(_MOST), strict=False))
    rest = len(names) - _MOST
    return f"{shown} and {rest} more" if rest > 0 else shown


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def ordinal(pod: str) -> int:
    """The number at the end of the name of a pod, which a StatefulSet counts its pods by."""
    number = pod.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0
