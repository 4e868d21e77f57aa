"""What a person sees while minutes of work go by: a bar in a terminal, lines in a log.

Work is told as steps, one after another; a step may count. Everything goes to the one stream that
was given (stderr: stdout is for data). rich is imported only where a terminal is really there.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

HEARTBEAT_SECONDS = 30.0


class Step(Protocol):
    def count(self, done: int, total: int | None = None) -> None:
        """How far the step is; without a total, only how much was done."""


class Progress(Protocol):
    def say(self, text: str) -> None:
        """A remark that is no step."""

    def step(self, title: str, *, unit: str = "") -> AbstractContextManager[Step]:
        """A piece of work with a beginning and an end; `unit` names what it counts."""


def progress_on(stream: TextIO, *, env: Mapping[str, str]) -> Progress:
    """The kind that fits where `stream` leads."""
    if stream.isatty() and env.get("TERM", "") not in {"", "dumb"}:
        return TerminalProgress(stream)
    return PlainProgress(stream)


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _counted(done: int, total: int | None, unit: str) -> str:
    amount = f"{done} of {total}" if total else str(done)
    return f"{amount} {unit}".strip() if done or total else ""


@dataclass(slots=True)
class _Count:
    unit: str
    text: str = ""

    def count(self, done: int, total: int | None = None) -> None:
        self.text = _counted(done, total, self.unit)


@dataclass(frozen=True, slots=True)
class PlainProgress:
    """Lines: one when a step begins, one when it ends, in between a heartbeat for the log."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    heartbeat: float = HEARTBEAT_SECONDS

    def say(self, text: str) -> None:
        # One write for the line and its end: the heartbeat writes from another thread.
        self.stream.write(f"{text}\n")
        self.stream.flush()

    @contextmanager
    def step(self, title: str, *, unit: str = "") -> Iterator[Step]:
        count, started, ended = _Count(unit), self.clock(), threading.Event()
        self.say(f"{title} ...")
        arguments = (title, count, started, ended)
        beat = threading.Thread(target=self._beat, args=arguments, name="heartbeat", daemon=True)
        beat.start()
        outcome = "stopped after"
        try:
            yield count
            outcome = "done in"
        finally:
            ended.set()
            beat.join()
            self.say(f"{title}: {outcome} {duration(self.clock() - started)}")

    def _beat(self, title: str, count: _Count, started: float, ended: threading.Event) -> None:
        while not ended.wait(self.heartbeat):
            elapsed = duration(self.clock() - started)
            self.say(f"{title}: {count.text + ', ' if count.text else ''}{elapsed} so far")


@dataclass(slots=True)
class TerminalProgress:
    """A line per step: spinner, bar, count and time; ended steps stay in view."""

    stream: TextIO
    _console: "Console" = field(init=False)
    _bars: "Bars | None" = field(init=False, default=None)

    def __post_init__(self) -> None:
        from rich.console import Console

        self._console = Console(file=self.stream)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    @contextmanager
    def step(self, title: str, *, unit: str = "") -> Iterator[Step]:
        with self._display() as bars:
            line = _Line(bars, bars.add_task(title, total=None, counted=""), unit)
            yield line
            line.finish()

    @contextmanager
    def _display(self) -> "Iterator[Bars]":
        """The one live display: a step inside a step becomes a second line of it."""
        if self._bars:
            yield self._bars
            return
        self._bars = _bars_on(self._console)
        try:
            with self._bars as bars:
                yield bars
        finally:
            self._bars = None


@dataclass(frozen=True, slots=True)
class _Line:
    bars: "Bars"
    task: "TaskID"
    unit: str

    def count(self, done: int, total: int | None = None) -> None:
        self.bars.update(
            self.task, completed=done, total=total, counted=_counted(done, total, self.unit)
        )

    def finish(self) -> None:
        total = self.bars.tasks[self.bars.task_ids.index(self.task)].total or 1
        self.bars.update(self.task, completed=total, total=total)


def _bars_on(console: "Console") -> "Bars":
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counted]}", markup=False),
        TimeElapsedColumn(),
        console=console,
    )
