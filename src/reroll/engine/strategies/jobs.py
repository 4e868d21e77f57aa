"""The strategies that make Jobs: trigger and recreate.

A Job is replaced in steps, because a running one cannot be changed: it is written down in a
ControllerRevision, deleted, created, and then the ControllerRevision is deleted. A process that
finds one written down goes on from wherever that stopped, so a Job is never lost.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result
from reroll.controller.worker import Worker, delay_after
from reroll.core.decide.actions import RecreateJob, StartJob
from reroll.core.model.key import Key
from reroll.core.model.marks import write_marks
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.record import write
from reroll.core.observe.workload import Workload, has_ended
from reroll.core.revisions.copies import write_pins_into
from reroll.core.tables.annotations import STATE
from reroll.core.tables.reasons import Reason
from reroll.engine.outcome import (
    Blocked,
    Done,
    Later,
    Outcome,
    Step,
    TakenOver,
    Turn,
    report_of,
    words_of,
)
from reroll.engine.strategies.job_documents import (
    forbids_two,
    fresh_job,
    job_of,
    name_of_run,
    running,
)
from reroll.engine.strategies.pending_jobs import PENDING_JOB, PendingJob, written_down
from reroll.engine.world import World
from reroll.kube import api, lists, resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Malformed
from reroll.kube.objects import Stub
from reroll.kube.wire import Deletion, Resource, Which

log = Log("reroll")
LOOK_AGAIN = 0.5
PATIENCE = 60.0
"""Seconds that the pods of a deleted Job may take to end; most are given half of that."""
SLOWLY = 10.0
"""Seconds between two looks at pods that take longer."""
WORKERS = 4
OF_ONE_NAMESPACE = 2
Publish = Callable[[Report], None]


class Jobs:
    """`may_recreate`: whether what is written down is brought to its end here, see `run`."""

    def __init__(
        self, client: Client, clock: Clock, world: World, *, may_recreate: bool = True
    ) -> None:
        self._client, self._clock, self._world = client, clock, world
        self.may_recreate = may_recreate
        self._backoff = Backoff(clock)
        self._queue: Queue[Key] = Queue(clock, share=attrgetter("namespace"), most=OF_ONE_NAMESPACE)
        self._turns: dict[Key, Turn] = {}
        """What to report when a Job exists again."""
        self._leaving: dict[Key, float] = {}
        """Since when a Job is seen to be deleted, in monotonic seconds."""

    async def start(self, turn: Turn, action: StartJob) -> Step:
        """Start a Job of the CronJob now.

        Its name holds what it is started for, so that it is started once.
        """
        workload, kind = turn.snapshot.workload, turn.snapshot.kind
        cron = await self._document(resources.of(kind), turn.key)
        name = name_of_run(workload, turn.plan.changes)
        others = await self._running(cron) if forbids_two(cron) else []
        if others and name not in others:
            reason = Reason.JOB_RUNNING
            return Blocked(reason, f"{reason.sentence}: {others[0]}", SLOWLY)
        job = job_of(cron, name)
        write_marks(job["spec"]["template"], action.marks)
        _pin(job["spec"]["template"], workload, action)
        # It exists if the controller was stopped before the record was written.
        with suppress(AlreadyExists):
            await api.create(self._client, resources.JOBS, turn.key.namespace, job, Stub)
        return Done()

    async def _running(self, cron: dict[str, Any]) -> list[str]:
        place, own = cron["metadata"]["namespace"], partial(running, cron["metadata"]["uid"])
        return sorted(await lists.extract(self._client, resources.JOBS, place, Manifest, own))

    async def recreate(self, turn: Turn, action: RecreateJob) -> Step:
        """Write the Job down as it shall be, with its new record; `run` does the rest."""
        workload = turn.snapshot.workload
        document = await self._document(resources.JOBS, turn.key)
        manifest = msgspec.json.decode(msgspec.json.encode(document), type=Manifest)
        if manifest.metadata.uid != workload.uid or has_ended(manifest):
            return Later(LOOK_AGAIN)
        job = fresh_job(document)
        job["metadata"]["annotations"][STATE] = write(action.record)
        write_marks(job["spec"]["template"], action.marks)
        _pin(job["spec"]["template"], workload, action)
        revisions = resources.CONTROLLER_REVISIONS
        pending = written_down(turn.key)
        body = {
            "apiVersion": revisions.api_version,
            "kind": revisions.kind,
            "metadata": {"name": pending.name, "labels": {PENDING_JOB: "true"}},
            "revision": 1,
            "data": {"uid": workload.uid, "job": job, "marks": True},
        }
        try:
            await api.create(self._client, revisions, pending.namespace, body, Stub)
        except AlreadyExists:
            # Left by a process that was stopped half way: that comes to its end first.
            self._queue.add(pending)
            return Later(LOOK_AGAIN)
        self._discard(pending)
        self._turns[pending] = turn
        self._queue.add(pending)
        return TakenOver()

    async def _document(self, resource: Resource, key: Key) -> dict[str, Any]:
        raw = await self._client.send(wire.get(resource, key.namespace, key.name))
        return decoded(raw, dict[str, Any], str(key))

    # Jobs that are written down

    async def run(self, namespaces: tuple[str | None, ...], publish: Publish) -> None:
        """Replace the Jobs that are written down; publish reports.

        Also those that an earlier process wrote down in these namespaces, see `take_up` for single
        ones.
        """

        async def reconcile(pending: Key) -> float | None:
            outcome = await self._reconcile(pending)
            for report in outcome.reports:
                publish(report)
            return outcome.delay

        def failed(pending: Key, error: Exception) -> float:
            for report in self._failed(pending, error):
                publish(report)
            return delay_after(self._backoff, pending, error)

        worker = Worker(self._queue, reconcile, self._backoff, on_error=failed, noun="job")
        try:
            async with asyncio.TaskGroup() as group:
                for namespace in namespaces:
                    group.create_task(self._find(namespace))
                group.create_task(worker.run(WORKERS))
        finally:
            self._turns.clear()
            self._leaving.clear()

    def take_up(self, job: Key) -> None:
        """Go on with a Job that an earlier process wrote down."""
        self._queue.add(written_down(job))

    async def _find(self, namespace: str | None) -> None:
        """Queue what an earlier process left."""
        revisions = resources.CONTROLLER_REVISIONS
        which: Which = {"label_selector": PENDING_JOB}
        while True:
            try:
                async for page in api.pages(self._client, revisions, namespace, Stub, **which):
                    for stub in page.items:
                        metadata = stub.metadata
                        if self._world.namespaces.that_counts(metadata.namespace):
                            self._queue.add(Key(revisions.kind, metadata.namespace, metadata.name))
            except ApiError as error:
                log.warning("pending jobs", problem=str(error))
                await asyncio.sleep(self._backoff.failed(namespace, error.retry_after or 0.0))
            else:
                return

    async def _reconcile(self, pending: Key) -> Outcome:
        """Do the next step."""
        place = resources.CONTROLLER_REVISIONS, pending.namespace, pending.name
        try:
            written = await api.find(self._client, *place, PendingJob)
            key, body = (written.key, written.document) if written else (pending, {})
        except Malformed as error:
            # No Job can be made of it, and it stays as it is.
            log.warning("pending job", revision=str(pending), problem=str(error))
            self._discard(pending)
            return Outcome()
        if written is None:
            return await self._settled(pending)
        old = written.data.uid
        job = await self._job(key)
        if await self._is_deleted_by_another(written, job):
            log.info("job was deleted by another", workload=str(key))
            await self._forget(pending, written)
            self._discard(pending)
            return Outcome()
        if job is not None and job.metadata.uid == old:
            if job.metadata.deletion_timestamp is not None:
                return self._waits(pending, job.metadata)
            if not has_ended(job):
                await self._delete(written, job.metadata)
                return Outcome(delay=LOOK_AGAIN)
        if job is None:
            job = await api.create(self._client, resources.JOBS, pending.namespace, body, Manifest)
        await self._forget(pending, written)
        return self._replaced(pending, job.metadata, old)

    async def _forget(self, pending: Key, written: PendingJob) -> None:
        """Nothing more is to be done about what is written down."""
        place = resources.CONTROLLER_REVISIONS, pending.namespace, pending.name
        with suppress(Conflict):
            await api.delete(self._client, *place, uid=written.metadata.uid)

    def _discard(self, pending: Key) -> Turn | None:
        """Remember nothing of it; what was to be reported."""
        self._leaving.pop(pending, None)
        return self._turns.pop(pending, None)

    async def _is_deleted_by_another(self, written: PendingJob, job: Manifest | None) -> bool:
        """Whether the owner of the Job deleted it, so that it must not come back.

        Only the cluster says so: any process may have deleted it to replace it. Where it does not
        say, the Job comes back. A deletion of ours leaves none of its pods behind.
        """
        if job is not None:
            return written.is_not_deleted_by_us(job.metadata)
        labels = f"batch.kubernetes.io/controller-uid={written.data.uid}"
        where = resources.PODS, written.metadata.namespace, Stub, written.before
        try:
            before = await lists.extract(self._client, *where, label_selector=labels)
        except Forbidden:
            return False  # A role of an earlier release: it comes back, as it did then.
        return bool(before)

    async def _delete(self, written: PendingJob, job: Metadata) -> None:
        """Its pods first: the old ones and the new ones never run at the same time.

        Only as it was seen: it may have ended since, and is left alone then.
        """
        place = resources.JOBS, job.namespace, job.name
        with suppress(Conflict):
            if not written.has_marked(job):
                job = (await api.merge(self._client, *place, written.mark(job), Stub)).metadata
            guard: Deletion = {
                "uid": job.uid,
                "resource_version": job.resource_version,
                "propagation": "Foreground",
            }
            await api.delete(self._client, *place, **guard)

    def _waits(self, pending: Key, job: Metadata) -> Outcome:
        """Its pods keep it: for good, if their node is dead."""
        now = self._clock.monotonic()
        if now - self._leaving.setdefault(pending, now) < PATIENCE:
            return Outcome(delay=LOOK_AGAIN)
        reason = Reason.FAILED
        pods = f"kubectl get pods -n {job.namespace} -l job-name={job.name}"
        message = f"{reason.sentence}: it is being deleted, but its pods do not end; see `{pods}`"
        key, api_version = Key("Job", job.namespace, job.name), resources.JOBS.api_version
        report = Report(key, job.uid, api_version, reason, message, result=Result.HELD)
        return Outcome((report,), SLOWLY)

    async def _settled(self, pending: Key) -> Outcome:
        """Nothing is written down: it was done before, or by another leader."""
        turn = self._turns.get(pending)
        job = await self._job(turn.key) if turn else None
        if turn is None or job is None:  # If there is none, it was deleted since.
            self._discard(pending)
            return Outcome()
        return self._replaced(pending, job.metadata, turn.snapshot.workload.uid)

    async def _job(self, key: Key) -> Manifest | None:
        return await api.find(self._client, resources.JOBS, key.namespace, key.name, Manifest)

    def _replaced(self, pending: Key, job: Metadata, old: str) -> Outcome:
        turn, name = self._discard(pending), f"Job {job.namespace}/{job.name}"
        if job.uid == old:
            # It ended before it could be deleted: what it did with the old configuration is done.
            log.info("job has ended", workload=name)
            return Outcome()
        if turn is None:
            log.info("job is replaced", workload=name)
            return Outcome()
        report = report_of(turn, Result.DONE)
        return Outcome((msgspec.structs.replace(report, uid=job.uid),))

    def _failed(self, pending: Key, error: Exception) -> tuple[Report, ...]:
        problem = words_of(error)
        log.warning("job is not replaced yet", revision=str(pending), problem=problem)
        turn = self._turns.get(pending)
        if turn is None:
            return ()
        report = report_of(turn, Result.FAILED)
        message = f"{Reason.FAILED.sentence}: {problem}"
        return (
            msgspec.structs.replace(report, reason=Reason.FAILED, message=message, strategy=""),
        )


def _pin(template: dict[str, Any], workload: Workload, action: StartJob | RecreateJob) -> None:
    if action.pins is not None:
        write_pins_into(template, action.pins, workload.pins, named=action.record.named)
