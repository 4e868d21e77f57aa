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
from reroll.core.observe.compare import compare
from reroll.core.observe.health import State
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.listing import Look
from reroll.engine.strategies.go_back import NoWayBackError, undo
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.pipeline import pods, unfinished_jobs
from reroll.pipeline.follow import PASSING, POLL, Follow, template
from reroll.pipeline.work import Journal, Options, Outcome, Work

_WAITED_FOR = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.EVICT, Strategy.RELOAD)
)
TIDY_WITHIN = timedelta(seconds=10)
NOT_LOST = "it is written down, and the next `reroll sync` or a controller goes on"
Begin = Callable[["Run", Work, datetime], Awaitable[None]]
Act = Callable[[], Awaitable[float | None]]
"""One try; the seconds until the next is worth it, if one is."""


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
        """Look at it as the controller does; a Job that is to be made anew is waited for."""
        while True:
            if not work.kept:
                told = await self.until_written(work, deadline, lambda: self._look_at(work))
                if told or not self._is_taken(work):
                    return
            if not await self._made_anew(work, deadline):
                return

    async def until_written(self, work: Work, deadline: datetime, act: Act) -> bool:
        """Act until the roll is written, or held; whether anything was told of it."""
        roller, problem = self._look.engine.roller, ""
        while True:
            delay: float | None
            try:
                delay = await act()
            except ApiError as error:
                delay = roller.failed(work.key, error)
                if not isinstance(error, PASSING):
                    told = "it was deleted" if isinstance(error, NotFound) else str(error)
                    self._follow.change(work, Outcome.FAILED, told)
                    return True
                self._journal.take(work.key)
                self._follow.met(error)
                problem = f": {error}"
            report = self._journal.take(work.key)
            if report is not None:
                self.read(work, report)
            if delay is None or (work.outcome is Outcome.HELD and work.began is None):
                return report is not None
            if not await self._follow.sleep(delay, deadline):
                detail = work.detail or f"the roll is not written yet{problem}"
                self._follow.change(work, Outcome.TIMED_OUT, detail)
                return True

    async def _look_at(self, work: Work) -> float | None:
        await self.read_up(work)
        return await self._look.engine.roller.look(work.key)

    async def read_up(self, work: Work) -> None:
        """Sources that its template names only since it was seen anew."""
        world, reader = self._look.world, self._look.engine.reader
        await reader.catch_up()
        # What failed the last time, or what another workload of this run is about to read.
        if seen := world.snapshot(work.key, work.kind):
            unread = [ref.source for ref in compare(seen).unread if ref.source in world.sources]
            await reader.confirm(unread)

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

    def _is_taken(self, work: Work) -> bool:
        """Whether nothing is told of it because it is being made anew."""
        return Strategy.RECREATE in work.kind.strategies and work.key in self._look.world.workloads

    async def _made_anew(self, work: Work, deadline: datetime) -> bool:
        """Wait until a Job is not written down any more; whether it is worth looking at."""
        work.kept, over = True, False
        self._follow.change(work, Outcome.ROLLING, "it is being made anew")
        while True:
            report = await self._next(work)
            if over or (report is not None and report.result is Result.DONE):
                break
            try:
                over = work.key not in await unfinished_jobs.find(self._client, work.key.namespace)
            except (Forbidden, *PASSING) as error:
                self._follow.met(error)  # Its report tells too.
            if report is not None:
                self._follow.change(work, Outcome.ROLLING, report.message)
            if not over and not await self._follow.sleep(0.0, deadline):
                self._follow.change(work, Outcome.TIMED_OUT, f"{work.detail}; {NOT_LOST}")
                return False
        work.kept = False
        if (made := await self._follow.fetch(work, deadline)) is None:
            return False
        if made.metadata.uid != work.before.metadata.uid:
            self._look.world.workload_gone(work.key)
            work.began, work.before = self._clock.now(), made
            self._follow.change(work, Outcome.ROLLED, "")
        self._look.world.workload_seen(work.kind, made)
        if report is not None:
            self.read(work, report)
        return True

    async def _next(self, work: Work) -> Report | None:
        """What is told of it next, unless that takes long."""
        try:
            async with asyncio.timeout(POLL):
                return await self._journal.wait(work.key)
        except TimeoutError:
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
        failed, detail = work.outcome, work.detail
        deadline = self._clock.now() + timedelta(seconds=self._options.timeout)
        try:
            if not await self._undo(work, deadline):
                return
        except NoWayBackError as error:
            self._follow.change(work, failed, _joined(detail, f"not rolled back: {error}"))
            return
        except ApiError as error:
            self._follow.change(work, Outcome.FAILED, f"not rolled back: {error}")
            return
        work.failed_as = failed if failed is not Outcome.ROLLED else None
        self._follow.change(work, Outcome.UNDONE, detail)
        self._journal.tell(_undone(work, self._look))
        try:
            await self._recover(work, deadline)
        except ApiError as error:
            self._follow.change(work, work.outcome, _joined(detail, str(error)))

    async def _undo(self, work: Work, deadline: datetime) -> bool:
        """Whether its template is that of before; what may pass is tried again."""
        before, failed, problem = template(work, work.before), work.outcome, None
        while (made := await self._follow.fetch(work, deadline)) is not None:
            now = template(work, made)
            if problem is not None and now == before:
                # It was done, and the answer was lost.
                self._look.world.workload_seen(work.kind, made)
                return True
            try:
                await undo(self._client, self._clock, self._look, work, now)
            except PASSING as error:
                problem = error
            else:
                return True
            self._follow.change(work, failed, f"not rolled back yet: {problem}")
            if not await self._follow.sleep(max(POLL, problem.retry_after or 0.0), deadline):
                raise problem
        return False

    async def _recover(self, work: Work, deadline: datetime) -> None:
        """Until its pods are there again; what is in their way is told with the workload."""
        detail = work.detail
        while (found := await self._follow.health(work, deadline)) is not None:
            work.health, over = found, found.state is not State.GOES_ON
            self._follow.change(work, work.outcome, detail if over else work.detail)
            if over:
                return
            if work.kind.sticks and (manifest := await self._follow.fetch(work, deadline)):
                stays = await pods.unstick(self._client, self._follow.workload(work), manifest)
                self._follow.change(work, work.outcome, _joined(detail, stays))
            if not await self._follow.sleep(POLL, deadline):
                self._note(f"{work.key} was rolled back, and its pods are not all ready yet")
                return


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


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
