"""What commands share that roll: flags, a run that is shown, what came of it, and the exit code."""

import argparse
import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from reroll.cli import junit
from reroll.cli.errors import CommandError, Exit
from reroll.cli.progress import Progress, described, progress
from reroll.cli.show import Answer, Place, Table, show, target
from reroll.cli.targets import duration
from reroll.clock import Clock
from reroll.controller.events import Recorder
from reroll.core.decide.actions import RecreateJob
from reroll.core.decide.plan import Plan
from reroll.core.model.names import counted
from reroll.core.tables.reasons import Reason
from reroll.engine.listing import Listing
from reroll.engine.strategies import pending_jobs
from reroll.kube.errors import Forbidden
from reroll.kube.view import View
from reroll.pipeline.follow import Hooks
from reroll.pipeline.run import NOT_LOST, Begin, Run
from reroll.pipeline.work import Options, Stage, Work

EXITS = (
    "exit codes: 0 rolled, or nothing to do (4 with --exit-code); 1 failed, declined after an "
    "earlier failure, held by a missing source, or not everything could be read; 2 wrong usage; "
    "5 rolled back; 6 timed out; 130 Ctrl-C"
)
EVENTS_WITHIN = 5.0
_TAKEN_UP = "it was being recreated when this run began"


def add_flags(parser: argparse.ArgumentParser, *, wait: bool) -> None:
    group = parser.add_argument_group("rollout")
    if wait:
        group.add_argument(
            "--wait",
            action="store_true",
            help="wait until every workload is complete and ready, even if it did not roll",
        )
    group.add_argument(
        "--timeout",
        default="5m",
        metavar="5m",
        help="how long each workload may take (default: 5m)",
    )
    group.add_argument(
        "--max-parallel",
        type=int,
        default=0,
        metavar="N",
        help="at most N rollouts at once; needs --wait (default: all)",
    )
    group.add_argument(
        "--rollback-on-failure",
        action="store_true",
        help="if a rollout fails, roll back everything that rolled for the same change",
    )
    group.add_argument(
        "--fail-fast",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fail as soon as a new pod is in a crash loop (default), not only when the time is up",
    )
    group.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    group.add_argument(
        "--exit-code", action="store_true", help="exit with 4 if there was nothing to do"
    )


def options(args: argparse.Namespace, *, wait: bool) -> Options:
    for flag, given in (
        ("--rollback-on-failure", args.rollback_on_failure),
        ("--max-parallel", args.max_parallel),
    ):
        if given and not wait:
            raise CommandError(f"{flag} needs --wait", Exit.USAGE)
    if args.max_parallel < 0:
        raise CommandError("--max-parallel: give it at least 1", Exit.USAGE)
    seconds = duration("--timeout", args.timeout).total_seconds()
    undo, fail_fast = args.rollback_on_failure, args.fail_fast
    return Options(wait, seconds, args.max_parallel, undo, fail_fast)


class Session:
    """A run that is shown, with Events that are sent behind it."""

    def __init__(self, view: View, clock: Clock, listing: Listing, options: Options) -> None:
        # The engine's log lines are for the controller: here reports say the same.
        logging.getLogger("reroll").addHandler(logging.NullHandler())
        self._view, self._clock, self._listing = view, clock, listing
        self._recorder = Recorder(
            view.client,
            clock,
            f"reroll-{socket.gethostname()}",
            identify=listing.world.sources.identity,
            on_drop=self._drop,
        )
        self._dropped = False
        self._shown: Progress | None = None
        hooks = Hooks(
            self._recorder.record,
            lambda work: self._shown.show(work) if self._shown else None,
            lambda text: self._shown.note(text) if self._shown else None,
        )
        self.run = Run(view.client, clock, listing, options, hooks)

    async def roll(self, works: list[Work], begin: Begin | None = None) -> None:
        """Roll these, and show how that goes.

        Without `begin`, also Jobs that an earlier run was replacing when it was stopped: those that
        are gone are added to the others.
        """
        if begin is None:
            await self._take_up(works)
        with progress(self._clock) as self._shown:
            try:
                await self._beside(works, lambda: self.run.all(works, begin))
            except asyncio.CancelledError:
                _interrupted(self._shown, works)
                raise
        if self._dropped:
            self._view.gaps.append(
                "not every Event could be written: it takes the right to `create` events, and an"
                " API server that is not too busy for them"
            )

    async def _take_up(self, works: list[Work]) -> None:
        row, known = self._listing.kinds.get("Job"), {work.key: work for work in works}
        namespaces = self._listing.world.namespaces
        with suppress(Forbidden):  # Who may not list them can have left none.
            jobs = await pending_jobs.find(self._view.client, self._view.namespace)
            for key, job in jobs.items():
                if row is None or namespaces.that_counts(key.namespace) is None:
                    continue
                if not self._listing.chosen(row, job):
                    continue
                if (work := known.get(key)) is None:
                    work = Work(row, job, Plan(Reason.CONTINUED, _TAKEN_UP))
                    works.append(work)
                work.is_pending_job = True
                self.run.executor.strategies.jobs.take_up(key)

    async def _beside(self, works: Sequence[Work], act: Callable[[], Awaitable[None]]) -> None:
        tasks = [asyncio.create_task(self._recorder.run())]
        if any(work.is_pending_job or work.plan.has(RecreateJob) for work in works):
            tasks.append(asyncio.create_task(self.run.replace_jobs()))
        try:
            await act()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVENTS_WITHIN):
                    await self._recorder.flush()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _drop(self) -> None:
        self._dropped = True


def _interrupted(shown: Progress, works: Sequence[Work]) -> None:
    for work in works:
        if work.is_pending_job:
            shown.note(f"{work.key} is being recreated: {NOT_LOST}")
        elif work.stage is Stage.ROLLING:
            shown.note(f"{work.key} goes on in the cluster: {described(work)}")
    left = sum(work.stage is Stage.PENDING and not work.is_pending_job for work in works)
    if left:
        shown.note(f"not begun: {left} of {len(works)} workloads")


# What is shown


def finish(
    args: argparse.Namespace,
    works: Sequence[Work],
    problems: Sequence[str],
    *,
    notes: Sequence[str] = (),
) -> int:
    """Tell what came of a run; its exit code."""
    if args.junit:
        junit.write(args.junit, args.command, works)
    code = exit_code(works, problems)
    shown = [work for work in works if work.stage is not Stage.NOTHING]
    place = Place.of((work.key for work in shown), everywhere=args.all_namespaces)
    columns = (*place.columns, "RESULT", "REASON", "READY", "SECONDS", "DETAIL")
    rows = [(*place.cells(work.key), *_cells(work)) for work in shown]
    reads = [work.reads for work in works if work.reads]
    answer = Answer(
        document={
            "result": _result(works),
            "workloads": [facts(work) for work in works],
            "problems": [*problems, *notes],
        },
        text=[
            Table(columns, rows, wide={"READY", "SECONDS"}),
            summary(work.stage for work in works),
        ],
        names=[target(work.key) for work in shown],
        warnings=[*notes, *problems, *_verdict(code, works, args.timeout), *reads],
        code=code,
    )
    show(args.output, answer)
    if code is Exit.OK and args.exit_code and _result(works) == Stage.NOTHING.value:
        return Exit.NOTHING
    return code


def summary(stages: Iterable[Stage]) -> str:
    """`2 workloads rolled`, or `3 workloads: 2 rolled, 1 unchanged`."""
    counts = Counter("unchanged" if one is Stage.NOTHING else one.value for one in stages)
    if not counts:
        return "no workloads here"
    every = counted(counts.total(), "workload")
    if len(counts) == 1:
        return f"{every} {next(iter(counts))}"
    return f"{every}: " + ", ".join(f"{number} {word}" for word, number in counts.items())


def _verdict(code: Exit, works: Sequence[Work], time: str) -> list[str]:
    """What a person has to know who sees only the end of it."""
    if code is Exit.OK:
        return []
    late = [work for work in works if work.stage is Stage.TIMED_OUT]
    groups = {
        "failed": [work for work in works if work.stage is Stage.FAILED],
        f"not over within {time}, and goes on in the cluster": [w for w in late if w.goes_on],
        f"not over within {time}; run it again to go on": [w for w in late if not w.goes_on],
        "a rollout failed; back at the revision before": [
            work for work in works if work.stage is Stage.UNDONE
        ],
        "taken back by an earlier run or a person, and its sources were not changed since": [
            work for work in works if work.stage is Stage.DECLINED
        ],
    }
    return [
        f"{what}: {', '.join(str(w.key) for w in found)}" for what, found in groups.items() if found
    ]


def exit_code(works: Sequence[Work], problems: Sequence[str] = ()) -> Exit:
    stages = {work.stage for work in works}
    blocked = any(w.stage is Stage.HELD and not w.reason.deliberate for w in works)
    if Stage.FAILED in stages:
        return Exit.FAILED
    if Stage.TIMED_OUT in stages:
        return Exit.TIMED_OUT
    if Stage.UNDONE in stages:
        return Exit.ROLLED_BACK
    is_bad = blocked or Stage.DECLINED in stages or bool(problems)
    return Exit.FAILED if is_bad else Exit.OK


def _result(works: Sequence[Work]) -> str:
    """The run in one word: the worst of it, or else what was done."""
    order = (
        Stage.FAILED, Stage.TIMED_OUT, Stage.UNDONE, Stage.DECLINED, Stage.HELD, Stage.ROLLED,
        Stage.RECORDED, Stage.PENDING,
    )  # fmt: skip
    stages = {work.stage for work in works}
    return next((one.value for one in order if one in stages), Stage.NOTHING.value)


def _cells(work: Work) -> tuple[str, ...]:
    ready = f"{work.health.ready}/{work.health.total}" if work.health else "-"
    seconds = f"{work.seconds:.0f}" if work.seconds else "-"
    return work.stage.value, work.reason.word, ready, seconds, work.detail or work.message


def facts(work: Work) -> dict[str, Any]:
    health = work.health
    return {
        **work.key._asdict(),
        "result": work.stage.value,
        "reason": work.reason.word,
        "message": work.message,
        "detail": work.detail,
        "failedAs": work.failed_as.value if work.failed_as else "",
        "newPodsRead": work.reads,
        "seconds": round(work.seconds, 3),
        "pods": {"updated": health.updated, "ready": health.ready, "total": health.total}
        if health
        else None,
    }
