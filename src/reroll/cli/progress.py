"""How a run is shown while it goes on: a bar for each workload in a terminal, lines in a pipe.

All of it goes to standard error; the result of the run goes to standard output when it is over.
"""

import sys
from types import TracebackType
from typing import Any, Protocol, Self

from reroll.clock import Clock
from reroll.pipeline.work import Stage, Work

UNDER_WAY = {Stage.ROLLING}
BAR = 20


class Progress(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, work: Work) -> None: ...
    def note(self, sentence: str) -> None: ...


class Lines:
    """One line for each thing that changes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, work: Work) -> None:
        if work.stage in {Stage.PENDING, Stage.NOTHING}:
            return
        name, text = str(work.key), described(work)
        if self._last.get(name) != text:
            self._last[name] = text
            seconds = elapsed(work, self._clock)
            print(f"{name}: {text}{seconds and f', {seconds}'}", file=sys.stderr, flush=True)

    def note(self, sentence: str) -> None:
        print(f"reroll: {sentence}", file=sys.stderr, flush=True)


class Bars:
    """A table that is drawn anew all the time."""

    def __init__(self, clock: Clock) -> None:
        from rich.console import Console
        from rich.live import Live

        self._clock = clock
        self._works: dict[str, Work] = {}
        self._console = Console(stderr=True)
        self._live = Live(
            console=self._console, get_renderable=self._table, refresh_per_second=5, transient=True
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, work: Work) -> None:
        if work.stage not in {Stage.PENDING, Stage.NOTHING}:
            self._works[str(work.key)] = work

    def note(self, sentence: str) -> None:
        self._console.print(f"reroll: {sentence}", highlight=False, markup=False, soft_wrap=True)

    def _table(self) -> Any:
        from rich.table import Table

        columns = ("WORKLOAD", "", "UPDATED", "READY", "TOTAL", "ELAPSED", "STATE")
        table = Table(*columns, box=None, header_style="bold")
        rows = max(1, self._console.height - 2)
        works = sorted(self._works.items(), key=lambda item: item[1].stage not in UNDER_WAY)
        for name, work in works[:rows]:
            table.add_row(name, *_numbers(work), elapsed(work, self._clock), _state(work))
        return table


def progress(clock: Clock) -> Progress:
    return Bars(clock) if sys.stderr.isatty() else Lines(clock)


def described(work: Work) -> str:
    """A workload in one line."""
    health = work.health
    numbers = ""
    if health and health.total and work.stage in UNDER_WAY:
        numbers = f"{health.updated} updated, {health.ready} ready, {health.total} in all"
    return ", ".join(filter(None, (work.stage.value, work.detail, numbers)))


def elapsed(work: Work, clock: Clock) -> str:
    if work.began is None:
        return ""
    seconds = ((work.ended or clock.now()) - work.began).total_seconds()
    return f"{seconds:.0f}s"


def _numbers(work: Work) -> tuple[Any, ...]:
    from rich.progress_bar import ProgressBar

    health = work.health
    if health is None or not health.total:
        return "", "", "", ""
    done = min(health.updated, health.ready)
    bar = ProgressBar(total=health.total, completed=done, width=BAR)
    return bar, str(health.updated), str(health.ready), str(health.total)


def _state(work: Work) -> Any:
    from rich.text import Text

    colour = {
        Stage.ROLLED: "green", Stage.FAILED: "red", Stage.TIMED_OUT: "red",
        Stage.UNDONE: "yellow", Stage.HELD: "yellow", Stage.DECLINED: "red",
    }.get(work.stage, "")  # fmt: skip
    text = work.detail if work.stage in UNDER_WAY and work.detail else work.stage.value
    return Text(text, style=colour, overflow="ellipsis", no_wrap=True)
