"""Watches on every replica; reconciles where this replica leads."""

import asyncio
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from reroll.clock import Clock
from reroll.controller.bus import Bus
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff, Pacer
from reroll.controller.queue import Queue
from reroll.controller.report import Result
from reroll.controller.stranded import Stranded
from reroll.controller.worker import Worker
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import Feature
from reroll.engine.cluster_hold import ClusterHold, place_of
from reroll.engine.executor import Executor
from reroll.engine.observer import Observer
from reroll.engine.outcome import Outcome
from reroll.engine.record_backup import RecordBackup
from reroll.engine.watches import Watches
from reroll.engine.writes import Paces, Write, rates
from reroll.kube.client import Client
from reroll.kube.watch import Watch
from reroll.settings.table import Settings

log = Log("reroll")
NAMESPACE = attrgetter("namespace")


class Backlog:
    """What is due, and what waits for its turn."""

    def __init__(self, queue: Queue[Key], pacer: Paces) -> None:
        self._queue, self._pacer = queue, pacer

    def __len__(self) -> int:
        return len(self._queue) + self._pacer.waiting

    @property
    def oldest(self) -> float:
        """Of what is due alone: what waits for its turn waits on purpose."""
        return self._queue.oldest


class Rolling:
    def __init__(
        self, client: Client, clock: Clock, settings: Settings, bus: Bus, home: str
    ) -> None:
        self._settings, self._bus = settings, bus
        # A change that comes while hundreds are put on record finds workers, and an API server that
        # answers in half the time; all of them are on record no later.
        patient = max(1, settings.concurrency // 4)
        # Requests may hang for one namespace alone, as where a webhook is called for it that does
        # not answer: a quarter of the workers is left to the others.
        most = max(1, settings.concurrency - settings.concurrency // 4)
        self.queue: Queue[Key] = Queue(clock, share=NAMESPACE, most=most, patient=patient)
        self.observer = Observer(
            client, clock, settings, home, wake=self._wake, problem=_unreadable
        )
        self._watches = Watches(client, clock, settings, self.observer)
        self.observer.world.on_change(self._changed)
        self.observer.world.on_complete(self._completed)
        self._pacer: Paces = Pacer(clock, rates(settings.rate, settings.burst), NAMESPACE)
        self.backlog = Backlog(self.queue, self._pacer)
        for write in (Write.ROLL, Write.RECORD):
            self._pacer.on_turn(write, self.queue.add)
        self._worker = Worker(
            self.queue, self._reconcile, Backoff(clock), on_error=self._failed, noun="workload"
        )
        self._executor = Executor(
            client,
            clock,
            self.observer,
            self._pacer,
            self.queue.add,
            settings.features,
            self._worker.let_others_first,
        )
        self._client, self._clock = client, clock
        self._hold = ClusterHold(self.observer.world, place_of(home, settings.lease), self._wake)
        place = home, settings.lease
        self._backup = RecordBackup(client, clock, self.observer.world, place, self._wake)
        self._stranded: Stranded[Key] = Stranded(client.outage, self._retry)
        self._acting = False
        self._stores_known = asyncio.Event()
        self._late: dict[Key, asyncio.TimerHandle] = {}
        """Looks at rollouts that may take too long by then: nobody waits for them."""

    async def prepare(self) -> None:
        await self.observer.load_keys()

    def stages(self) -> Iterator[list[Watch[Any]]]:
        silence = self._settings.watch_silence.total_seconds()
        stages = self._watches.stages()
        yield [self._hold.follow(self._client, self._clock, silence), *next(stages)]
        yield from stages

    async def read(self) -> None:
        """Follow what the watches do not bring; on every replica."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._compare_stores())
            if self._watches.row_checks:
                group.create_task(self._watches.row_checks.run())
            group.create_task(self.observer.reader.run())

    async def _compare_stores(self) -> None:
        """While the watches list what there is: nothing depends on it before the first decision."""
        await self._watches.compare_stores()
        self._stores_known.set()

    async def act(self) -> None:
        """Roll; only where this replica is the leader."""
        await self._stores_known.wait()
        self._acting = True
        try:
            await self._backup.load()
            for key, tracked in tuple(self.observer.world.workloads.items()):
                # What it uses changed while nobody led: it has waited long enough.
                self.queue.add(key, urgent=tracked.waiting_since is not None)
            async with asyncio.TaskGroup() as group:
                if "Job" in self.observer.kinds and self._executor.strategies.may_recreate:
                    places = self._settings.namespaces or (None,)
                    group.create_task(self._executor.strategies.jobs.run(places, self._bus.publish))
                if self._executor.slow_lane:
                    group.create_task(self._executor.slow_lane.run())
                group.create_task(self._worker.run(self._settings.concurrency))
                group.create_task(self._backup.run())
                if Feature.REVISIONS in self._settings.features:
                    group.create_task(self._executor.ownerless.run())
        finally:
            self._acting = False
            for key in tuple(self._late):
                self._look_later(key, None)
            self.queue.clear()
            self._stranded.clear()
            self._pacer.clear()

    async def rest(self) -> None:
        """Begin nothing more, and wait for what is being written.

        Pods that are asked to reload are not waited for: whoever leads next asks them again.
        """
        await self.queue.drain()
        if self._acting:
            await self._backup.flush()

    def _wake(self, key: Key, urgent: bool) -> None:
        if self._acting:
            self.queue.add(key, urgent=urgent)
        elif key not in self.observer.world.workloads:
            # Gone while another replica leads: nothing of an earlier term is left behind.
            self._bus.forget(key)
            self._executor.forgive(key)

    def _retry(self, key: Key) -> None:
        self._executor.forgive(key)
        self._wake(key, True)

    def _changed(self, key: Key, urgent: bool) -> None:
        """It probably rolls: where many do, it is looked at when its turn has come, not before."""
        if not self._acting or self._pacer.recurs(key, Write.ROLL):
            return  # It is in the line already, and that is told.
        if self._pacer.admit(key, Write.ROLL):
            self.queue.add(key, urgent=urgent)
        else:
            self._publish(key, self._executor.waits(key))

    def _completed(self, key: Key) -> None:
        if self._acting:
            self._publish(key, self._executor.completed(key))

    async def _reconcile(self, key: Key) -> float | None:
        return self._publish(key, await self._executor.reconcile(key))

    def _failed(self, key: Key, error: Exception) -> float | None:
        return self._publish(key, self._executor.failed(key, error))

    def _publish(self, key: Key, outcome: Outcome) -> float | None:
        for report in outcome.reports:
            self._bus.publish(report)
            if report.reason is Reason.ADOPTED and report.result is Result.DONE:
                self._backup.adopted(key)
        self._stranded.ended(key, outcome.error)
        if outcome.gone:
            self._bus.forget(key)
        self._look_later(key, outcome.late)
        return outcome.delay

    def _look_later(self, key: Key, seconds: float | None) -> None:
        """Beside the queue, whose length says how much there is to do."""
        if waiting := self._late.pop(key, None):
            waiting.cancel()
        if seconds is not None and self._acting:
            loop = asyncio.get_running_loop()
            self._late[key] = loop.call_later(seconds, self._is_late, key)

    def _is_late(self, key: Key) -> None:
        self._late.pop(key, None)
        self._wake(key, False)


def _unreadable(what: str, problem: str) -> None:
    log.warning("cannot read", source=what, problem=problem)
