"""What a large answer took, given back to the system.

The objects of a listing refer to each other in cycles, which Python would find late, and an
allocator keeps what was freed for the next time: listing after listing, a process would seem to
grow.
"""

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    gc.collect()
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    """Of the C library, if it is glibc; others give back by themselves, or not at all."""
    if sys.platform != "linux":
        return int
    trim: Callable[[int], object] = getattr(ctypes.CDLL(None), "malloc_trim", int)
    return trim
