"""A canary: a few pods beside a workload that try a content before the workload gets it."""

import msgspec

from reroll.core.model.pace import ALL, Parallel

_SUFFIX = "-canary"
_LONGEST = 253


class CanaryPolicy(msgspec.Struct, frozen=True, gc=False):
    """What annotations and settings say of it."""

    size: Parallel = ALL
    """How many pods; without a limit there is no canary."""
    manual: bool = False
    """A person decides, once it is healthy."""

    @property
    def is_asked(self) -> bool:
        return self.size.is_limited


def pods_of(size: Parallel, replicas: int) -> int:
    """How many pods a canary has beside so many; a workload without any needs none."""
    if not replicas or not size.percent:
        return size.number if replicas else 0
    return -(-replicas * size.percent // 100)


def canary_name(workload: str) -> str:
    """What the canary of a workload is called."""
    return f"{workload[: _LONGEST - len(_SUFFIX)]}{_SUFFIX}"
