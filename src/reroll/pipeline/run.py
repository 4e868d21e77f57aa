"""Rolls the workloads of one run, waits for each, and goes back if one of them fails.

Decisions, guards and patches are the engine's own. Each workload has its own time; whatever the API
server answers in between is tried again until that is over. After the first failure nothing more is
begun.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from reroll.clock import Clock
from reroll.controller.pace import Pacer
from reroll.controller.report import Report, Result
from reroll.core.decide.rollback import go_back
from reroll.core.model.key import Key, Problem
from reroll.core.model.metadata import pick
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.engine.executor import Executor
from reroll.engine.listing import Listing
from reroll.engine.outcome import Outcome
from reroll.engine.strategies import pending_jobs
from reroll.engine.strategies.go_back import NoWayBackError
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.pipeline import pods
from reroll.pipeline.follow import PASSING, POLL, Follow, Hooks
from reroll.pipeline.work import Options, Stage, Work

TIDY_WITHIN = timedelta(seconds=10)
NOT_LOST = "it is written down, and the next `reroll sync` or a controller goes on"
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
        self._job_reports: dict[Key, asyncio.Queue[Report]] = {}
        self.problems: dict[str, Problem] = {}
        """Bad input that reports named, by its sentence."""
        self._broken = False

    async def all(self, works: Iterable[Work], begin: Begin | None = None) -> None:
        """Carry out a run; `Work.stage` says what came of each."""
        mine, begin = list(works), begin or Run._sync
        slots = asyncio.Semaphore(self._options.max_parallel or max(1, len(mine)))

        async def one(work: Work) -> None:
            async with slots:
                await self._one(work, begin)

        watching = asyncio.create_task(self._follow.watch(mine)) if self._options.wait else None
        try:
            async with asyncio.TaskGroup() as group:
                for work in mine:
                    group.create_task(one(work))
            if self._options.undo and any(work.has_failed for work in mine):
                await asyncio.gather(*(self._go_back(work) for work in mine if work.began))
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
            elif self._options.wait and work.stage in {Stage.NOTHING, Stage.RECORDED}:
                await self._follow.join(work, deadline)
        except ApiError as error:
            self._follow.change(work, Stage.FAILED, str(error))
        self._broken |= work.has_failed

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
            if outcome.delay is None or is_held:
                return report is not None
            if not await self._follow.sleep(outcome.delay, deadline):
                detail = work.detail or f"the roll is not written yet{problem}"
                self._follow.change(work, Stage.TIMED_OUT, detail)
                return True

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

    async def replace_jobs(self, namespace: str | None) -> None:
        """Replace the Jobs that are written down, until cancelled."""
        await self.executor.jobs.run((namespace,), self._job_reported)

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

    # Going back

    async def _go_back(self, work: Work) -> None:
        """To the template before this run, and until its pods are there again."""
        failed, detail = work.stage, work.detail
        deadline = self._deadline
        try:
            outcome = await self._undo(work, deadline)
            if outcome is None:
                return
        except NoWayBackError as error:
            self._follow.change(work, failed, _joined(detail, f"not rolled back: {error}"))
            return
        except ApiError as error:
            self._follow.change(work, Stage.FAILED, f"not rolled back: {error}")
            return
        work.failed_as = failed if failed is not Stage.ROLLED else None
        self._follow.change(work, Stage.UNDONE, detail)
        for report in outcome.reports:
            self.publish(report)
        try:
            await self._recover(work, deadline)
        except ApiError as error:
            self._follow.change(work, work.stage, _joined(detail, str(error)))

    async def _undo(self, work: Work, deadline: datetime) -> Outcome | None:
        """Put its template back; what may pass is tried again. `None` if the workload is gone."""
        failed, template = work.stage, pick(work.before, work.kind.template)
        why = f"its roll was undone, because this run failed: {work.detail}"
        while await self._follow.fetch(work, deadline) is not None:
            snapshot = self._observer.snapshot(work.key) or self._bare(work)
            plan = go_back(snapshot, self._clock.now(), why, template=template, rolled=work.rolled)
            try:
                return await self.executor.execute(snapshot, plan)
            except PASSING as error:
                problem = error
            self._follow.change(work, failed, f"not rolled back yet: {problem}")
            if not await self._follow.sleep(max(POLL, problem.retry_after or 0.0), deadline):
                raise problem
        return None

    def _bare(self, work: Work) -> Snapshot:
        """A workload that is not opted in: nothing is known but itself."""
        itself = self._follow.workload(work)
        return Snapshot(itself, work.kind, self._world.policy_of(work.kind, work.before), (), {})

    async def _recover(self, work: Work, deadline: datetime) -> None:
        """Until its pods are there again; what is in their way is shown with the workload."""
        detail = work.detail
        while (health := await self._follow.health(work, deadline)) is not None:
            work.health = health
            self._follow.change(work, work.stage, detail if health.is_over else work.detail)
            if health.is_over:
                return
            if work.kind.sticks and (manifest := await self._follow.fetch(work, deadline)):
                stays = await pods.unstick(self._client, self._follow.workload(work), manifest)
                self._follow.change(work, work.stage, _joined(detail, stays))
            if not await self._follow.news(work, deadline):
                self._hooks.note(f"{work.key} was rolled back, and its pods are not all ready yet")
                return


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
