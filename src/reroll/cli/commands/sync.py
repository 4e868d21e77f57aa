"""`reroll sync`: one reconciliation from the shell, decided as the controller would."""

import argparse
from collections.abc import Iterable

from reroll.cli import flags, run_and_wait
from reroll.cli.command import Context
from reroll.cli.errors import CommandError
from reroll.cli.flags import add_flags
from reroll.cli.show import add_output_flag
from reroll.cli.targets import config_target
from reroll.core.decide.plan import Effect
from reroll.core.model.key import Key
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.reasons import Reason
from reroll.engine.circumstances import Judged, judged
from reroll.engine.listing import Listing
from reroll.kube.view import View
from reroll.pipeline.work import Options, Stage, Work

DESCRIPTION = f"""\
Roll workloads that run with stale configuration, once, from the shell. No controller is needed; if
one runs, it makes the same decisions. A workload that is seen for the first time is recorded
and not rolled, and workloads that have not opted in are never touched.

  reroll sync -n shop --wait             after a deploy: roll, and wait
  reroll sync -n shop deployment/web --wait --rollback-on-failure
  reroll sync -A --source secret/db --dry-run
  reroll sync -n shop --wait --junit reroll.xml -o json    in CI

{run_and_wait.EXITS}"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    flags.add_selector_flag(parser)
    parser.add_argument(
        "--source", metavar="KIND/NAME", help="only workloads that use this ConfigMap or Secret"
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="also roll workloads whose pods are older than what they use, as `audit` shows",
    )
    flags.add_dry_run_flag(parser, "show what would roll; do nothing")
    run_and_wait.add_flags(parser, wait=True)
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context, options = Context(args), run_and_wait.options(args, wait=args.wait)
    context.check_usage()
    return context.run(lambda view: _sync(view, context, options))


async def _sync(view: View, context: Context, options: Options) -> int:
    args = context.args
    listing = await context.listing(view, make_key=not args.dry_run)
    keys = using(listing, args.source) if args.source else tuple(listing.workloads)
    now = context.clock.now()
    known = await judged(view, listing, await listing.decisions(keys), now)
    if args.stale:
        known = await _distrusted(listing, known)
    works = [work(listing, one) for one in known]
    notable = {one.key for one in known if one.situation and one.situation.is_notable}
    refused = [_refused(one.key) for one in works if args.workloads and one.plan.reason.out]
    mine = [one for one in works if not one.plan.reason.out]
    problems = [*view.gaps, *refused]
    if args.dry_run:
        for one in mine:
            _suppose(one, context)
    else:
        session = run_and_wait.Session(view, context.clock, listing, options)
        await session.roll(mine)
        for one in mine:
            if one.key in notable and one.stage is Stage.NOTHING:
                one.reason, one.message = one.plan.reason, one.plan.message
        problems = [*view.gaps, *refused, *sorted(session.run.problems)]
    shown = [one for one in mine if one.key in notable and one.stage is not Stage.DECLINED]
    said = [f"{one.key}: {one.plan.message}" for one in shown]
    return run_and_wait.finish(args, mine, problems, notes=[*listing.notes, *said])


async def _distrusted(listing: Listing, known: list[Judged]) -> list[Judged]:
    """Pods that are older than their configuration count as rolled with another."""
    stale = []
    for one in known:
        if one.situation and (older := one.situation.rolls_on_request):
            listing.distrust(one.decision, older)
            stale.append(one.key)
    again = {one.key: Judged(one) for one in await listing.decisions(stale)}
    return [again.get(one.key, one) for one in known]


def work(listing: Listing, one: Judged) -> Work:
    listed = listing.workloads[one.key]
    made = Work(listed.kind, listed.manifest, one.plan)
    made.is_declined = one.situation is not None and one.situation.is_declined
    return made


def using(listing: Listing, text: str) -> tuple[Key, ...]:
    """The workloads that use a source."""
    row, name = config_target(text)
    found = [
        key
        for key in listing.workloads
        if (tracked := listing.world.workloads.get(key))
        and any(
            (ref.source.kind, ref.source.name) == (row.name, name) for ref in tracked.references
        )
    ]
    if not found:
        raise CommandError(_unused(row.name, name, listing.world.sources))
    return tuple(found)


def _unused(kind: str, name: str, known: Iterable[Key]) -> str:
    from difflib import get_close_matches  # Only who misspells something waits for it.

    near = get_close_matches(name, {key.name for key in known if key.kind == kind}, 3)
    hint = f"; did you mean {' or '.join(sorted(near))}?" if near else ""
    return f"no workload here that opted in uses {kind} {name}{hint}"


def _refused(key: Key) -> str:
    return f'{key} is not rolled, because it did not opt in; annotate it with {ENABLED}: "true"'


def _suppose(work: Work, context: Context) -> None:
    """What would come of a plan."""
    effect, now = work.plan.effect, context.clock.now()
    if work.is_declined:
        work.change(Stage.DECLINED, "", now)
    elif effect is Effect.STALE or work.plan.reason is Reason.UP_TO_DATE:
        work.change(Stage.NOTHING, "", now)
    elif effect in {Effect.HELD, Effect.NOTHING}:
        work.change(Stage.HELD, "", now)
    else:
        would = "roll" if work.plan.strategy else "be recorded"
        work.change(Stage.PENDING, f"would {would}: {work.plan.message}", now)
