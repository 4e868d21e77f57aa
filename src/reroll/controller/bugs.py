"""Where errors end that no code expected: one log line with the place in the code, and a count.

Such an error is a bug of ours, and an object that triggers it must stop nothing but the work on
itself. The line names the object and the kind of error. It has neither the object's content nor the
words of the error, because those may quote a value.
"""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from reroll.clock import SystemClock
from reroll.controller.logs import Log

LINES = 10
"""Lines for one place in the code in each `WINDOW`; what is more is only counted."""
WINDOW = 60.0
FRAMES = 12
_ROOT = Path(__file__).parents[1]
log = Log("reroll")


class Part(StrEnum):
    """What the error would have ended."""

    WATCH = "watch"
    WORK = "work"
    REPORT = "report"
    FEATURE = "feature"
    LOOP = "loop"


_counts = dict.fromkeys(Part, 0)
_lines: dict[tuple[str, str], tuple[float, int]] = {}
_clock = SystemClock()


def counts() -> Mapping[Part, int]:
    """How many there were since the process began."""
    return _counts


def report(part: Part, error: BaseException, **fields: str) -> None:
    """Count an error and log it; `fields` name the object it is about."""
    _counts[part] += 1
    kind, first = _kind(error), _leaf(error)
    trace = _trace(first)
    if _has_room((kind, trace[-1] if trace else "")):
        log.error("bug", part=part.value, **fields, error=kind, trace=" > ".join(trace))


@contextmanager
def contained(part: Part, **fields: str) -> Iterator[None]:
    """Report an error of the block, and go on after it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  that is its purpose
        report(part, error, **fields)


def in_watch(what: str, error: Exception) -> None:
    """The handler of a watch failed on one event."""
    report(Part.WATCH, error, object=what)


def in_loop(_: object, context: Mapping[str, Any]) -> None:
    """What the event loop calls for an error in a callback or a task that no one waits for."""
    error = context.get("exception")
    if error is None:
        log.error("event loop", problem=str(context.get("message", ""))[:200])
    else:
        report(Part.LOOP, error)


def _has_room(place: tuple[str, str]) -> bool:
    now = _clock.monotonic()
    since, lines = _lines.get(place, (now, 0))
    if now - since >= WINDOW:
        since, lines = now, 0
    _lines[place] = since, lines + 1
    return lines < LINES


def _kind(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}({', '.join(_kind(one) for one in error.exceptions[:3])})"
    return type(error).__name__


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _trace(error: BaseException) -> list[str]:
    """The last frames, innermost last: places only."""
    frames = traceback.StackSummary.extract(
        traceback.walk_tb(error.__traceback__), lookup_lines=False
    )
    return [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames[-FRAMES:]]


def _short(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else path.name
