"""`reroll history`: what rolled, when, why, and who had changed what."""

import argparse
import textwrap
from typing import Any

from reroll.answers.history.gather import gather, situations_of, subject
from reroll.answers.history.history import HistoryEntry, beside, facts_of
from reroll.answers.namespaces import namespaces
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_flags, add_selector_flag
from reroll.cli.show import WIDE, Answer, Place, Table, add_output_flag, target
from reroll.cli.times import ago
from reroll.cli.watch import add_watch_flag
from reroll.kube.view import View

LONGEST = 60
"""Characters of a message in a table; `-o json` has all of it."""
DESCRIPTION = """\
Show what rolled, when, why, because of which keys, and who had changed them. This comes from the
records on workloads, the copies of them that Kubernetes keeps with each revision, and Events. The
newest comes first, and RESULT says how the last roll went. Keys are shown by name, values never.

  reroll history -n shop
  reroll history deployment/web -n shop --watch
  reroll history -A --limit 20 -o json"""


NOTHING = "No history: no workload here has a record of Reroll, or an Event."
WIDER = ("REVISION", "KNOWN FROM")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads", nargs="*", metavar="KIND/NAME", help="only these workloads (default: all)"
    )
    add_selector_flag(parser)
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="show at most N (default: 50)"
    )
    add_output_flag(parser)
    add_watch_flag(parser)
    add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.check_usage()
    if args.limit < 1:
        raise CommandError(f"--limit: {args.limit} is less than one; use 1 or more", Exit.USAGE)

    async def ask(view: View) -> Answer:
        await context.learn(view)
        listed = await view.workloads(context.tables.kinds)
        selection = context.selection
        selected = [each for each in listed if selection.holds(each.kind, each.manifest)]
        there = [each.workload.key for each in listed]
        selection.check(there, view.gaps, namespace=view.namespace)
        known = await situations_of(view, context.settings, context.clock, selected)
        subjects = [subject(each, known.get(each.workload.key)) for each in selected]
        past = await gather(view, subjects, args.limit)
        facts = [facts_of(entry) for entry in past]
        if view.namespace and not past:
            await namespaces(view.again())
        return Answer(
            document={"history": facts, "problems": view.gaps},
            text=[_table(context, view, past, facts) if past else NOTHING],
            names=[target(entry.workload) for entry in past],
            warnings=view.gaps,
        )

    return context.answer(ask)


def _table(
    context: Context, view: View, past: list[HistoryEntry], facts: list[dict[str, Any]]
) -> Table:
    now, longest = context.clock.now(), None if context.output == WIDE else LONGEST
    place = Place.of((one.workload for one in past), everywhere=view.namespace is None)
    rows = [(ago(one.at, now), *place.cells(one.workload), *_cells(one, longest)) for one in past]
    columns = (
        "WHEN",
        *place.columns,
        "REASON",
        "RESULT",
        "BECAUSE OF",
        "KEYS",
        *WIDER,
        "CHANGED BY",
    )
    return Table(columns, rows, wide=WIDER, facts=facts)


def _cells(entry: HistoryEntry, longest: int | None) -> tuple[str, ...]:
    said = entry.message
    if longest:
        said = textwrap.shorten(said, longest, placeholder=" …")
    because = beside((part.entry for part in entry.parts), entry.keys) or said
    by = ", ".join(dict.fromkeys(part.by for part in entry.parts if part.by))
    keys, revision = ", ".join(entry.keys), str(entry.revision or "")
    cells = (entry.reason, entry.result, because, keys, revision, entry.origin, by)
    return tuple(cell or "-" for cell in cells)
