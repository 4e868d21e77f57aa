"""Names: a few of them in a sentence, how many there are, and the number at the end of a pod's."""

import re
from collections.abc import Collection

_MOST, _LONGEST = 10, 300
_QUOTED = 80
_BARE = re.compile(r"(?<![\w/.-])((?:[\w-]+\.)+[\w-]+(?::\d+)?)/[^\s,]+")
_ADDRESS = re.compile(r"(?P<scheme>\w+://)(?:[^/\s@]*@)?(?P<host>[^/\s,?#@]*)(?P<rest>[^\s,]*)")


def several(names: Collection[str]) -> str:
    """The first of them, each cut where it is very long, and how many more there are."""
    shown = ", ".join(_cut(name) for name, _ in zip(names, range(_MOST), strict=False))
    rest = len(names) - _MOST
    return f"{shown} and {rest} more" if rest > 0 else shown


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def quoted(text: str) -> str:
    """What somebody wrote, as it may be repeated: of an address its host, for it may be secret."""
    shown = _BARE.sub(r"\1/…", _ADDRESS.sub(_without_path, text))
    return repr(shown[:_QUOTED])


def _without_path(found: re.Match[str]) -> str:
    rest = found["rest"] if found["rest"] in {"", "/"} else "/…"
    return f"{found['scheme']}{found['host']}{rest}"


def counted(number: float, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number:.0f} {noun}{'' if number == 1 else 's'}"


def ordinal(pod: str) -> int:
    """The number at the end of the name of a pod, which a StatefulSet counts its pods by."""
    number = pod.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0
