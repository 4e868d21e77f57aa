"""Restarts: new pods without a change, with a reason; the record counts what they start with."""

import asyncio
import socket
from contextlib import suppress
from datetime import datetime

from reroll.clock import Clock
from reroll.controller.events import Recorder
from reroll.controller.report import Result
from reroll.core.decide.permission import hold_of
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import restart
from reroll.core.model.key import Key
from reroll.core.model.marks import written
from reroll.core.model.metadata import Manifest, text_at
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.write.patches import RESTARTED_AT
from reroll.engine.listing import Listing
from reroll.engine.outcome import Outcome, Turn, report_of
from reroll.kube import api, resources
from reroll.kube.errors import ApiError, Forbidden, NotFound
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.pipeline.follow import Hooks
from reroll.pipeline.run import Run
from reroll.pipeline.work import Options, Stage, Work

EVENTS_WITHIN = 5.0
ONE_WITHIN = 20.0
"""Seconds in which a restart of one workload has to be written."""


class Restarts:
    def __init__(self, view: View, clock: Clock, listing: Listing, why: str) -> None:
        self._view, self._clock, self._listing, self._why = view, clock, listing, why

    def plan(self, snapshot: Snapshot, now: datetime) -> Plan:
        return restart(snapshot, now, self._why, self._listing.world.dialects)

    async def begin(self, run: Run, work: Work, deadline: datetime) -> None:
        now = self._clock.now()
        await run.until_written(work, deadline, lambda: self._attempt(run, work, now))

    async def _attempt(self, run: Run, work: Work, now: datetime) -> Outcome:
        """Decide again: it may have waited for its turn. `now` is the same for every attempt."""
        try:
            return await self._write(run, work, now)
        except ApiError as error:
            return run.executor.failed(work.key, error)

    async def _write(self, run: Run, work: Work, now: datetime) -> Outcome:
        manifest = await self._read(work)
        if _is_restarted(work, manifest, now):
            snapshot = self._bare(work.kind, manifest)
            return Outcome((report_of(Turn(snapshot, work.plan), Result.DONE),))
        await run.read_up(work)
        snapshot = await self.snapshot(work.kind, manifest)
        if hold := hold_of(snapshot, self._clock.now()):
            return Outcome((report_of(Turn(snapshot, hold), Result.HELD),))
        work.replan(manifest, self.plan(snapshot, now))
        return await run.executor.execute(snapshot, work.plan)

    async def _read(self, work: Work) -> Manifest:
        """The workload as it is now; and what its Namespace says, if that may be read."""
        with suppress(Forbidden):
            place = resources.NAMESPACES, None, work.key.namespace
            stub = await api.get(self._view.client, *place, Stub)
            self._listing.world.namespaces.observe(stub.metadata)
        manifest = await self._listing.observer.reader.workload(work.kind, work.key)
        if manifest is None:
            raise NotFound(f"{work.key} was deleted")
        return manifest

    async def snapshot(self, kind: Kind, manifest: Manifest) -> Snapshot:
        """What is known of a workload; of one that is not opted in, nothing but itself."""
        bare = self._bare(kind, manifest)
        return (await self._listing.decide(bare.workload.key)).snapshot or bare

    def _bare(self, kind: Kind, manifest: Manifest) -> Snapshot:
        world = self._listing.world
        itself = workload(kind, manifest, None, words=world.dialects.words)
        return Snapshot(itself, kind, world.policy_of(kind, manifest), (), {})


def _is_restarted(work: Work, manifest: Manifest, at: datetime) -> bool:
    """Whether it was done, and only the answer was lost."""
    path = work.kind.template
    mark = (*path, "metadata", "annotations", RESTARTED_AT)
    return bool(path) and text_at(manifest, mark) == written(at)


async def restart_one(view: View, clock: Clock, listing: Listing, key: Key, why: str) -> str:
    """Restart one workload of a listing, without waiting for its pods.

    Returns what is wrong, as a sentence; nothing if it is done.
    """
    listed = listing.workloads.get(key)
    if listed is None:
        return f"there is no {key}"
    if Strategy.RESTART not in listed.kind.strategies:
        return f"{listed.kind.name} {key.name} cannot be restarted"
    restarts = Restarts(view, clock, listing, why)
    snapshot = await restarts.snapshot(listed.kind, listed.manifest)
    if hold := hold_of(snapshot, clock.now()):
        return f"{key} is held, nothing is restarted: {hold.message}"
    work = Work(listed.kind, listed.manifest, restarts.plan(snapshot, clock.now()))
    identity = listing.world.sources.identity
    instance = f"reroll-{socket.gethostname()}"
    recorder = Recorder(view.client, clock, instance, identify=identity, on_drop=lambda: None)
    run = Run(view.client, clock, listing, Options(timeout=ONE_WITHIN), Hooks(recorder.record))
    sending = asyncio.create_task(recorder.run())
    try:
        await run.all([work], restarts.begin)
        with suppress(TimeoutError):
            async with asyncio.timeout(EVENTS_WITHIN):
                await recorder.flush()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    is_bad = work.has_failed or work.stage in {Stage.HELD, Stage.TIMED_OUT}
    return f"{key}: {work.detail or work.message}" if is_bad else ""
