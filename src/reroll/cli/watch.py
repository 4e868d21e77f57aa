"""`--watch`: an answer that is given again and again, until it is ended.

In a terminal, one table that is kept up to date. In a pipe, a line for each row that is new or that
changed, and for programs a document for each change: what is unchanged is never said twice. An API
server that goes away is waited for.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from reroll.answers.documents import plain
from reroll.cli.output import styled, table_lines, wrapped
from reroll.cli.sentences import visible, warn
from reroll.cli.show import JSON, NAME, PROGRAMS, WIDE, Answer, Table, show
from reroll.kube.errors import Throttled, Unavailable
from reroll.kube.view import View

if TYPE_CHECKING:
    from rich.console import Group

EVERY = 2.0
"""Seconds between two looks."""
Ask = Callable[[View], Awaitable[Answer]]


def add_watch_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="keep watching until Ctrl-C: a live table, or in a pipe a line for each change",
    )


async def present(args: argparse.Namespace, view: View, ask: Ask) -> int:
    """Show an answer, once or again and again; the exit code."""
    output = getattr(args, "output", "table")
    if not getattr(args, "watch", False):
        return show(output, await ask(view))
    is_live = sys.stdout.isatty() and output not in {*PROGRAMS, NAME}
    follow = _live if is_live else _lines
    return await follow(output, view, ask)


async def _answer(view: View, ask: Ask) -> Answer | str:
    """The next one, or why there is none at the moment."""
    try:
        return await ask(view.again())
    except (Throttled, Unavailable) as error:
        return f"{error}; trying again"


# In a terminal


async def _live(output: str, view: View, ask: Ask) -> int:
    from rich.console import Console
    from rich.live import Live

    console, answer = Console(), await ask(view)
    problem = ""
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            live.update(_drawn(answer, output, console.width, problem), refresh=True)
            await asyncio.sleep(EVERY)
            latest = await _answer(view, ask)
            answer, problem = (answer, latest) if isinstance(latest, str) else (latest, "")


def _drawn(answer: Answer, output: str, width: int, problem: str) -> "Group":
    from rich.console import Group
    from rich.text import Text

    lines: list[Text] = []
    for part in answer.text:
        if isinstance(part, Table):
            table = part.form(output)
            fit = None if output == WIDE else width
            lines += styled(table.columns, table.rows, table.styles, fit)
        else:
            lines.append(Text(wrapped(part, width)))
    warnings = [*answer.warnings, *([problem] if problem else ())]
    lines += [Text(wrapped(f"reroll: {one}", width), style="yellow") for one in warnings]
    return Group(*lines)


# In a pipe


async def _lines(output: str, view: View, ask: Ask) -> int:
    printed = _Printed(output)
    printed.add(await ask(view))
    while True:
        sys.stdout.flush()
        await asyncio.sleep(EVERY)
        answer = await _answer(view, ask)
        if isinstance(answer, str):
            printed.say([answer])
        else:
            printed.add(answer)


class _Printed:
    """What was printed last, so that only news is."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._before: set[str] = set()
        self._said: list[str] = []

    def add(self, answer: Answer) -> None:
        """Print what is new in it."""
        news = dict(self._news(answer))
        for identity, text in news.items():
            if identity not in self._before:
                print(text)
        self._before = set(news)
        self.say(answer.warnings)

    def say(self, sentences: Sequence[str]) -> None:
        warn(one for one in sentences if one not in self._said)
        self._said = list(sentences)

    def _news(self, answer: Answer) -> Iterator[tuple[str, str]]:
        """Everything there is to say, by what tells whether it was said before."""
        document = json.dumps(plain(answer.document), sort_keys=True)
        if self._output == JSON:
            yield document, document
        elif self._output in PROGRAMS:
            yield document, _yaml(answer)
        elif self._output == NAME:
            yield from ((name, name) for name in answer.names)
        else:
            for part in answer.text:
                if isinstance(part, Table):
                    yield from _rows(part, part.form(self._output))
                elif part:
                    yield part, visible(part)


def _rows(whole: Table, table: Table) -> Iterator[tuple[str, str]]:
    lines = table_lines(table.columns, table.rows)
    facts = whole.facts or whole.rows
    if lines:
        yield f"head {' '.join(table.columns)}", "\n".join(lines[0])
    alike: Counter[str] = Counter()
    for fact, text in zip(facts, lines[1:], strict=True):
        identity = json.dumps(plain(fact), sort_keys=True, default=str)
        alike[identity] += 1
        yield f"{identity} {alike[identity]}", "\n".join(text)


def _yaml(answer: Answer) -> str:
    import yaml

    return f"---\n{yaml.safe_dump(plain(answer.document), allow_unicode=True)}".rstrip()
