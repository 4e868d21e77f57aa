"""Roll the workloads of one run, wait for each, and go back if one of them fails.

Rolls are the engine's own: same decisions, same guards, same patches. Each workload has its own
time; whatever the API server answers meanwhile is tried again until that is over. After the first
failure nothing more is begun.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

import msgspec

from reroll.clock import Clock
from reroll.controller.report import Report, Result
from reroll.core.health import Health, State, health
from reroll.core.kinds import Strategy
from reroll.core.objects import Key
from reroll.core.reasons import Reason
from reroll.core.workloads import Manifest, Workload, pick, workload
from reroll.features.look.look import Look
from reroll.features.sync import pods
from reroll.features.sync.undo import NoWayBackError, undo
from reroll.features.sync.work import Journal, Options, Outcome, Work
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Throttled, Unavailable

POLL = 0.5
_PASSING = (AlreadyExists, Conflict, Throttled, Unavailable)
"""Errors that a later try may not meet."""
_WAITED_FOR = frozenset(
    (Strategy.STAMP, Strategy.ENV, Strategy.RESTART, Strategy.EVICT, Strategy.RELOAD)
)
_manifest = msgspec.json.Decoder(Manifest)
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
        self._options, self._show, self._note = options, show, note
        self._begin: Begin = begin or Run._sync
        self._broken = False
        self._unreachable = False

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
            self._change(work, Outcome.LEFT, "another workload failed before its turn")
            return
        now = self._clock.now()
        deadline = now + timedelta(seconds=self._options.timeout)
        try:
            await self._begin(self, work, deadline)
            if work.outcome is Outcome.ROLLING:
                await self._follow(work, deadline)
            elif self._options.wait and work.outcome in {Outcome.NOTHING, Outcome.RECORDED}:
                await self._join(work, deadline)
        except ApiError as error:
            self._change(work, Outcome.FAILED, str(error))
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
                if not isinstance(error, _PASSING):
                    told = "it was deleted" if isinstance(error, NotFound) else str(error)
                    self._change(work, Outcome.FAILED, told)
                    return
                self._journal.take(work.key)
                self._met(error)
            report = self._journal.take(work.key)
            if delay is None and report is None and work.plan.roll is Strategy.RECREATE:
                report = await self._made_anew(work, deadline)
            if report is not None:
                self.read(work, report)
            if delay is None or (work.outcome is Outcome.HELD and work.began is None):
                return
            if not await self._sleep(delay, deadline):
                self._change(work, Outcome.TIMED_OUT, work.detail or "the roll is not written yet")
                return

    async def _made_anew(self, work: Work, deadline: datetime) -> Report | None:
        left = (deadline - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(left):
                return await self._journal.wait(work.key)
        except TimeoutError:
            self._change(work, Outcome.TIMED_OUT, "the Job is not there again yet")
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
            self._change(work, Outcome.ROLLING if waits else done, _effect(strategy))
        elif work.began is not None:
            held = report.result is Result.HELD
            self._change(work, work.outcome, report.message if held else "")
        elif report.result is Result.DONE:
            work.reason = report.reason.word
            self._change(work, Outcome.RECORDED, report.message)
        elif report.result is Result.HELD:
            work.reason = report.reason.word
            self._change(work, Outcome.HELD, report.message)
        elif report.result is Result.NOTHING:
            work.reason = report.reason.word
            self._change(work, Outcome.NOTHING, report.message)

    # Waiting

    async def _follow(self, work: Work, deadline: datetime) -> None:
        """Until its pods are replaced; without `wait`, only until the roll is known to be made."""
        made = await self._fetch(work, deadline)
        if made is None:
            return
        work.after = template(work, made)
        replaces = self._workload(work).replaces_pods
        if not self._options.wait or not replaces:
            waits = "" if replaces else "its pods are replaced when somebody deletes them"
            self._change(work, Outcome.ROLLED, waits)
            return
        await self._until_over(work, deadline)

    async def _until_over(self, work: Work, deadline: datetime) -> None:
        while (found := await self._health(work, deadline)) is not None:
            if self._judge(work, found):
                return
            if not await self._sleep(POLL, deadline):
                await self._late(work)
                return

    async def _join(self, work: Work, deadline: datetime) -> None:
        """A rollout that somebody else began is waited for too: the controller, or a deploy."""
        if not work.kind.counts or not self._workload(work).replaces_pods:
            return
        found, outcome = await self._health(work, deadline), work.outcome
        if found is None or not found.replacing:
            return
        self._change(work, Outcome.ROLLING, found.message)
        await self._until_over(work, deadline)
        if work.outcome is Outcome.ROLLED and outcome is Outcome.RECORDED:
            self._change(work, outcome, work.message)

    async def _health(self, work: Work, deadline: datetime) -> Health | None:
        """Of what runs its pods: itself, or the Rollout that has its template."""
        runner = self._look.world.lenders.runner(work.key)
        manifest = await self._fetch(work, deadline)
        if manifest is None or runner == work.key:
            return health(work.kind, manifest) if manifest else None
        kind, generation = self._look.engine.kinds[runner.kind], manifest.metadata.generation
        running = await self._fetch(work, deadline, runner)
        return health(kind, running, lent=generation) if running else None

    def _judge(self, work: Work, found: Health) -> bool:
        """Whether its rollout is over, one way or the other."""
        if found != work.health:
            work.health = found
            self._change(work, work.outcome, found.message)
        if found.state is State.GOES_ON:
            return False
        done = found.state is State.DONE
        self._change(work, Outcome.ROLLED if done else Outcome.FAILED, found.message)
        return True

    async def _late(self, work: Work) -> None:
        """Time is up: failed if its pods say so, timed out if they may just be slow."""
        found = await pods.pods_of(self._client, self._workload(work))
        said, broken = pods.told(found)
        detail = "; ".join(filter(None, (work.detail, said)))
        self._change(work, Outcome.FAILED if broken else Outcome.TIMED_OUT, detail)

    async def _fetch(
        self, work: Work, deadline: datetime, key: Key | None = None
    ) -> Manifest | None:
        """The workload as it is now, however long that takes; `None` if that is the end of it."""
        key = key or work.key
        resource = wire.resource_of(self._look.engine.kinds[key.kind])
        request = wire.get(resource, key.namespace, key.name)
        while True:
            try:
                found = _manifest.decode(await self._client.send(request))
            except NotFound:
                self._change(work, Outcome.FAILED, "it was deleted")
                return None
            except _PASSING as error:
                self._met(error)
            else:
                self._met(None)
                return found
            if not await self._sleep(POLL, deadline):
                self._change(work, Outcome.TIMED_OUT, "the API server cannot be reached")
                return None

    # Going back

    async def _go_back(self, work: Work) -> None:
        """To the template before this run, and until its pods are there again."""
        failed = work.outcome
        deadline = self._clock.now() + timedelta(seconds=self._options.timeout)
        if work.after is None and (made := await self._fetch(work, deadline)):
            work.after = template(work, made)
        try:
            await undo(self._client, self._clock, self._look, work)
        except NoWayBackError as error:
            self._change(work, failed, f"{work.detail}; not rolled back: {error}".lstrip("; "))
            return
        except ApiError as error:
            self._change(work, Outcome.FAILED, f"not rolled back: {error}")
            return
        work.failed_as = failed if failed is not Outcome.ROLLED else None
        self._journal.tell(_undone(work, self._look))
        self._change(work, Outcome.UNDONE, work.detail)
        await self._recover(work, deadline)

    async def _recover(self, work: Work, deadline: datetime) -> None:
        while (found := await self._health(work, deadline)) is not None:
            if found.state is not State.GOES_ON:
                return
            if work.kind.sticks and (manifest := await self._fetch(work, deadline)):
                await pods.unstick(self._client, self._workload(work), manifest)
            if not await self._sleep(POLL, deadline):
                self._note(f"{work.key} was rolled back, and its pods are not all ready yet")
                return

    # Small things

    def _workload(self, work: Work) -> Workload:
        return workload(work.kind, work.before, None, words=self._look.world.dialects.words)

    def _change(self, work: Work, outcome: Outcome, detail: str) -> None:
        work.outcome, work.detail = outcome, detail
        under_way = outcome in {Outcome.PENDING, Outcome.ROLLING}
        work.ended = None if under_way else work.ended or self._clock.now()
        self._show(work)

    def _met(self, error: ApiError | None) -> None:
        """Tell once when the API server goes away, and when it is back."""
        away = isinstance(error, Unavailable)
        if away and not self._unreachable:
            self._note(f"{error}; trying on until the time is up")
        elif error is None and self._unreachable:
            self._note("the API server answers again")
        if error is None or away:
            self._unreachable = away

    async def _sleep(self, seconds: float, deadline: datetime) -> bool:
        """Whether there was time for that."""
        left = (deadline - self._clock.now()).total_seconds()
        await asyncio.sleep(max(0.0, min(seconds, left)))
        return left > 0


def template(work: Work, manifest: Manifest) -> object:
    """The pod template, as values."""
    raw = pick(manifest, work.kind.template)
    return msgspec.json.decode(raw) if raw else {}


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
