"""Starts and stops features, in order: server, preparations, watches by stages, leadership, work.

It ends when asked to (`stop`), within its deadline: what is under way is finished, then the Lease
is released, then the last Events are sent. Every replica watches; only the leader acts.

An error that nothing expected ends neither the process nor another feature: what it ended is begun
again after a delay that grows (`_restarting`). A `ConfigError` of a preparation does end it, for
only the user can help; so does work that does not end when it is told to.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, get_args

from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.context import Context
from reroll.controller.events import Recorder
from reroll.controller.feature import Feature
from reroll.controller.logs import Log
from reroll.controller.metrics import Watched
from reroll.controller.pace import Backoff
from reroll.controller.server import Metrics
from reroll.controller.server import server as answering
from reroll.http.server import Server
from reroll.kube.election import Timing
from reroll.kube.errors import ApiError, ConfigError
from reroll.kube.lease import Leadership
from reroll.kube.steps import Health
from reroll.kube.watch import Watch

log = Log("reroll")
ENDING = 10.0
"""Seconds that cancelled work may take to end: every call is given up at once."""
PATIENCE = 2.0
"""A watch may be silent for this many times its read timeout before it counts as dead."""
FIRST_RESTART, LONGEST_RESTART = 1.0, 60.0
"""Seconds until what ended with an unexpected error begins again."""
WELL = 600.0
"""Seconds without an error after which the delay is short again."""
_BY_HEALTH = ("", *get_args(Health))


class Supervisor:
    def __init__(self, context: Context, recorder: Recorder) -> None:
        self._context, self._recorder = context, recorder
        self._clock, self._settings = context.clock, context.settings
        self._metrics = context.metrics
        self.watches: list[Watch[Any]] = []
        """All that probes and metrics cover; a feature may add some, and take them out again."""
        self._ready = False
        self._metrics.watches(self._watched)

    async def run(self, features: Sequence[Feature], stop: asyncio.Event) -> None:
        """Run all of them: what they prepare and watch in their order, their work side by side."""
        servers = await self._serve()
        try:
            for feature in features:
                await self._prepare(feature, stop)
            if stop.is_set():
                return
            async with asyncio.TaskGroup() as group:
                background: list[asyncio.Task[Any]] = [
                    group.create_task(self._restarting("events", self._recorder.run)),
                    *(group.create_task(self._restarting(*_reading(one))) for one in features),
                ]
                stages = list(chain.from_iterable(feature.stages() for feature in features))
                background += self._begin(group, chain.from_iterable(stages))
                for watches in stages:
                    self.watches += watches
                    for watch in watches:
                        watch.go_on()
                    await _either(stop, asyncio.gather(*(watch.synced.wait() for watch in watches)))
                self._ready = True
                _settle_memory()
                log.info("watching", resources=len(self.watches))
                work = group.create_task(self._lead(features))
                await stop.wait()
                log.info("stopping")
                await self._end(features, work, background)
        finally:
            for server in servers:
                await server.stop()

    def _begin(
        self, group: asyncio.TaskGroup, watches: Iterable[Watch[Any]]
    ) -> Iterator[asyncio.Task[Any]]:
        """All at once: what comes later is on its way while what is needed first is taken in."""
        for watch in watches:
            watch.hold_back()
            yield group.create_task(self._restarting(watch.resource.full_name, watch.run))

    async def _serve(self) -> list[Server]:
        """Probes first: they have to be answered whatever becomes of the other."""
        metrics = Metrics(self._metrics.registry, self._clock)
        addresses = ((self._settings.probes, None), (self._settings.listen, metrics))
        servers = [
            answering(address, answer, self.unhealthy, self.unready)
            for address, answer in addresses
            if address
        ]
        for server in servers:
            await server.start()
        return servers

    async def _prepare(self, feature: Feature, stop: asyncio.Event) -> None:
        """As long as it takes: the API server may be away when we start."""
        delay = 0.5
        while not stop.is_set():
            try:
                await _either(stop, feature.prepare())
            except ConfigError:
                raise
            except ApiError as error:
                log.warning("cannot start yet", problem=str(error))
            except Exception as error:  # noqa: BLE001  what it read may be better next time
                bugs.report(Part.FEATURE, error, feature=_name(feature))
            else:
                return
            await _either(stop, self._context.client.outage.pause(self._clock.jitter(delay)))
            delay = min(30.0, delay * 2)

    async def _lead(self, features: Sequence[Feature]) -> None:
        if not self._settings.leader_election:
            self._metrics.leader.set(1)
            await self._act(features)
            return
        started, stopped = asyncio.Event(), asyncio.Event()

        def on_started() -> None:
            stopped.clear()
            started.set()

        def on_stopped() -> None:
            started.clear()
            stopped.set()

        leadership = Leadership(
            self._context.client,
            self._clock,
            self._context.namespace,
            self._settings.lease,
            self._context.identity,
            timing=Timing.of(self._settings.lease_duration.total_seconds()),
            on_started=on_started,
            on_stopped=on_stopped,
        )
        async with asyncio.TaskGroup() as group:
            # With an error it gives the Lease up, and contends for it again.
            group.create_task(self._restarting("leadership", leadership.run))
            while True:
                await started.wait()
                log.info("leading", lease=f"{self._context.namespace}/{self._settings.lease}")
                self._metrics.leader.set(1)
                await _either(stopped, self._act(features))
                self._metrics.leader.set(0)
                log.warning("no longer leading", problem=leadership.problem or "")

    async def _act(self, features: Sequence[Feature]) -> None:
        async with asyncio.TaskGroup() as group:
            for feature in features:
                group.create_task(self._restarting(_name(feature), feature.act))

    async def _restarting(self, name: str, work: Callable[[], Awaitable[Any]]) -> None:
        """Until it returns or is cancelled; after an unexpected error it begins again."""
        backoff = Backoff(self._clock, FIRST_RESTART, LONGEST_RESTART)
        while True:
            begun = self._clock.monotonic()
            try:
                await work()
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                bugs.report(Part.FEATURE, error, feature=name)  # what it waited for was cancelled
            except Exception as error:  # noqa: BLE001  the others go on
                bugs.report(Part.FEATURE, error, feature=name)
            else:
                return
            if self._clock.monotonic() - begun > WELL:
                backoff.succeeded(name)
            await asyncio.sleep(backoff.failed(name))

    async def _end(
        self,
        features: Sequence[Feature],
        work: asyncio.Task[None],
        background: list[asyncio.Task[Any]],
    ) -> None:
        """Work first and its Lease, then the Events that are left, then the watches."""
        grace = self._settings.grace.total_seconds()
        with bugs.contained(Part.FEATURE, feature="rest"), suppress(TimeoutError):
            resting = asyncio.gather(*(feature.rest() for feature in features))
            await asyncio.wait_for(resting, grace / 2)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        with bugs.contained(Part.FEATURE, feature="events"), suppress(TimeoutError):
            await asyncio.wait_for(self._recorder.flush(), grace / 4)
        for task in background:
            task.cancel()

    # What the probes and metrics ask

    def unhealthy(self) -> str | None:
        limit = PATIENCE * self._settings.watch_silence.total_seconds()
        for watch in self.watches:
            silent = self._clock.monotonic() - watch.last_activity
            if silent > limit and watch.state in {"watching", "listing", "starting"}:
                return f"the watch of {watch.resource.full_name} has been dead for {silent:.0f} s"
        return None

    def unready(self) -> str | None:
        if self._ready:
            return None
        waiting = [w.resource.full_name for w in self.watches if not w.synced.is_set()]
        return f"waiting for {', '.join(waiting) or 'the API server'}"

    def _watched(self) -> Iterator[Watched]:
        """By resource; of several watches of one, the worst."""
        now = self._clock.monotonic()
        worst: dict[str, Watched] = {}
        for watch in self.watches:
            name, age = watch.resource.full_name, now - watch.last_activity
            known = worst.get(name, Watched(name, 0.0, ""))
            state = max(watch.state, known.state, key=_BY_HEALTH.index)
            worst[name] = Watched(name, max(age, known.age), state)
        yield from worst.values()


def _name(feature: Feature) -> str:
    return type(feature).__name__.lower()


def _reading(feature: Feature) -> tuple[str, Callable[[], Awaitable[None]]]:
    return _name(feature), feature.read


def _settle_memory() -> None:
    """Collect what start-up left, and keep the rest out of every later collection: it stays."""
    gc.collect()
    gc.freeze()


async def _either(event: asyncio.Event, work: Awaitable[Any]) -> None:
    """Until the work is done or the event comes; then the work is ended."""
    waiting = asyncio.ensure_future(event.wait())
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({waiting, doing}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
    finally:
        for task in (waiting, doing):
            task.cancel()
        _, stuck = await asyncio.wait({waiting, doing}, timeout=ENDING)
        if stuck:
            # A process that holds the Lease and does no work blocks all others: better to end.
            raise RuntimeError(f"cancelled work still runs after {ENDING:g} s; this is a bug")
