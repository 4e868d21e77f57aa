"""`reroll restart`: the honest `kubectl rollout restart`, with a reason and the same waiting."""

import argparse
from contextlib import suppress
from datetime import datetime

import msgspec

from reroll.cli import cluster, run_and_wait, select
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag
from reroll.cli.targets import workload_target
from reroll.controller.report import Result
from reroll.core.decide.chains import restart
from reroll.core.decide.permission import held
from reroll.core.model.marks import written
from reroll.core.model.metadata import Manifest, text_at
from reroll.core.observe.snapshot import Comparison, Snapshot
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.write.patches import RESTARTED_AT
from reroll.engine.content import Stub
from reroll.engine.engine import NAMESPACES
from reroll.engine.executor import report
from reroll.engine.listing import Look
from reroll.kube import wire
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.view import View
from reroll.pipeline.run import Run
from reroll.pipeline.work import Work

_stub = msgspec.json.Decoder(Stub)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Replace the pods of workloads, opted in or not, as `kubectl rollout restart` does, and\n"
        "wait for it. The reason stands in an Event. What changed meanwhile counts as rolled, so\n"
        "nothing restarts twice.\n\n"
        '  reroll restart -n shop deployment/web --reason "rotate connections"\n'
        "  reroll restart -n shop deployment/web sts/db --max-parallel 1 --rollback-on-failure\n\n"
        f"{run_and_wait.EXITS}"
    )
    parser.add_argument("workloads", nargs="+", metavar="KIND/NAME", help="what to restart")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; told in an Event")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the new pods")
    run_and_wait.add_flags(parser, wait=False)
    add_output_flag(parser)
    select.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    args.wait = not args.no_wait
    run_and_wait.options(args)
    tables = select.tables_of(args)
    for kind, name in (workload_target(text, tables) for text in args.workloads):
        if Strategy.RESTART not in kind.strategies:
            able = ", ".join(k.name for k in tables.kinds if Strategy.RESTART in k.strategies)
            raise CommandError(
                f"{kind.name} {name} cannot be restarted; this is for {able}", Exit.USAGE
            )
    return cluster.look(args, lambda view: _restart(view, args))


async def _restart(view: View, args: argparse.Namespace) -> int:
    session, wanted = run_and_wait.Session(view), run_and_wait.options(args)
    look = await select.looked(view, args, session.clock, session.journal)
    works = []
    for key, listed in look.workloads.items():
        now, seen = session.clock.now(), await _seen(look, listed.kind, listed.manifest)
        if stop := held(seen, Comparison({}), now):
            raise CommandError(f"{key} is held, nothing is restarted: {stop.message}")
        works.append(Work(listed.kind, listed.manifest, restart(seen, now, args.reason)))
    problems = list(view.gaps)

    async def begin(run: Run, work: Work, deadline: datetime) -> None:
        now = session.clock.now()
        await run.until_written(work, deadline, lambda: again(run, work, now))

    async def again(run: Run, work: Work, now: datetime) -> None:
        """Decide anew: it may have waited for its turn. `now` is the same for every try."""
        manifest = await _read(view, look, work)
        if _is_restarted(work, manifest, now):
            itself = workload(work.kind, manifest, None, words=look.world.dialects.words)
            session.journal.tell(report(work.kind, itself, work.plan, Result.DONE))
            return
        await run.read_up(work)
        seen = await _seen(look, work.kind, manifest)
        if stop := held(seen, Comparison({}), session.clock.now()):
            session.journal.tell(report(work.kind, seen.workload, stop, Result.HELD))
            return
        work.before, work.plan = manifest, restart(seen, now, args.reason)
        await look.engine.roller.carry_out(seen, work.plan)

    await session.carry_out(look, works, wanted, begin)
    return run_and_wait.finish(args, works, problems, notes=look.notes)


async def _read(view: View, look: Look, work: Work) -> Manifest:
    """The workload as it is now; and what its Namespace says, if that may be read."""
    request = wire.get(NAMESPACES, None, work.key.namespace, metadata_only=True)
    with suppress(Forbidden):
        look.world.namespaces.seen(_stub.decode(await view.client.send(request)).metadata)
    manifest = await look.engine.reader.workload(work.kind, work.key)
    if manifest is None:
        raise NotFound(f"{work.key} was deleted")
    return manifest


def _is_restarted(work: Work, manifest: Manifest, at: datetime) -> bool:
    """Whether it was done, and only the answer was lost."""
    path = work.kind.template
    mark = (*path, "metadata", "annotations", RESTARTED_AT)
    return bool(path) and text_at(manifest, mark) == written(at)


async def _seen(look: Look, kind: Kind, manifest: Manifest) -> Snapshot:
    """What is known of it; of one that is not opted in, nothing but itself."""
    itself = workload(kind, manifest, None, words=look.world.dialects.words)
    decision = await look.decide(itself.key)
    return decision.seen or Snapshot(itself, kind, look.world.policy_of(kind, manifest), (), {})
