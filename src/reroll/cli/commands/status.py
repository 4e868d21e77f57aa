"""`reroll status`: one line for each workload that is opted in."""

import argparse
import textwrap
from datetime import datetime

from reroll.answers.propagation.status import facts_of, status
from reroll.cli import flags
from reroll.cli.changes import change_tables
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_flags
from reroll.cli.show import WIDE, Answer, Place, Table, add_output_flag, target
from reroll.cli.times import ago
from reroll.cli.unapproved import unapproved
from reroll.cli.watch import add_watch_flag
from reroll.core.decide.plan import Effect
from reroll.core.decide.situation import Situation
from reroll.core.observe.pods import PodsHave, Progress
from reroll.core.tables.reasons import Reason
from reroll.kube.view import View

DESCRIPTION = """\
Show one line for each workload that has opted in: its last roll, how that rollout goes, and its
state now: up to date, waiting to roll, held, or blocked. Below is one table for each change that is
still on its way: its waves, which workloads are healthy, rolling, held or failed, and what each
waits for. `reroll explain KIND/NAME` has the details of one workload. Read-only.

  reroll status -n shop
  reroll status -A -l team=shop --watch
  reroll status -n shop deployment/web -o json
  reroll status -A --unapproved"""
WIDEST = 56
"""Characters of the last column in a table: at most two lines in a terminal of 80 columns."""


COLUMNS = ("LAST ROLL", "ROLLOUT", "PODS", "RECORDED", "STATE")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    parser.add_argument(
        "--unapproved",
        action="store_true",
        help="only what waits for approval: which content, who changed it, and since when",
    )
    flags.add_selector_flag(parser)
    add_output_flag(parser)
    add_watch_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.selection  # noqa: B018  wrong usage is reported before the cluster is asked
    return context.answer(lambda view: _status(view, context))


async def _status(view: View, context: Context) -> Answer:
    listing, now = await context.listing(view), context.clock.now()
    if context.args.unapproved:
        return await unapproved(view, listing, now)
    found = await status(view, listing, now)
    mine, facts = found.situations, [facts_of(one) for one in found.situations]
    place = Place.of((one.key for one in mine), everywhere=view.namespace is None)
    widest = None if context.output == WIDE else WIDEST
    rows = [(*place.cells(one.key), *_row(one, now, widest)) for one in mine]
    table = Table((*place.columns, *COLUMNS), rows, wide={"PODS", "RECORDED"}, facts=facts)
    return Answer(
        document=found.document(view.gaps),
        text=[
            table if mine else "No workload here is opted in.",
            *change_tables(found.changes, now),
        ],
        names=[target(one.key) for one in mine],
        warnings=[*listing.notes, *found.problems, *view.gaps],
        code=Exit.FAILED if view.gaps else Exit.OK,
    )


def _row(one: Situation, now: datetime, widest: int | None) -> tuple[str, ...]:
    record = one.record
    rolled = ago(record.rolled, now) if record else "-"
    recorded = f"{ago(record.at, now)} ({record.why})" if record else "-"
    running, state = "-" if one.running is None else str(one.running), state_of(one)
    if widest:
        state = textwrap.shorten(state, widest, placeholder=" …")
    return rolled, one.rollout.progress.value, running, recorded, state


def state_of(one: Situation) -> str:
    """The most important thing, in few words."""
    if one.obstacle:
        return f"{one.obstacle.reason.word}: {one.obstacle.detail}"
    if one.rollout.progress in {Progress.FAILING, Progress.PROGRESSING}:
        return one.rollout.message
    if one.plan.reason in _WORDS:
        return _WORDS[one.plan.reason]
    if one.plan.reason is Reason.UP_TO_DATE:
        return _HAVE.get(one.have, "unchanged")
    effect = one.plan.effect
    return f"{one.plan.reason.word}: {one.plan.message}" if effect is not Effect.NOTHING else "-"


_WORDS = {
    Reason.PODS_OLDER: "pods older than their configuration",
    Reason.DECLINED: "declined: taken back, not changed since",
    Reason.ENDED: "ended",
}
_HAVE = {
    PodsHave.CURRENT: "up to date",
    PodsHave.YOUNGER: "up to date, by the times of its pods",
    PodsHave.REPLACING: "pods are being replaced",
    PodsHave.NONE: "unchanged, no pod runs",
}
