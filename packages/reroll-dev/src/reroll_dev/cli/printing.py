"""How the demo prints: titles, commands and progress, in a terminal or a pipe."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def title(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if _colours() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def command(what: str, detail: str) -> None:
    print(f"  $ {what} {detail}", flush=True)


def say(text: str) -> None:
    print(text, flush=True)


def _colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


@contextmanager
def bar() -> Iterator[Callable[[int, int, int], None]]:
    """A progress bar in a terminal; a line for each step in a pipe."""
    if not sys.stdout.isatty():
        last: list[tuple[int, int]] = []

        def line(updated: int, total: int, ready: int) -> None:
            if [(updated, ready)] != last:
                last[:] = [(updated, ready)]
                say(f"  {updated} of {total} updated, {ready} ready")

        yield line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("  {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("rolling")

        def advance(updated: int, total: int, ready: int) -> None:
            told = f"{updated} of {total} updated, {ready} ready"
            progress.update(task, completed=updated, total=total, description=told)

        yield advance
