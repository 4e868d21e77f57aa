"""Rolls the workloads of one run, waits for all of them, and goes back if one fails.

Decisions, guards and patches are the engine's own. Each workload has its own time; whatever the API
server answers in between is tried again until that is over. After the first failure nothing more is
begun. What has nothing to roll is waited for as well, beside the others: a run is good only if
every workload in its scope is complete and healthy. `pipeline.verdict` says when that is so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from reroll.clock import Clock
from reroll.controller.pace import Pacer
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.model.names import several
from reroll.core.observe.compare import compare
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.executor import Executor
from reroll.engine.listing import Listing
from reroll.engine.outcome import Outcome
from reroll.engine.strategies import pending_jobs
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.pipeline.follow import PASSING, POLL, Follow, Hooks
from reroll.pipeline.turns import Turns
from reroll.pipeline.undo import Undo
from reroll.pipeline.work import Options, Stage, Work

TIDY_WITHIN = timedelta(seconds=10)
_JOINED = frozenset((Stage.NOTHING, Stage.RECORDED, Stage.HELD, Stage.DECLINED))
_REASONS = {reason.word: reason for reason in Reason}
NOT_LOST = "it is stored in the cluster, and the next `reroll sync` or a controller continues"
Begin = Callable[["Run", Work, datetime], Awaitable[None]]
"""Makes a workload roll before its deadline, and says in the work what came of it."""
Act = Callable[[], Awaitable[Outcome]]
"""One attempt."""


class Run:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        listing: Listing,
        options: Options,
        hooks: Hooks,
    ) -> None:
        self._client, self._clock, self._options, self._hooks = client, clock, options, hooks
        self._observer, self._world = listing.observer, listing.world
        self.executor = Executor(client, clock, listing.observer, Pacer(clock))
        self._follow = Follow(client, clock, listing.observer, options, hooks)
        self._undo = Undo(client, clock, listing.observer, self.executor, self._follow, hooks)
        self._job_reports: dict[Key, asyncio.Queue[Report]] = {}
        self.problems: dict[str, Problem] = {}
        """Bad input that reports named, by its sentence."""
        self._broken = False
        self._turns = Turns(listing.observer, self._follow, self._reconcile, self.publish)

    async def all(self, works: Iterable[Work], begin: Begin | None = None) -> None:
        """Carry out a run; `Work.stage` says what came of each."""
        mine, begin = list(works), begin or Run._sync
        slots = asyncio.Semaphore(self._options.max_parallel or max(1, len(mine)))

        async def one(work: Work) -> None:
            async with slots:
                await self._one(work, begin)
            while self._options.wait and await self._turns.next(work, self._deadline):
                async with slots:
                    await self._one(work, begin)
            if self._options.wait:
                await self._join(work)

        watching = asyncio.create_task(self._follow.watch(mine)) if self._options.wait else None
        try:
            async with asyncio.TaskGroup() as group:
                for work in mine:
                    group.create_task(one(work))
            if self._options.undo:
                await self._go_back(mine)
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)

    async def _one(self, work: Work, begin: Begin) -> None:
        if self._broken:
            self._follow.change(work, Stage.LEFT, "another workload failed before its turn")
            return
        deadline = self._deadline
        try:
            await begin(self, work, deadline)
            if work.stage is Stage.ROLLING:
                await self._follow.follow(work, deadline)
                await self._tidy(work, deadline)
                if self._options.wait:
                    await self._turns.settle(work, deadline)
        except ApiError as error:
            self._follow.change(work, Stage.FAILED, str(error))
        if work.is_declined and work.stage in {Stage.NOTHING, Stage.HELD}:
            work.reason = work.plan.reason
            self._follow.change(work, Stage.DECLINED, work.plan.message)
        self._broken |= work.has_failed

    async def _join(self, work: Work) -> None:
        """What this run does not roll has to be well too; how it fails stops no other roll."""
        if work.stage not in _JOINED or work.reason is Reason.ENDED:
            return
        work.is_joined = True
        try:
            await self._follow.join(work, self._deadline)
        except ApiError as error:
            self._follow.change(work, Stage.FAILED, str(error))
        if work.has_failed or work.stage is Stage.ROLLED:
            self._name_roll(work)

    def _name_roll(self, work: Work) -> None:
        """Why a rollout is under way that another process began, as far as its record tells."""
        snapshot = self._observer.snapshot(work.key)
        record = snapshot.record if snapshot else None
        if record is not None and record.why in _REASONS:
            work.reason = _REASONS[record.why]
            is_change = work.reason is Reason.CONFIG_CHANGED and record.by
            changed = f"{several(record.by or [])} changed"
            work.message = changed if is_change else work.reason.sentence

    async def _go_back(self, works: list[Work]) -> None:
        concerned = self._undo.concerned(works)
        for work in works:
            if work.is_joined and work.has_failed and work not in concerned:
                self._undo.left_alone(work)
        await asyncio.gather(*(self._undo.undo(work, self._deadline) for work in concerned))

    @property
    def _deadline(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._options.timeout)

    # Rolling

    async def _sync(self, work: Work, deadline: datetime) -> None:
        """Reconcile it as the controller does; a Job that is replaced is waited for."""
        while True:
            if not work.is_pending_job:
                reported = await self.until_written(work, deadline, lambda: self._reconcile(work))
                if reported or not self._is_replaced(work):
                    return
            if not await self._replaced(work, deadline):
                return

    async def until_written(self, work: Work, deadline: datetime, act: Act) -> bool:
        """Act until the roll is written, or held; whether anything was reported."""
        problem = ""
        while True:
            outcome = await act()
            error = outcome.error
            if error is not None and not isinstance(error, PASSING):
                detail = "it was deleted" if isinstance(error, NotFound) else str(error)
                self._follow.change(work, Stage.FAILED, detail)
                return True
            if error is not None:
                self._follow.met(error)
                problem = f": {error}"
            report = self._read(work, outcome) if error is None else None
            is_held = work.stage is Stage.HELD and work.began is None
            if outcome.delay is None or (is_held and not work.reason.of_pods):
                return report is not None
            if self._is_replacing(work) and (ill := await self._follow.crash_loop(work)):
                self._follow.change(work, Stage.FAILED, ill)
                return True
            if not await self._follow.sleep(outcome.delay, deadline):
                detail = work.detail or f"the roll is not written yet{problem}"
                self._follow.change(work, Stage.TIMED_OUT, detail)
                return True

    def _is_replacing(self, work: Work) -> bool:
        """Whether it goes from pod to pod, which the status of a workload does not tell."""
        snapshot = self._observer.snapshot(work.key)
        return bool(snapshot and snapshot.record and snapshot.record.todo)

    def _read(self, work: Work, outcome: Outcome) -> Report | None:
        """Publish what was reported, and take from it what became of the workload."""
        for each in outcome.reports:
            self.publish(each)
        report = outcome.report
        if report is not None:
            work.read(report, self._clock.now())
            self._follow.change(work, work.stage, work.detail)
        return report

    def publish(self, report: Report) -> None:
        for problem in report.problems:
            self.problems[problem.sentence] = problem
        if report.rolled or (report.reason.event and report.result is Result.DONE):
            self._hooks.publish(report)

    async def _reconcile(self, work: Work) -> Outcome:
        try:
            await self.read_up(work)
        except ApiError as error:
            return self.executor.failed(work.key, error)
        return await self.executor.reconcile(work.key)

    async def read_up(self, work: Work) -> None:
        """Read the sources that its template names only since it was last read."""
        reader = self._observer.reader
        await reader.catch_up()
        # What failed the last time, or what another workload of this run is about to read.
        if snapshot := self._observer.snapshot(work.key):
            unread = [ref.source for ref in compare(snapshot).unread]
            await reader.confirm(source for source in unread if source in self._world.sources)

    async def _tidy(self, work: Work, deadline: datetime) -> None:
        """Copies that its template no longer names belong to the revisions that do."""
        deadline = min(deadline, self._clock.now() + TIDY_WITHIN)
        while True:
            snapshot = self._observer.snapshot(work.key)
            if snapshot is None or not snapshot.workload.pins or work.has_failed:
                return
            if snapshot.workload.observed:
                with suppress(ApiError):  # The next run sees that it is still to be done.
                    await self.executor.owners.tidy(snapshot)
                return
            if not await self._follow.sleep(POLL, deadline):
                return
            await self._follow.fetch(work, deadline)

    # Jobs that are replaced

    async def replace_jobs(self) -> None:
        """Replace the Jobs of this run that are written down, until cancelled."""
        await self.executor.strategies.jobs.run((), self._job_reported)

    def _job_reported(self, report: Report) -> None:
        self.publish(report)
        self._reports_of(report.key).put_nowait(report)

    def _reports_of(self, key: Key) -> asyncio.Queue[Report]:
        return self._job_reports.setdefault(key, asyncio.Queue())

    def _is_replaced(self, work: Work) -> bool:
        """Whether nothing is reported because another worker replaces it."""
        return Strategy.RECREATE in work.kind.strategies and work.key in self._world.workloads

    async def _replaced(self, work: Work, deadline: datetime) -> bool:
        """Wait until a Job is not written down any more; whether to reconcile it again."""
        work.is_pending_job, over = True, False
        self._follow.change(work, Stage.ROLLING, "it is being recreated")
        while True:
            report = await self._next_report(work)
            if over or (report is not None and report.result is Result.DONE):
                break
            try:
                over = work.key not in await pending_jobs.find(self._client, work.key.namespace)
            except (Forbidden, *PASSING) as error:
                self._follow.met(error)  # Its report says so too.
            if report is not None:
                self._follow.change(work, Stage.ROLLING, report.message)
            if not over and not await self._follow.sleep(0.0, deadline):
                self._follow.change(work, Stage.TIMED_OUT, f"{work.detail}; {NOT_LOST}")
                return False
        work.is_pending_job = False
        job = await self._follow.fetch(work, deadline)
        if job is None:
            return False
        if job.metadata.uid != work.before.metadata.uid:
            self._world.workload_gone(work.key)
            work.began, work.before = self._clock.now(), job
            self._follow.change(work, Stage.ROLLED, "")
        self._world.workload_seen(work.kind, job)
        if report is not None:
            work.read(report, self._clock.now())
            self._follow.change(work, work.stage, work.detail)
        return True

    async def _next_report(self, work: Work) -> Report | None:
        """The next report of a Job's worker, unless that takes long."""
        try:
            async with asyncio.timeout(POLL):
                return await self._reports_of(work.key).get()
        except TimeoutError:
            return None
