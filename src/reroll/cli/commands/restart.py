"""`reroll restart`: the honest `kubectl rollout restart`, with a reason and the same waiting."""

import argparse

from reroll.answers.audit.gather import audit
from reroll.answers.audit.records import with_records
from reroll.cli import flags, run_and_wait
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.show import add_output_flag
from reroll.cli.targets import workload_target
from reroll.core.decide.permission import hold_of
from reroll.core.model.key import Key
from reroll.core.observe.staleness import Verdict
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind, Strategy
from reroll.engine.listing import Listed, Listing
from reroll.kube.view import View
from reroll.pipeline.restart import Restarts
from reroll.pipeline.work import Options, Stage, Work

DESCRIPTION = f"""\
Replace the pods of workloads, opted in or not, as `kubectl rollout restart` does, and wait. The
reason goes into an Event. Changes made since the last roll count as rolled, so nothing restarts
twice.

  reroll restart -n shop deployment/web --reason "rotate connections"
  reroll restart -n shop sts/db --max-parallel 1 --rollback-on-failure
  reroll restart -n shop -l tier=web --reason "new certificates"
  reroll restart -A --stale --dry-run    what `reroll audit` finds

{run_and_wait.EXITS}"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="what to restart")
    flags.add_selector_flag(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the Event")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="only workloads with pods that `reroll audit` calls stale",
    )
    flags.add_dry_run_flag(parser, "show what would restart; do nothing")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the new pods")
    run_and_wait.add_flags(parser, wait=False)
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context, options = Context(args), run_and_wait.options(args, wait=not args.no_wait)
    if not (args.workloads or args.selector or args.stale):
        raise CommandError(
            "name workloads to restart, or select them with -l or --stale", Exit.USAGE
        )
    context.check_usage()
    for text in args.workloads:
        kind, name = _target(text, context.tables)
        if kind:
            _check_kind(kind, name, context.tables)
    return context.run(lambda view: _restart(view, context, options))


async def _restart(view: View, context: Context, options: Options) -> int:
    args, clock = context.args, context.clock
    listing = await context.listing(view)
    restarts = Restarts(view, clock, listing, args.reason)
    able = _restartable(context, listing)
    if args.stale:
        stale = await _stale(view, context)
        able = {key: one for key, one in able.items() if key in stale}
    works = []
    for key, listed in able.items():
        snapshot = await restarts.snapshot(listed.kind, listed.manifest)
        if hold := hold_of(snapshot, clock.now()):
            raise CommandError(f"{key} is held, nothing is restarted: {hold.message}")
        works.append(Work(listed.kind, listed.manifest, restarts.plan(snapshot, clock.now())))
    problems = list(view.gaps)
    if args.dry_run:
        for work in works:
            work.change(Stage.PENDING, "would restart", clock.now())
    else:
        session = run_and_wait.Session(view, clock, listing, options)
        await session.roll(works, restarts.begin)
    return run_and_wait.finish(args, works, problems, notes=listing.notes)


async def _stale(view: View, context: Context) -> set[Key]:
    """The workloads of which `reroll audit` calls pods stale."""
    audited = await audit(view, None, mounts_are_live=True, read_certificates=False)
    pods = await with_records(view, context.clock, context.settings, audited.pods)
    return {each.workload for each in pods if each.has(Verdict.STALE)}


def _restartable(context: Context, listing: Listing) -> dict[Key, Listed]:
    """Those that can be restarted; one that was named and cannot is an error."""
    for kind, name in context.selection.named:
        _check_kind(kind, name, context.tables)
    listed = listing.workloads.items()
    return {key: one for key, one in listed if Strategy.RESTART in one.kind.strategies}


def _target(text: str, tables: Tables) -> tuple[Kind | None, str]:
    """`None`: the controller's settings may add that kind."""
    try:
        return workload_target(text, tables)
    except CommandError:
        return None, text


def _check_kind(kind: Kind, name: str, tables: Tables) -> None:
    if Strategy.RESTART not in kind.strategies:
        able = ", ".join(k.name for k in tables.kinds if Strategy.RESTART in k.strategies)
        raise CommandError(
            f"{kind.name} {name} cannot be restarted; this is for {able}", Exit.USAGE
        )
