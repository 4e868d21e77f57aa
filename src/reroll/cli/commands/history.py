"""`reroll history`: what rolled, when, why, and who had changed what."""

import argparse
import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reroll.answers.history.gather import gather
from reroll.answers.history.history import HistoryEntry
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_config_flag, add_flags, add_selector_flag
from reroll.cli.output import add_output_flag, warn
from reroll.cli.show import Table, show
from reroll.cli.times import ago
from reroll.kube.view import View

LONGEST = 60
"""Characters of a message in a table; `-o json` has all of it."""
DESCRIPTION = """\
Tell what rolled, when, why, because of which keys, and who had changed them: from the records on
workloads, the copies of them that Kubernetes keeps with each revision, and Events. The newest
comes first. Keys are told by name; values are never read.

  reroll history -n shop
  reroll history deployment/web -n shop
  reroll history -A --limit 20 -o json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "workloads", nargs="*", metavar="KIND/NAME", help="only these workloads (default: all)"
    )
    add_selector_flag(parser)
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)"
    )
    add_output_flag(parser)
    add_config_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    selection = context.selection
    if args.limit < 1:
        raise CommandError(f"--limit: {args.limit} is less than one; use 1 or more", Exit.USAGE)

    async def action(view: View) -> int:
        listed = await view.workloads(context.tables.kinds)
        selected = [each for each in listed if selection.holds(each.kind, each.manifest)]
        known = [each.workload.key for each in listed]
        selection.check(known, view.gaps, namespace=view.namespace)
        past = (await gather(view, selected))[: args.limit]
        document = {"history": [_facts(entry) for entry in past], "problems": view.gaps}
        show(context.output, document, _text(past, context.clock.now()))
        warn(view.gaps)
        return Exit.OK

    return context.run(action)


def _text(past: list[HistoryEntry], now: datetime) -> Iterator[Table | str]:
    head = ("WHEN", "WORKLOAD", "REASON", "BECAUSE OF", "KEYS", "CHANGED BY")
    yield Table(head, [_row(entry, now) for entry in past])
    if not past:
        yield "Nothing is known: no workload here has a record of Reroll, or an Event."


def _row(entry: HistoryEntry, now: datetime) -> tuple[str, ...]:
    said = textwrap.shorten(entry.message, LONGEST, placeholder=" …")
    because = ", ".join(part.entry for part in entry.parts) or said
    by = ", ".join(dict.fromkeys(part.by for part in entry.parts if part.by))
    cells = (entry.reason, because, ", ".join(entry.keys), by)
    return ago(entry.at, now), str(entry.workload), *(cell or "-" for cell in cells)


def _facts(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "at": entry.at,
        "workload": entry.workload,
        "reason": entry.reason,
        "message": entry.message,
        "sources": [
            {"entry": part.entry, "changed": part.at, "changedBy": part.by or None}
            for part in entry.parts
        ],
        "keys": entry.keys,
        "revision": entry.revision or None,
        "toldBy": entry.origin,
    }
