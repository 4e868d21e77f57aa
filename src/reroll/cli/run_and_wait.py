"""What commands share that roll: flags, a run that is shown, what came of it, and the exit code."""

import argparse
import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from reroll.cli import junit
from reroll.cli.errors import CommandError, Exit
from reroll.cli.output import print_json, print_table, warn
from reroll.cli.progress import Progress, progress, told
from reroll.cli.targets import duration
from reroll.clock import SystemClock
from reroll.controller.events import Recorder
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.listing import Look
from reroll.engine.strategies.jobs import JOBS
from reroll.kube.errors import Forbidden
from reroll.kube.view import View
from reroll.pipeline import unfinished_jobs
from reroll.pipeline.run import NOT_LOST, Begin, Run
from reroll.pipeline.work import Journal, Options, Outcome, Work

EXITS = (
    "exit codes: 0 rolled, or nothing to do (with --exit-code: 4); 1 failed, held by a missing\n"
    "source, or not all could be seen; 2 wrong usage; 5 rolled back; 6 timed out; 130 Ctrl-C"
)
DELAYED = frozenset(reason.word for reason in Reason if reason.deliberate)
"""What people asked for: no failure."""
EVENTS_WITHIN = 5.0
_TAKEN_UP = "it was being made anew when this run began"


def add_flags(parser: argparse.ArgumentParser, *, wait: bool) -> None:
    group = parser.add_argument_group("rollout")
    if wait:
        group.add_argument("--wait", action="store_true", help="wait until new pods are ready")
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
        help="rollouts under way at once; needs --wait (default: all)",
    )
    group.add_argument(
        "--rollback-on-failure",
        action="store_true",
        help="if one fails, go back to the revision before with all that this run rolled",
    )
    group.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    group.add_argument(
        "--exit-code", action="store_true", help="end with 4 if there was nothing to do"
    )


def options(args: argparse.Namespace) -> Options:
    wait = getattr(args, "wait", True)
    for flag, given in (
        ("--rollback-on-failure", args.rollback_on_failure),
        ("--max-parallel", args.max_parallel),
    ):
        if given and not wait:
            raise CommandError(f"{flag} needs --wait", Exit.USAGE)
    if args.max_parallel < 0:
        raise CommandError("--max-parallel: give it at least 1", Exit.USAGE)
    seconds = duration("--timeout", args.timeout).total_seconds()
    return Options(wait, seconds, args.max_parallel, args.rollback_on_failure)


class Session:
    """A run with its clock, its journal, and Events that are sent behind it."""

    def __init__(self, view: View) -> None:
        # The engine's log lines are for the controller: here reports tell the same.
        logging.getLogger("reroll").addHandler(logging.NullHandler())
        self.view = view
        self.clock = SystemClock()
        self._look: Look | None = None
        self.recorder = Recorder(
            view.client,
            self.clock,
            f"reroll-{socket.gethostname()}",
            identify=self._identify,
            on_drop=self._drop,
        )
        self.journal = Journal(self.recorder.record)
        self._dropped = False

    async def carry_out(
        self, look: Look, works: list[Work], wanted: Options, begin: Begin | None = None
    ) -> None:
        """Roll these, and show how that goes.

        Without `begin`, also Jobs that an earlier run was making anew when it was stopped: those
        that are gone are added to the others.
        """
        self._look = look
        if begin is None:
            await self._take_up(look, works)
        with progress(self.clock) as shown:
            run = Run(
                self.view.client,
                self.clock,
                look,
                self.journal,
                wanted,
                begin=begin,
                show=shown.show,
                note=shown.note,
            )
            try:
                await self._beside(look, works, lambda: run.all(works))
            except asyncio.CancelledError:
                _interrupted(shown, works)
                raise
        if self._dropped:
            self.view.gaps.append(
                "not every Event could be written; grant `create` on events to have them"
            )

    async def _take_up(self, look: Look, works: list[Work]) -> None:
        row, known = look.engine.kinds.get(JOBS.kind), {work.key: work for work in works}
        with suppress(Forbidden):  # Who may not look can have left none.
            for key, job in (
                await unfinished_jobs.find(self.view.client, self.view.namespace)
            ).items():
                if row is None or look.world.namespaces.that_counts(key.namespace) is None:
                    continue
                if (one := known.get(key)) is None:
                    one = Work(row, job, Plan(Reason.CONTINUED, _TAKEN_UP))
                    works.append(one)
                one.kept = True

    async def _beside(
        self, look: Look, works: Sequence[Work], act: Callable[[], Awaitable[None]]
    ) -> None:
        tasks = [asyncio.create_task(self.recorder.run())]
        if any(work.kept or work.plan.roll is Strategy.RECREATE for work in works):
            tasks.append(asyncio.create_task(look.engine.jobs.run((self.view.namespace,))))
        try:
            await act()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVENTS_WITHIN):
                    await self.recorder.flush()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _drop(self) -> None:
        self._dropped = True

    def _identify(self, source: Key) -> tuple[str, str]:
        return self._look.world.sources.identity(source) if self._look else ("v1", "")


def _interrupted(shown: Progress, works: Sequence[Work]) -> None:
    for work in works:
        if work.kept:
            shown.note(f"{work.key} is being made anew: {NOT_LOST}")
        elif work.outcome is Outcome.ROLLING:
            shown.note(f"{work.key} goes on in the cluster: {told(work)}")
    left = sum(work.outcome is Outcome.PENDING and not work.kept for work in works)
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
    counted = Counter(work.outcome.value for work in works)
    if args.output == "json":
        print_json(
            {
                "result": _result(works),
                "workloads": [facts(work) for work in works],
                "problems": [*problems, *notes],
            }
        )
    else:
        rows = [_row(work) for work in works if work.outcome is not Outcome.NOTHING]
        print_table(("WORKLOAD", "RESULT", "REASON", "DETAIL"), rows)
        print(", ".join(f"{n} {word}" for word, n in counted.items()) or "no workloads here")
    warn([*notes, *problems, *_verdict(code, works, args.timeout)])
    if code is Exit.OK and args.exit_code and _result(works) == Outcome.NOTHING.value:
        return Exit.NOTHING
    return code


def _verdict(code: Exit, works: Sequence[Work], time: str) -> list[str]:
    """What a person has to know who sees only the end of it."""
    if code is Exit.OK:
        return []
    late = [work for work in works if work.outcome is Outcome.TIMED_OUT]
    groups = {
        "failed": [work for work in works if work.outcome is Outcome.FAILED],
        f"not over within {time}, and goes on in the cluster": [w for w in late if w.goes_on],
        f"not over within {time}; run it again to go on": [w for w in late if not w.goes_on],
        "a rollout failed; back at the revision before": [
            work for work in works if work.outcome is Outcome.UNDONE
        ],
    }
    return [
        f"{what}: {', '.join(str(w.key) for w in found)}" for what, found in groups.items() if found
    ]


def exit_code(works: Sequence[Work], problems: Sequence[str] = ()) -> Exit:
    outcomes = {work.outcome for work in works}
    blocked = any(w.outcome is Outcome.HELD and w.reason not in DELAYED for w in works)
    if Outcome.FAILED in outcomes:
        return Exit.FAILED
    if Outcome.TIMED_OUT in outcomes:
        return Exit.TIMED_OUT
    if Outcome.UNDONE in outcomes:
        return Exit.ROLLED_BACK
    return Exit.FAILED if blocked or problems else Exit.OK


def _result(works: Sequence[Work]) -> str:
    """The run in one word: the worst of it, or else what was done."""
    order = (
        Outcome.FAILED, Outcome.TIMED_OUT, Outcome.UNDONE, Outcome.HELD, Outcome.ROLLED,
        Outcome.RECORDED, Outcome.PENDING,
    )  # fmt: skip
    outcomes = {work.outcome for work in works}
    return next((one.value for one in order if one in outcomes), Outcome.NOTHING.value)


def _row(work: Work) -> tuple[str, str, str, str]:
    return str(work.key), work.outcome.value, work.reason, work.detail or work.message


def facts(work: Work) -> dict[str, Any]:
    health = work.health
    return {
        **work.key._asdict(),
        "result": work.outcome.value,
        "reason": work.reason,
        "message": work.message,
        "detail": work.detail,
        "failedAs": work.failed_as.value if work.failed_as else "",
        "seconds": round(work.seconds, 3),
        "pods": {"updated": health.updated, "ready": health.ready, "total": health.total}
        if health
        else None,
    }
