"""`reroll status`: one line for each workload that is opted in."""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from reroll.cli import flags
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, warn
from reroll.cli.show import Table, show
from reroll.cli.situations import situation_facts
from reroll.cli.times import ago, moment
from reroll.core.decide.plan import Effect
from reroll.core.decide.situation import PodsHave, Situation
from reroll.core.model.key import Key
from reroll.core.observe.pods import Progress
from reroll.core.tables.kinds import api_kind
from reroll.core.tables.reasons import Reason
from reroll.engine.circumstances import judged
from reroll.kube.view import View

DESCRIPTION = """\
Show one line for each workload that is opted in: when Reroll last rolled it, how that rollout
goes, and what is so now: up to date, what is waiting to roll, what holds it, what stands in the
way. `reroll explain KIND/NAME` tells all about one of them. It reads only.

  reroll status -n shop
  reroll status -A -l team=shop
  reroll status -n shop deployment/web -o json"""
WIDEST = 40
"""Characters of the last column in a table: it fits a terminal of 80 columns."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    flags.add_selector_flag(parser)
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.selection  # noqa: B018  wrong usage is reported before the cluster is asked
    return context.run(lambda view: _status(view, context))


async def _status(view: View, context: Context) -> int:
    listing, now = await context.listing(view), context.clock.now()
    decisions = await listing.decisions(listing.workloads)
    known = await judged(view, listing, decisions, now)
    mine = [one.situation for one in known if one.situation and not one.plan.reason.out]
    problems = sorted({p.sentence for one in known for p in one.plan.problems})
    document = {"workloads": [_facts(one) for one in mine], "problems": [*view.gaps, *problems]}
    text = _text(mine, now, everywhere=view.namespace is None)
    show(context.output, document, text)
    warn([*listing.notes, *problems, *view.gaps])
    return Exit.FAILED if view.gaps else Exit.OK


def _text(mine: list[Situation], now: datetime, *, everywhere: bool) -> Iterator[Table | str]:
    head: tuple[str, ...] = ("WORKLOAD", "LAST ROLL", "ROLLOUT", "STATE")
    rows = [_row(one, now) for one in mine]
    if everywhere:
        head = ("NAMESPACE", *head)
        rows = [(one.key.namespace, *row) for one, row in zip(mine, rows, strict=True)]
    yield Table(head, rows)
    if not mine:
        yield "No workload here is opted in."


def _row(one: Situation, now: datetime) -> tuple[str, ...]:
    rolled = ago(one.record.rolled, now) if one.record else "-"
    return _name(one.key), rolled, one.rollout.progress.value, _state(one)


def _name(key: Key) -> str:
    return f"{api_kind(key.kind).lower()}/{key.name}"


def _state(one: Situation) -> str:
    """The most important thing, in few words."""
    if one.obstacle:
        return _short(f"{one.obstacle.reason.word}: {_detail(one)}")
    if one.rollout.progress in {Progress.FAILING, Progress.PROGRESSING}:
        return _short(one.rollout.message)
    if one.plan.reason in _WORDS:
        return _WORDS[one.plan.reason]
    if one.plan.reason is Reason.UP_TO_DATE:
        return _HAVE.get(one.have, "unchanged")
    effect = one.plan.effect
    return _short(
        f"{one.plan.reason.word}: {one.plan.message}" if effect is not Effect.NOTHING else "-"
    )


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


def _detail(one: Situation) -> str:
    """What the sentence of an obstacle says beyond the reason's own."""
    assert one.obstacle is not None  # noqa: S101  its caller looks
    message, sentence = one.obstacle.message, one.obstacle.reason.sentence
    return message.removeprefix(sentence).lstrip(":; ").strip() or message


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _facts(one: Situation) -> dict[str, Any]:
    record = one.record
    return {
        **one.key._asdict(),
        "reason": one.plan.reason.word,
        "message": one.plan.message,
        "lastRoll": moment(record.rolled) if record else None,
        "recorded": moment(record.at) if record else None,
        **situation_facts(one),
    }
