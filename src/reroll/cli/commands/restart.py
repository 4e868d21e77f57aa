"""`reroll restart`: the honest `kubectl rollout restart`, with a reason and the same waiting."""

import argparse
from contextlib import suppress
from datetime import datetime

from reroll.cli import flags, run_and_wait
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag
from reroll.cli.targets import workload_target
from reroll.clock import Clock
from reroll.controller.report import Result
from reroll.core.decide.permission import hold_of
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import restart
from reroll.core.model.key import Key
from reroll.core.model.marks import written
from reroll.core.model.metadata import Manifest, text_at
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import workload
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.write.patches import RESTARTED_AT
from reroll.engine.listing import Listed, Listing
from reroll.engine.outcome import Outcome, Turn, report_of
from reroll.kube import api, resources
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.pipeline.run import Run
from reroll.pipeline.work import Options, Work


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Replace the pods of workloads, opted in or not, as `kubectl rollout restart` does, and\n"
        "wait for it. The reason stands in an Event. What changed meanwhile counts as rolled, so\n"
        "nothing restarts twice.\n\n"
        '  reroll restart -n shop deployment/web --reason "rotate connections"\n'
        "  reroll restart -n shop deployment/web sts/db --max-parallel 1 --rollback-on-failure\n"
        '  reroll restart -n shop -l tier=web --reason "new certificates"\n\n'
        f"{run_and_wait.EXITS}"
    )
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="what to restart")
    flags.add_selector_flag(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; told in an Event")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the new pods")
    run_and_wait.add_flags(parser, wait=False)
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context, options = Context(args), run_and_wait.options(args, wait=not args.no_wait)
    if not args.workloads and not args.selector:
        raise CommandError("name workloads to restart, or select them with -l", Exit.USAGE)
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
    works = []
    for key, listed in _restartable(context, listing).items():
        snapshot = await restarts.snapshot(listed.kind, listed.manifest)
        if hold := hold_of(snapshot, clock.now()):
            raise CommandError(f"{key} is held, nothing is restarted: {hold.message}")
        works.append(Work(listed.kind, listed.manifest, restarts.plan(snapshot, clock.now())))
    problems = list(view.gaps)
    session = run_and_wait.Session(view, clock, listing, options)
    await session.roll(works, restarts.begin)
    return run_and_wait.finish(args, works, problems, notes=listing.notes)


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


class Restarts:
    def __init__(self, view: View, clock: Clock, listing: Listing, why: str) -> None:
        self._view, self._clock, self._listing, self._why = view, clock, listing, why

    def plan(self, snapshot: Snapshot, now: datetime) -> Plan:
        return restart(snapshot, now, self._why, self._listing.world.dialects)

    async def begin(self, run: Run, work: Work, deadline: datetime) -> None:
        now = self._clock.now()
        await run.until_written(work, deadline, lambda: self._attempt(run, work, now))

    async def _attempt(self, run: Run, work: Work, now: datetime) -> Outcome:
        """Decide again: it may have waited for its turn. `now` is the same for every attempt."""
        try:
            return await self._write(run, work, now)
        except ApiError as error:
            return run.executor.failed(work.key, error)

    async def _write(self, run: Run, work: Work, now: datetime) -> Outcome:
        manifest = await self._read(work)
        if _is_restarted(work, manifest, now):
            snapshot = self._bare(work.kind, manifest)
            return Outcome((report_of(Turn(snapshot, work.plan), Result.DONE),))
        await run.read_up(work)
        snapshot = await self.snapshot(work.kind, manifest)
        if hold := hold_of(snapshot, self._clock.now()):
            return Outcome((report_of(Turn(snapshot, hold), Result.HELD),))
        work.replan(manifest, self.plan(snapshot, now))
        return await run.executor.execute(snapshot, work.plan)

    async def _read(self, work: Work) -> Manifest:
        """The workload as it is now; and what its Namespace says, if that may be read."""
        with suppress(Forbidden):
            place = resources.NAMESPACES, None, work.key.namespace
            stub = await api.get(self._view.client, *place, Stub)
            self._listing.world.namespaces.observe(stub.metadata)
        manifest = await self._listing.observer.reader.workload(work.kind, work.key)
        if manifest is None:
            raise NotFound(f"{work.key} was deleted")
        return manifest

    async def snapshot(self, kind: Kind, manifest: Manifest) -> Snapshot:
        """What is known of a workload; of one that is not opted in, nothing but itself."""
        bare = self._bare(kind, manifest)
        return (await self._listing.decide(bare.workload.key)).snapshot or bare

    def _bare(self, kind: Kind, manifest: Manifest) -> Snapshot:
        world = self._listing.world
        itself = workload(kind, manifest, None, words=world.dialects.words)
        return Snapshot(itself, kind, world.policy_of(kind, manifest), (), {})


def _is_restarted(work: Work, manifest: Manifest, at: datetime) -> bool:
    """Whether it was done, and only the answer was lost."""
    path = work.kind.template
    mark = (*path, "metadata", "annotations", RESTARTED_AT)
    return bool(path) and text_at(manifest, mark) == written(at)
