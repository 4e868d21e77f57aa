"""How much work something is, as a number that is the same on every machine: lines that ran."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that ran, a line of a loop once for each turn."""
    count = 0

    def trace(_: FrameType, __: str, ___: Any) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # Who is called back when garbage is collected is no part of the work.
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


def growth(work: Callable[[int], object], size: int) -> float:
    """How much more work twice the size is: 2 is linear, 4 is quadratic."""
    work(size)  # What is cached or imported by the first call is no work of the size.
    return steps(lambda: work(2 * size)) / steps(lambda: work(size))
