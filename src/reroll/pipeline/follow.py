"""Follows a rollout until it is over, whatever the API server does in between.

News comes from watches, folded into the world. Where no watch is in force (rights are missing, the
API server is away), the workload is read again and again instead, until its time is up.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from reroll.clock import Clock
from reroll.controller.report import Report
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, pick
from reroll.core.observe.health import Health
from reroll.core.observe.workload import Workload, workload
from reroll.core.tables.kinds import Kind, Strategy
from reroll.engine.feeds import WorkloadFeed
from reroll.engine.observer import Observer
from reroll.engine.strategies.stuck_pods import pods_of
from reroll.kube import resources
from reroll.kube.aio import gather
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, Throttled, Unavailable
from reroll.kube.objects import Pod
from reroll.kube.watch import Watch
from reroll.pipeline import pods
from reroll.pipeline.verdict import ON_DELETE, Verdict, verdict
from reroll.pipeline.work import Options, Stage, Work

POLL = 0.5
"""Seconds between two reads where no watch is in force."""
CONFIRM = 10.0
"""Seconds after which even a watch is not taken at its word."""
LOOK = 3.0
"""Seconds between two looks at pods: no watch brings their restarts."""
PASSING = (AlreadyExists, Conflict, Throttled, Unavailable)
"""Errors that a later attempt may not meet."""


class _FollowedFeed(WorkloadFeed):
    """Brings news of the workloads that are followed, and of no others."""

    def _seen(self, obj: Manifest, *, initial: bool) -> None:
        if self._world.health.is_followed(self._key(obj)):
            super()._seen(obj, initial=initial)

    def _known(self) -> Iterable[Key]:  # type: ignore[override]
        return [key for key in super()._known() if self._world.health.is_followed(key)]


class Hooks(NamedTuple):
    """What a run calls while it goes on."""

    publish: Callable[[Report], None] = lambda _: None
    """With every report that is worth an Event."""
    show: Callable[[Work], None] = lambda _: None
    """Whenever something changed about a workload."""
    note: Callable[[str], None] = lambda _: None
    """With a sentence about the run."""


class Follow:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        observer: Observer,
        options: Options,
        hooks: Hooks,
    ) -> None:
        self._client, self._clock, self._observer = client, clock, observer
        self._world, self._options, self._hooks = observer.world, options, hooks
        self._watches: dict[tuple[str, str], Watch[Any]] = {}
        self._unreachable = False
        self._confirmed: dict[Key, float] = {}
        """When each was last read, in monotonic seconds."""

    # Watches

    async def watch(self, works: Iterable[Work]) -> None:
        """Follow these, until cancelled."""
        runners = {work.key: self._world.lenders.runner(work.key) for work in works}
        for key in (*runners, *runners.values()):
            self._world.health.follow(key)
            place = key.kind, key.namespace
            if place not in self._watches and (kind := self._observer.kinds.get(key.kind)):
                self._watches[place] = self._watch(kind, key.namespace)
        await gather([watch.run() for watch in self._watches.values()])

    def _watch(self, kind: Kind, namespace: str) -> Watch[Any]:
        feed = _FollowedFeed(self._world, kind, namespace, lambda _: None)
        resource = resources.of(kind)

        def on_bug(what: str, error: Exception) -> None:
            self._hooks.note(f"{what} cannot be followed: {type(error).__name__}; this is a bug")

        return Watch(
            self._client,
            resource,
            Manifest,
            feed,
            clock=self._clock,
            namespace=namespace,
            on_bug=on_bug,
        )

    def _is_watched(self, key: Key) -> bool:
        watch = self._watches.get((key.kind, key.namespace))
        return watch is not None and watch.state == "watching"

    async def news(self, work: Work, deadline: datetime) -> bool:
        """Wait for something new about a workload; whether there is time left."""
        runner = self._world.lenders.runner(work.key)
        news = self._world.health.follow(runner)
        news.clear()
        is_watched = self._is_watched(runner)
        seconds = LOOK if is_watched else POLL
        left = (deadline - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(max(0.0, min(seconds, left))):
                await news.wait()
        except TimeoutError:
            age = self._clock.monotonic() - self._confirmed.setdefault(
                runner, self._clock.monotonic()
            )
            if left > 0 and (not is_watched or age >= CONFIRM):
                await self.fetch(work, deadline, runner)
        return left > 0

    # Rollouts

    async def follow(self, work: Work, deadline: datetime) -> None:
        """Until its pods are replaced; without `wait`, only until the roll is known to be made."""
        manifest = await self.fetch(work, deadline)
        if manifest is None:
            return
        work.rolled = pick(manifest, work.kind.template)
        if not self._options.wait:
            replaces = self.workload(work).replaces_pods
            self.change(work, Stage.ROLLED, "" if replaces else ON_DELETE)
            return
        await self._until_over(work, deadline)

    async def join(self, work: Work, deadline: datetime) -> None:
        """Wait until a workload is complete and healthy that this run does not roll.

        It is what it was before if it never had to be waited for, or if something holds it.
        """
        kind, stage, detail = work.kind, work.stage, work.detail
        if not (kind.counts or kind.well or kind.observes) or not kind.replaces_pods:
            return
        await self.fetch(work, deadline)
        health = await self.health(work, deadline)
        if health is None or self._verdict(work, health).stage is Stage.ROLLED:
            return
        self.change(work, Stage.ROLLING, health.message)
        is_replaced = await self._until_over(work, deadline)
        is_rolled = is_replaced and stage is Stage.NOTHING
        if work.stage is Stage.ROLLED and not is_rolled:
            self.change(work, stage, detail)

    async def _until_over(self, work: Work, deadline: datetime) -> bool:
        """Whether pods were seen to be replaced."""
        is_replaced = False
        while (health := await self.health(work, deadline)) is not None:
            is_replaced |= health.replaces
            ill = await self.crash_loop(work) if health.updated and not health.is_over else ""
            now = self._verdict(work, health, ill)
            if health != work.health or now.is_over:
                work.health = health
                self.change(work, now.stage, now.detail)
            if now.is_over:
                break
            if not await self.news(work, deadline):
                await self._late(work)
                break
        return is_replaced

    def _verdict(self, work: Work, health: Health, crash_loop: str = "") -> Verdict:
        return verdict(health, crash_loop, replaces=self.workload(work).replaces_pods)

    async def health(self, work: Work, deadline: datetime) -> Health | None:
        """Of what runs its pods: itself, or the Rollout that has its template.

        `None` if that is the end of it.
        """
        runner, index = self._world.lenders.runner(work.key), self._world.health
        index.follow(runner)
        generation = 0
        if runner != work.key:
            manifest = await self.fetch(work, deadline)
            if manifest is None:
                return None
            generation = manifest.metadata.generation
        if index.get(runner) is None and await self.fetch(work, deadline, runner) is None:
            return None
        return index.get(runner, lent=generation)

    async def crash_loop(self, work: Work) -> str:
        """Which of its new pods end again and again, if that is to be a failure at once."""
        if not self._options.fail_fast:
            return ""
        every = await pods_of(self._client, self.workload(work))
        return pods.crash_loop(await self._new(work, every)) if pods.crash_loop(every) else ""

    async def _late(self, work: Work) -> None:
        """Time is up: failed if its pods say so, timed out if they may just be slow."""
        every = await pods_of(self._client, self.workload(work))
        trouble, is_broken = pods.trouble(await self._new(work, every))
        detail = "; ".join(filter(None, (work.detail, trouble)))
        self.change(work, Stage.FAILED if is_broken else Stage.TIMED_OUT, detail)

    async def _new(self, work: Work, every: list[Pod]) -> list[Pod]:
        """The pods that a roll made; all of them if that cannot be known."""
        snapshot = self._observer.snapshot(work.key)
        record = snapshot.record if snapshot else None
        if record and record.how == Strategy.EVICT and record.rolled:
            return pods.made_since(every, record.rolled)
        key = self._world.lenders.runner(work.key)
        kind = self._observer.kinds[key.kind]
        try:
            manifest = await self._observer.reader.workload(kind, key)
        except PASSING:
            return every
        if manifest is None:
            return every
        return await pods.present(
            self._client, pods.Runner(kind, self.workload(work), manifest), every
        )

    async def fetch(
        self, work: Work, deadline: datetime, key: Key | None = None
    ) -> Manifest | None:
        """The workload as it is now, however long that takes; `None` if that is the end of it."""
        key = key or work.key
        self._world.health.follow(key)
        while True:
            try:
                manifest = await self._observer.reader.workload(self._observer.kinds[key.kind], key)
            except PASSING as error:
                self.met(error)
            else:
                self.met(None)
                self._confirmed[key] = self._clock.monotonic()
                if manifest is None:
                    self.change(work, Stage.FAILED, "it was deleted")
                return manifest
            if not await self.sleep(POLL, deadline):
                self.change(work, Stage.TIMED_OUT, "the API server cannot be reached")
                return None

    def workload(self, work: Work) -> Workload:
        return workload(work.kind, work.before, None, words=self._world.dialects.words)

    def change(self, work: Work, stage: Stage, detail: str) -> None:
        work.change(stage, detail, self._clock.now())
        self._hooks.show(work)

    def met(self, error: ApiError | None) -> None:
        """Say once when the API server goes away, and when it is back."""
        away = isinstance(error, Unavailable)
        if away and not self._unreachable:
            self._hooks.note(f"{error}; trying again until the time is up")
        elif error is None and self._unreachable:
            self._hooks.note("the API server answers again")
        if error is None or away:
            self._unreachable = away

    async def sleep(self, seconds: float, deadline: datetime) -> bool:
        """Whether there was time for that."""
        left = (deadline - self._clock.now()).total_seconds()
        await asyncio.sleep(max(0.0, min(seconds, left)))
        return left > 0
