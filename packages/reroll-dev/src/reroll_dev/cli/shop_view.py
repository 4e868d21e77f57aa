"""Where a change is, while it propagates: a table that is drawn again, or a line for each step.

It shows what `reroll status` knows, from the same records, and of each workload the value that its
pod template gives to its pods.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from reroll.answers.propagation.changes import standings
from reroll.cli.app import parser_for
from reroll.cli.command import Context
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.engine.listing import Listing
from reroll.kube.view import View
from reroll_dev.cli import shop
from reroll_dev.cli.printing import say
from reroll_dev.cli.stage import Stage

if TYPE_CHECKING:
    from rich.table import Table

COLOURS = {
    "healthy": "green",
    "under way": "yellow",
    "failed": "bold red",
    "stuck": "red",
    "rollback failed": "bold red",
    "rolled back": "magenta",
}
WIDEST = 60
SOURCE = Key("ConfigMap", shop.NAMESPACE, shop.SOURCE)


class Row(NamedTuple):
    """One workload."""

    value: str
    stage: str
    reason: str = ""
    message: str = ""
    moves: bool = False
    """Its pods are being replaced."""


Look = dict[str, Row]


class Eye:
    """Looks at the shop as `reroll status` does."""

    def __init__(self, stage: Stage) -> None:
        kubeconfig = str(stage.cluster.kubeconfig())
        words = ["status", "-n", shop.NAMESPACE, "--kubeconfig", kubeconfig]
        self._args: argparse.Namespace = parser_for(words).parse_args(words)
        self._api = stage.api

    def look(self) -> Look:
        rows: Look = {}
        context, held = Context(self._args), dict[str, str]()

        async def ask(view: View) -> int:
            listing = await context.listing(view)
            decisions = await listing.decisions(listing.workloads)
            held.update(shop.timeouts(self._api))
            rows.update(_rows(listing, {one.key: one.plan for one in decisions}, held))
            return 0

        context.run(ask)
        return rows


def _rows(
    listing: Listing, plans: dict[Key, Plan], held: dict[str, str]
) -> Iterator[tuple[str, Row]]:
    for group in listing.world.propagation.groups():
        if group.source == SOURCE:
            for one in standings(group, plans):
                spec = msgspec.json.decode(listing.workloads[one.key].manifest.spec)
                value = shop.timeout_of(spec["template"]["spec"], held)
                moves = group.members[one.key].moving
                # Of one that comes next, that is all there is to say.
                why = (one.reason, one.message) if one.stage != "next" else ("", "")
                yield one.key.name, Row(value, one.stage, *why, moves)


@contextmanager
def shown() -> Iterator[Callable[[Look], None]]:
    """Draws what it is given."""
    if not sys.stdout.isatty():
        yield _lines()
        return
    from rich.live import Live

    with Live(_table({}), refresh_per_second=8) as live:
        yield lambda look: live.update(_table(look))


def _lines() -> Callable[[Look], None]:
    """A line for each workload that stands elsewhere than before."""
    last: dict[str, tuple[str, ...]] = {}

    def lines(look: Look) -> None:
        for name, row in sorted(look.items()):
            if last.get(name) != (now := (row.value, row.stage, row.reason)):
                last[name] = now
                say(f"  {name:10} {shop.KEY}={row.value:4} {row.stage:12} {_why(row)}".rstrip())

    return lines


def _table(look: Look) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("WORKLOAD", shop.KEY, "STAGE", "BECAUSE", box=None, pad_edge=True)
    for name, row in sorted(look.items()):
        stage = Text(row.stage, style=COLOURS.get(row.stage, "dim"))
        table.add_row(name, row.value, stage, Text(_why(row), style="dim"))
    return table


def _why(row: Row) -> str:
    text = ": ".join(filter(None, (row.reason, row.message)))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
