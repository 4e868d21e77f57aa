"""`reroll restart`: the honest `kubectl rollout restart`, with a reason and the same waiting."""

import argparse
from datetime import datetime

from reroll.cli import chosen, cluster, rolling
from reroll.cli.cluster import View
from reroll.cli.errors import CommandError, Exit
from reroll.cli.output import add_output_flag
from reroll.cli.targets import workload_target
from reroll.core.compare import Comparison, Snapshot
from reroll.core.holds import held
from reroll.core.kinds import Strategy
from reroll.core.plan import restart
from reroll.core.workloads import workload
from reroll.features.look.look import Decision, Listed, Look
from reroll.features.sync.run import Run
from reroll.features.sync.work import Work


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Replace the pods of workloads, opted in or not, as `kubectl rollout restart` does, and\n"
        "wait for it. The reason stands in an Event. What changed meanwhile counts as rolled, so\n"
        "nothing restarts twice.\n\n"
        '  reroll restart -n shop deployment/web --reason "rotate connections"\n'
        "  reroll restart -n shop deployment/web sts/db --max-parallel 1 --rollback-on-failure\n\n"
        f"{rolling.EXITS}"
    )
    parser.add_argument("workloads", nargs="+", metavar="KIND/NAME", help="what to restart")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; told in an Event")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the new pods")
    rolling.add_flags(parser, wait=False)
    add_output_flag(parser)
    chosen.add_controller_flags(parser)
    cluster.add_flags(parser)


def run(args: argparse.Namespace) -> int:
    args.wait = not args.no_wait
    rolling.options(args)
    tables = chosen.tables_of(args)
    for kind, name in (workload_target(text, tables) for text in args.workloads):
        if Strategy.RESTART not in kind.strategies:
            able = ", ".join(k.name for k in tables.kinds if Strategy.RESTART in k.strategies)
            raise CommandError(
                f"{kind.name} {name} cannot be restarted; this is for {able}", Exit.USAGE
            )
    return cluster.look(args, lambda view: _restart(view, args))


async def _restart(view: View, args: argparse.Namespace) -> int:
    session, wanted = rolling.Session(view), rolling.options(args)
    look = await chosen.looked(view, args, session.clock, session.journal)
    now, seen = session.clock.now(), {}
    works = []
    for key, listed in look.workloads.items():
        seen[key] = _seen(look, listed, await look.decide(key))
        if stop := held(seen[key], Comparison({}), now):
            raise CommandError(f"{key} is held, nothing is restarted: {stop.message}")
        works.append(Work(listed.kind, listed.manifest, restart(seen[key], now, args.reason)))
    problems = list(view.gaps)

    async def begin(run: Run, work: Work, _: datetime) -> None:
        await look.engine.roller.carry_out(seen[work.key], work.plan)
        if report := session.journal.take(work.key):
            run.read(work, report)

    await session.carry_out(look, works, wanted, begin)
    return rolling.finish(args, works, problems, notes=look.notes)


def _seen(look: Look, listed: Listed, decision: Decision) -> Snapshot:
    """What is known of it; of one that is not opted in, nothing but itself."""
    if decision.seen is not None:
        return decision.seen
    words = look.world.dialects.words
    itself = workload(listed.kind, listed.manifest, None, words=words)
    return Snapshot(itself, listed.kind, listed.policy, (), {})
