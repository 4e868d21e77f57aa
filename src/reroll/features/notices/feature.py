"""Tells people and systems what needs them: a sink of the reports, on the replica that leads.

Everything follows from the reports: a new leader looks at every workload, so it learns of every
problem there is. What was told of them is in the state (`state`).
"""

import asyncio
from collections.abc import Callable, Collection, Mapping

from reroll.clock import Clock
from reroll.controller.bus import Sink
from reroll.controller.context import Context
from reroll.controller.feature import Feature
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result
from reroll.controller.worker import Worker
from reroll.core.model.key import Key
from reroll.core.observe.health import State as Rollout
from reroll.core.policy.notice import Notice
from reroll.core.tables.news import News, is_passing, problem_of
from reroll.core.tables.reasons import Reason
from reroll.engine.world import World
from reroll.features.notices import held
from reroll.features.notices.courier import RESULTS, UNWRITTEN, Courier, Send
from reroll.features.notices.held import Held
from reroll.features.notices.incidents import Delivery, Topic, topic
from reroll.features.notices.state import DeliveryState
from reroll.kube.errors import ApiError

log = Log("reroll")
SETTLE = 5.0
"""Seconds between two looks at whether all workloads have been looked at; it takes two in a row."""
TRIES = 3
"""To read what was told; without it, problems are told again."""
_AT_ITS_END = (Reason.HEALTHY, Reason.COMPLETE)


class Notices(Feature, Sink):
    """`is_busy()`: whether workloads are still to be looked at."""

    def __init__(
        self, context: Context, world: World, is_busy: Callable[[], bool], send: Send
    ) -> None:
        self._clock: Clock = context.clock
        self._rows: Collection[Notice] = context.settings.notices
        self._world, self._is_busy, self._send = world, is_busy, send
        self._count = context.metrics.notices
        for row in self._rows:
            for result in RESULTS:
                self._count.inc(row.name, result, by=0)  # One that appears has no increase.
        self._state = DeliveryState(context.client, context.namespace, context.settings.lease)
        self._couriers: tuple[Courier, ...] = ()
        self._held = Held()
        self._held_queue: Queue[Key] = Queue(context.clock)

    # What the supervisor runs

    async def act(self) -> None:
        """Tell; what came before this replica led is in the state."""
        self._begin()
        try:
            known = await self._known()
            for courier in self._couriers:
                courier.recall(known.get(courier.notice.name, ()))
            self._held.recall(known.get(held.ENTRY, ()))
            for key in self._held.keys:
                self._held_queue.add(key)  # That it is held may have been told, or have lasted.
            lasting = Worker(self._held_queue, self._is_held, Backoff(self._clock), noun="workload")
            async with asyncio.TaskGroup() as group:
                group.create_task(lasting.run())
                group.create_task(self._sweep())
                for courier in self._couriers:
                    group.create_task(courier.run())
        finally:
            self._end()

    async def rest(self) -> None:
        """What is being sent is answered first, so that nobody sends it again."""
        await asyncio.gather(*(courier.queue.drain() for courier in self._couriers))

    def _begin(self) -> None:
        save = self._state.save
        self._couriers = tuple(
            Courier(row, self._clock, self._send, save, self._count) for row in self._rows
        )

    def _end(self) -> None:
        """Nothing of an earlier term is left behind."""
        for courier in self._couriers:
            courier.queue.clear()
        self._couriers = ()
        self._held.clear()
        self._held_queue.clear()

    async def _known(self) -> Mapping[str, list[Delivery]]:
        backoff, problem = Backoff(self._clock, 1.0), ""
        for _ in range(TRIES):
            try:
                return await self._state.load([held.ENTRY, *(row.name for row in self._rows)])
            except ApiError as error:
                problem = str(error)
                await asyncio.sleep(backoff.failed("load"))
        log.warning("notices forgotten", problem=f"what was sent cannot be read: {problem}")
        return {}

    async def _sweep(self) -> None:
        quiet = 0
        while quiet < 2:
            await asyncio.sleep(SETTLE)
            quiet = 0 if self._is_busy() else quiet + 1
        log.debug("notices swept")
        self._held.swept()
        await self._save_held()
        for courier in self._couriers:
            courier.swept()

    # What the bus tells

    def report(self, report: Report) -> None:
        if not self._couriers:
            return
        news = problem_of(report.reason)
        if news is News.HELD:
            self._wait(report)
        elif news is not None:
            self._release(report.key)
            self._problem(report.key, topic_of(news, report), report.message)
        elif report.rolled and report.result is Result.DONE:
            self._release(report.key)
            self._done(report)
        elif self._is_well(report):
            self.forget(report.key)

    def forget(self, key: Key) -> None:
        self._release(key)
        for courier in self._couriers:
            courier.leave(key)

    def _is_well(self, report: Report) -> bool:
        if report.reason in _AT_ITS_END:
            return True
        if is_passing(report.reason) or report.result is Result.FAILED:
            return False
        health = self._world.health.get(report.key)
        return health is None or health.state is Rollout.DONE

    def _problem(self, key: Key, about: Topic, message: str) -> None:
        names = self._names(key)
        for courier in self._couriers:
            if courier.notice.name in names:
                courier.problem(key, about, message)
            else:
                courier.leave(key)

    def _done(self, report: Report) -> None:
        names, about = self._names(report.key), topic_of(News.ROLLED, report)
        for courier in self._couriers:
            if courier.notice.name in names:
                courier.done(report.key, about, report.message)

    def _names(self, key: Key) -> Collection[str]:
        """The rows that get news of it."""
        if tracked := self._world.workloads.get(key):
            return tracked.policy.notices
        return [row.name for row in self._rows if not row.named and row.is_for(key, {})]

    # What lasts

    def _wait(self, report: Report) -> None:
        key = report.key
        self._held.put(key, topic_of(News.HELD, report), report.message, self._clock.now())
        if report.reason is not Reason.FAILED:  # That alone says nothing of what was before.
            for courier in self._couriers:
                courier.turn_to_held(key)
        if (later := self._look(key)) is not None:
            self._held_queue.add(key, later)

    def _release(self, key: Key) -> None:
        self._held.drop(key)
        if self._held.is_unwritten:
            self._held_queue.add(key)

    async def _is_held(self, key: Key) -> float | None:
        later = self._look(key)
        if await self._save_held():
            return later
        return UNWRITTEN if later is None else min(later, UNWRITTEN)

    async def _save_held(self) -> bool:
        if self._held.is_unwritten:
            self._held.is_unwritten = False
            self._held.is_unwritten = not await self._state.save(held.ENTRY, self._held.entries())
        return not self._held.is_unwritten

    def _look(self, key: Key) -> float | None:
        """Tell those for whom it has lasted long enough; seconds until it has for the next."""
        waiting, now = self._held.get(key), self._clock.now()
        if waiting is None:
            return None
        names, later = self._names(key), []
        lasted = (now - waiting.since).total_seconds()
        for courier in self._couriers:
            if courier.notice.name not in names or News.HELD not in courier.notice.about:
                continue
            left = courier.notice.held_after.total_seconds() - lasted
            if left <= 0 or courier.incidents.is_known(waiting.topic):
                courier.problem(key, waiting.topic, waiting.message)
            else:
                later.append(left)
        if later and (until := self._held.note(key, now)) is not None:
            later.append(until)
        return min(later, default=None)


def topic_of(news: News, report: Report) -> Topic:
    return topic(news, report.sources, report.change, report.key)
