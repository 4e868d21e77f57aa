"""Roll the workloads of one run, wait for each, and go back if one of them fails.

Rolls are the engine's own: same decisions, same guards, same patches. Each workload has its own
time; whatever the API server answers meanwhile is tried again until that is over. After the first
failure nothing more is begun.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from reroll.clock import Clock
from reroll.controller.report import Report, Result
from reroll.core.health import State
from reroll.core.kinds import Strategy
from reroll.core.reasons import Reason
from reroll.features.look.look import Look
from reroll.features.sync import pods
from reroll.features.sync.follow import PASSING, POLL, Follow, template
from reroll.features.sync.undo import NoWayBackError, undo
from reroll.features.sync.work import Journal, Options, Outcome, Work
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound

_WAITED_FOR = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.EVICT, Strategy.RELOAD)
)
TIDY_WITHIN = timedelta(seconds=10)
Begin = Callable[["Run", Work, datetime], Awaitable[None]]


class Run:
    """`begin(run, work, deadline)` makes a workload roll, and says what came of it in `work`.

    `show` is called whenever something changed about a workload; `note` with a sentence.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        look: Look,
        journal: Journal,
        options: Options,
        *,
        begin: Begin | None = None,
        show: Callable[[Work], None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client, self._clock, self._look, self._journal = client, clock, look, journal
        self._options, self._note = options, note
        self._follow = Follow(client, clock, look, options, show, note)
        self._begin: Begin = begin or Run._sync
        self._broken = False

    async def all(self, works: Iterable[Work]) -> None:
        """Carry out a run; `Work.outcome` tells what came of each."""
        mine = list(works)
        slots = asyncio.Semaphore(self._options.max_parallel or max(1, len(mine)))

        async def one(work: Work) -> None:
            async with slots:
                await self._one(work)

        async with asyncio.TaskGroup() as group:
            for work in mine:
                group.create_task(one(work))
        if self._options.undo and any(work.has_failed for work in mine):
            await asyncio.gather(*(self._go_back(work) for work in mine if work.began))

    async def _one(self, work: Work) -> None:
        if self._broken:
            self._follow.change(work, Outcome.LEFT, "another workload failed before its turn")
            return
        now = self._clock.now()
        deadline = now + timedelta(seconds=self._options.timeout)
        try:
            await self._begin(self, work, deadline)
            if work.outcome is Outcome.ROLLING:
                await self._follow.follow(work, deadline)
                await self._tidy(work, deadline)
            elif self._options.wait and work.outcome in {Outcome.NOTHING, Outcome.RECORDED}:
                await self._follow.join(work, deadline)
        except ApiError as error:
            self._follow.change(work, Outcome.FAILED, str(error))
        self._broken |= work.has_failed

    # Rolling

    async def _sync(self, work: Work, deadline: datetime) -> None:
        """Look at it as the controller does, until the roll is written, or held."""
        roller = self._look.engine.roller
        while True:
            delay: float | None
            try:
                delay = await roller.look(work.key)
            except ApiError as error:
                delay = roller.failed(work.key, error)
                if not isinstance(error, PASSING):
                    told = "it was deleted" if isinstance(error, NotFound) else str(error)
                    self._follow.change(work, Outcome.FAILED, told)
                    return
                self._journal.take(work.key)
                self._follow.met(error)
            report = self._journal.take(work.key)
            if delay is None and report is None and work.plan.roll is Strategy.RECREATE:
                report = await self._made_anew(work, deadline)
            if report is not None:
                self.read(work, report)
            if delay is None or (work.outcome is Outcome.HELD and work.began is None):
                return
            if not await self._follow.sleep(delay, deadline):
                self._follow.change(
                    work, Outcome.TIMED_OUT, work.detail or "the roll is not written yet"
                )
                return

    async def _tidy(self, work: Work, deadline: datetime) -> None:
        """Copies that its template no longer names belong to the revisions that do."""
        pinning = self._look.engine.roller.pinning
        deadline = min(deadline, self._clock.now() + TIDY_WITHIN)
        while pinning is not None:
            seen = self._look.world.snapshot(work.key, work.kind)
            if seen is None or not seen.workload.pins or work.has_failed:
                return
            if seen.workload.observed:
                with suppress(ApiError):  # The next run sees that it is still to be done.
                    await pinning.tidy(seen)
                return
            if not await self._follow.sleep(POLL, deadline):
                return
            if manifest := await self._follow.fetch(work, deadline):
                self._look.world.workload_seen(work.kind, manifest)

    async def _made_anew(self, work: Work, deadline: datetime) -> Report | None:
        left = (deadline - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(left):
                return await self._journal.wait(work.key)
        except TimeoutError:
            self._follow.change(work, Outcome.TIMED_OUT, "the Job is not there again yet")
            return None

    def read(self, work: Work, report: Report) -> None:
        """What a report says about a workload of this run."""
        if report.rolled and report.result is Result.DONE:
            work.began, work.reason = self._clock.now(), report.reason.word
            work.message = report.message
            strategy = Strategy(report.strategy)
            waits = strategy in _WAITED_FOR and work.plan.pause is None
            passes = strategy in {Strategy.NEXT_RUN, Strategy.NOTIFY}
            done = Outcome.RECORDED if passes else Outcome.ROLLED
            self._follow.change(work, Outcome.ROLLING if waits else done, _effect(strategy))
        elif work.began is not None:
            held = report.result is Result.HELD
            self._follow.change(work, work.outcome, report.message if held else "")
        elif report.result is Result.DONE:
            work.reason = report.reason.word
            self._follow.change(work, Outcome.RECORDED, report.message)
        elif report.result is Result.HELD:
            work.reason = report.reason.word
            self._follow.change(work, Outcome.HELD, report.message)
        elif report.result is Result.NOTHING:
            work.reason = report.reason.word
            self._follow.change(work, Outcome.NOTHING, report.message)

    # Going back

    async def _go_back(self, work: Work) -> None:
        """To the template before this run, and until its pods are there again."""
        failed = work.outcome
        deadline = self._clock.now() + timedelta(seconds=self._options.timeout)
        made = await self._follow.fetch(work, deadline)
        if made is None:
            return
        try:
            await undo(self._client, self._clock, self._look, work, template(work, made))
        except NoWayBackError as error:
            self._follow.change(
                work, failed, f"{work.detail}; not rolled back: {error}".lstrip("; ")
            )
            return
        except ApiError as error:
            self._follow.change(work, Outcome.FAILED, f"not rolled back: {error}")
            return
        work.failed_as = failed if failed is not Outcome.ROLLED else None
        self._journal.tell(_undone(work, self._look))
        self._follow.change(work, Outcome.UNDONE, work.detail)
        await self._recover(work, deadline)

    async def _recover(self, work: Work, deadline: datetime) -> None:
        while (found := await self._follow.health(work, deadline)) is not None:
            work.health = found
            self._follow.change(work, work.outcome, work.detail)
            if found.state is not State.GOES_ON:
                return
            if work.kind.sticks and (manifest := await self._follow.fetch(work, deadline)):
                await pods.unstick(self._client, self._follow.workload(work), manifest)
            if not await self._follow.sleep(POLL, deadline):
                self._note(f"{work.key} was rolled back, and its pods are not all ready yet")
                return


def _effect(strategy: Strategy) -> str:
    match strategy:
        case Strategy.NEXT_RUN:
            return "its next run has the new configuration"
        case Strategy.NOTIFY:
            return "people are told, nothing is replaced"
        case Strategy.TRIGGER:
            return "a Job was started"
    return ""


def _undone(work: Work, look: Look) -> Report:
    tracked = look.world.workloads.get(work.key)
    return Report(
        key=work.key,
        uid=tracked.workload.uid if tracked else work.before.metadata.uid,
        api_version=wire.resource_of(work.kind).api_version,
        reason=Reason.UNDONE,
        message=f"its roll was undone, because this run failed: {work.detail}",
        result=Result.DONE,
    )
