"""`reroll plan`: what would roll now, and what a change would roll before it is made."""

import argparse
from typing import Any, NamedTuple

from reroll.answers.plan.suppose import suppose
from reroll.cli import flags
from reroll.cli.command import Context
from reroll.cli.commands.sync import using
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.show import Answer, Place, Table, add_output_flag, target
from reroll.cli.streams import manifests
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.metadata import replicas
from reroll.engine.circumstances import Judged, judged
from reroll.engine.listing import Listing
from reroll.kube.view import View
from reroll.manifests.model import Manifests

DESCRIPTION = """\
Show what would roll now, and why. With --with, show what a change would roll before you make it:
workloads, pods, namespaces, the names of keys, and the order in which workloads would get it.
Nothing is written, and the decisions are the controller's own.

  reroll plan -n shop                    what is stale
  reroll plan -n shop --all              every workload, also those up to date
  reroll plan -A --with configmap.yaml   the blast radius of one change
  helm template shop ./chart | reroll plan -n shop --with -

exit codes: 0 nothing would roll; 3 something would; 1 not everything could be read"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    flags.add_selector_flag(parser)
    parser.add_argument(
        "--source", metavar="KIND/NAME", help="only workloads that use this ConfigMap or Secret"
    )
    parser.add_argument(
        "--with",
        dest="changed",
        action="append",
        metavar="FILE",
        help="plan as if these ConfigMaps and Secrets were applied: file, folder or - (repeatable)",
    )
    parser.add_argument(
        "--all", action="store_true", help="also show workloads that would not change"
    )
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


class Row(NamedTuple):
    key: Key
    plan: Plan
    pods: int
    keys: dict[Key, tuple[str, ...]]
    turn: int = 0

    @property
    def rolls(self) -> bool:
        return self.plan.effect.reaches_pods


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.check_usage()
    return context.answer(lambda view: _plan(view, context))


async def _plan(view: View, context: Context) -> Answer:
    args = context.args
    written = _written(args.changed, view) if args.changed else None
    listing = await context.listing(view)
    keys = using(listing, args.source) if args.source else tuple(listing.workloads)
    decisions = await listing.decisions(keys)
    known = await judged(view, listing, decisions, context.clock.now())
    pods = {one.key: _pods(listing, one) for one in known}
    notes = list(listing.notes)
    if written is None:
        rows = [Row(one.key, one.plan, pods[one.key], _keys(one.plan)) for one in known]
    else:
        notes += _unseen(view, written)
        found = suppose(listing, decisions, written.sources.values(), context.clock.now())
        rows = [Row(one.key, one.plan, pods[one.key], one.keys, one.turn) for one in found]
    return _answer(view, args, rows, notes)


def _written(names: list[str], view: View) -> Manifests:
    found = manifests(names, view.namespace or view.home)
    if not found.sources:
        raise CommandError(f"no ConfigMap or Secret in {', '.join(names)}", Exit.USAGE)
    return found


def _unseen(view: View, written: Manifests) -> list[str]:
    """What of the files this command does not look at."""
    notes = []
    for key in written.sources:
        if view.namespace not in {None, key.namespace}:
            notes.append(f"{key} is in another namespace, where nobody looked; use -A")
    if written.workloads:
        notes.append(
            "workloads in the files are not compared here; `reroll diff` shows which of them change"
        )
    return notes


def _keys(plan: Plan) -> dict[Key, tuple[str, ...]]:
    return {change.reference.source: tuple(sorted(change.keys)) for change in plan.changes}


def _pods(listing: Listing, one: Judged) -> int:
    """How many pods it should have, or where its kind does not say so, how many run."""
    listed = listing.workloads[one.key]
    if listed.kind.replicas:
        return replicas(listed.kind, listed.manifest)
    return (one.situation.running or 0) if one.situation else 0


# What is shown


def _answer(view: View, args: argparse.Namespace, rows: list[Row], notes: list[str]) -> Answer:
    gaps = list(dict.fromkeys(view.gaps))
    shown = rows if args.all else [row for row in rows if not row.plan.reason.quiet]
    rolling = [row for row in rows if row.rolls]
    problems = sorted({problem.sentence for row in rows for problem in row.plan.problems})
    place = Place.of((row.key for row in shown), everywhere=view.namespace is None)
    columns = ("TURN", *place.columns, "EFFECT", "PODS", "REASON", "STRATEGY", "BECAUSE")
    lines = [(str(row.turn or "-"), *place.cells(row.key), *_cells(row)) for row in shown]
    wider = {"STRATEGY"} if any(row.turn for row in shown) else {"STRATEGY", "TURN"}
    code = Exit.WOULD_ROLL if rolling else Exit.OK
    return Answer(
        document={
            "workloads": [_facts(row) for row in shown],
            "radius": _radius(rolling),
            "problems": [*gaps, *problems, *notes],
        },
        text=[Table(columns, lines, wide=wider), _sentence(rolling)],
        names=[target(row.key) for row in shown],
        warnings=[*notes, *problems, *gaps],
        code=Exit.FAILED if gaps else code,
    )


def _cells(row: Row) -> tuple[str, ...]:
    plan = row.plan
    strategy = plan.strategy.value if plan.strategy else "-"
    return plan.effect.value, str(row.pods), plan.reason.word, strategy, plan.message


def _radius(rolling: list[Row]) -> dict[str, Any]:
    return {
        "workloads": len(rolling),
        "pods": sum(row.pods for row in rolling),
        "namespaces": sorted({row.key.namespace for row in rolling}),
        "keys": {
            str(source): sorted({key for row in rolling for key in row.keys.get(source, ())})
            for source in sorted({source for row in rolling for source in row.keys})
        },
    }


def _sentence(rolling: list[Row]) -> str:
    if not rolling:
        return "nothing would roll"
    radius = _radius(rolling)
    counted = (
        (radius["workloads"], "workload"), (radius["pods"], "pod"),
        (len(radius["namespaces"]), "namespace"),
    )  # fmt: skip
    numbers = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counted]
    return f"{numbers[0]} would roll: {numbers[1]}, in {numbers[2]}"


def _facts(row: Row) -> dict[str, Any]:
    plan = row.plan
    return {
        **row.key._asdict(),
        "effect": row.plan.effect.value,
        "reason": plan.reason.word,
        "message": plan.message,
        "strategy": plan.strategy.value if plan.strategy else "",
        "pods": row.pods,
        "turn": row.turn,
        "keys": {str(source): list(keys) for source, keys in row.keys.items()},
    }
