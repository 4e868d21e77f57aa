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
from reroll.core.observe.health import Health, State
from reroll.core.observe.workload import Workload, workload
from reroll.core.tables.kinds import Kind
from reroll.engine.feeds import WorkloadFeed
from reroll.engine.observer import Observer
from reroll.kube import resources
from reroll.kube.aio import gather
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, Throttled, Unavailable
from reroll.kube.watch import Watch
from reroll.pipeline import pods
from reroll.pipeline.work import Options, Stage, Work

POLL = 0.5
"""Seconds between two reads where no watch is in force."""
CONFIRM = 10.0
"""Seconds after which even a watch is not taken at its word."""
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
        seconds = CONFIRM if self._is_watched(runner) else POLL
        left = (deadline - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(max(0.0, min(seconds, left))):
                await news.wait()
        except TimeoutError:
            if left > 0:
                await self.fetch(work, deadline, runner)
        return left > 0

    # Rollouts

    async def follow(self, work: Work, deadline: datetime) -> None:
        """Until its pods are replaced; without `wait`, only until the roll is known to be made."""
        manifest = await self.fetch(work, deadline)
        if manifest is None:
            return
        work.rolled = pick(manifest, work.kind.template)
        replaces = self.workload(work).replaces_pods
        if not self._options.wait or not replaces:
            waits = "" if replaces else "its pods are replaced when they are deleted"
            self.change(work, Stage.ROLLED, waits)
            return
        await self._until_over(work, deadline)

    async def _until_over(self, work: Work, deadline: datetime) -> None:
        while (health := await self.health(work, deadline)) is not None:
            if self._judge(work, health):
                return
            if not await self.news(work, deadline):
                await self._late(work)
                return

    async def join(self, work: Work, deadline: datetime) -> None:
        """A rollout that the controller or a deploy began is waited for too."""
        kind = work.kind
        is_known = kind.counts or kind.well or kind.observes
        if not is_known or not self.workload(work).replaces_pods:
            return
        await self.fetch(work, deadline)
        health, stage = await self.health(work, deadline), work.stage
        if health is None or not health.replacing:
            return
        self.change(work, Stage.ROLLING, health.message)
        await self._until_over(work, deadline)
        if work.stage is Stage.ROLLED and stage is Stage.RECORDED:
            self.change(work, stage, work.message)

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

    def _judge(self, work: Work, health: Health) -> bool:
        """Whether its rollout is over, one way or the other."""
        if health != work.health:
            work.health = health
            self.change(work, work.stage, health.message)
        if not health.is_over:
            return False
        is_done = health.state is State.DONE
        self.change(work, Stage.ROLLED if is_done else Stage.FAILED, health.message)
        return True

    async def _late(self, work: Work) -> None:
        """Time is up: failed if its pods say so, timed out if they may just be slow."""
        trouble, is_broken = pods.trouble(await pods.pods_of(self._client, self.workload(work)))
        detail = "; ".join(filter(None, (work.detail, trouble)))
        self.change(work, Stage.FAILED if is_broken else Stage.TIMED_OUT, detail)

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
