"""The strategies that make Jobs: trigger and recreate.

A Job is made anew in steps, because a running one cannot be changed: it is written down in a
ControllerRevision, deleted, created, and then what was written down is deleted. Whoever finds one
written down goes on from wherever that stopped, so a Job is never lost.
"""

import asyncio
import hashlib
from contextlib import suppress
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result, Teller
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.marks import write_marks
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.podspec import given
from reroll.core.model.record import write
from reroll.core.observe.workload import Workload, has_ended
from reroll.core.revisions.copies import write_pins_into
from reroll.core.tables.annotations import DOMAIN, STATE
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.executor import Outcome, Roller, Step, report
from reroll.engine.reader import resource
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, NotFound

log = Log("reroll")
JOBS = wire.Resource("batch", "v1", "jobs", "Job")
KEPT = wire.Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
KEPT_JOB = DOMAIN + "kept-job"
"""The label of a ControllerRevision that keeps a Job while it is being made anew."""
LOOK_AGAIN = 0.5
PATIENCE = 60.0
"""Seconds that the pods of a deleted Job may take to end; most are given half of that."""
SLOWLY = 10.0
"""Seconds between two looks at pods that take longer."""
WORKERS = 4


class _Stub(msgspec.Struct, gc=False):
    metadata: Metadata


class _Stubs(msgspec.Struct, gc=False):
    items: list[_Stub] | None = None


_manifest = msgspec.json.Decoder(Manifest)


class Jobs:
    """Holds what the steps need; `install` makes them known to the roller."""

    def __init__(self, client: Client, clock: Clock, world: World, telemetry: Teller) -> None:
        self._client, self._clock = client, clock
        self._world, self._telemetry = world, telemetry
        self._backoff = Backoff(clock)
        self._queue: Queue[Key] = Queue(clock)
        self._reports: dict[Key, Report] = {}
        """What to tell when a Job is there again."""
        self._going: dict[Key, float] = {}
        """Since when a Job is seen to be deleted, in monotonic seconds."""

    def install(self, roller: Roller) -> None:
        roller.before[Strategy.TRIGGER] = self.trigger
        roller.before[Strategy.RECREATE] = self.recreate

    async def trigger(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """Start a Job of the CronJob now.

        Its name holds what it is started for, so that it is started once.
        """
        raw = await self._client.send(wire.get(resource(kind), seen.key.namespace, seen.key.name))
        cron = msgspec.json.decode(raw)
        number = decided.record.n if decided.record else 0
        what = hashlib.sha256(f"{seen.uid} {number} {decided.stamp}".encode()).hexdigest()
        job = _job_of(cron, f"{seen.key.name[:52]}-{what[:10]}")
        write_marks(job["spec"]["template"], decided.marks)
        _pin(job["spec"]["template"], seen, decided)
        # It is there if somebody was stopped before the record was written.
        with suppress(AlreadyExists):
            await self._client.send(wire.create(JOBS, seen.key.namespace, job))
        return Step.DONE

    async def recreate(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """Write the Job down as it shall be, with its new record; `run` does the rest."""
        raw = await self._client.send(wire.get(resource(kind), seen.key.namespace, seen.key.name))
        manifest = _manifest.decode(raw)
        if manifest.metadata.uid != seen.uid or decided.record is None or has_ended(manifest):
            return LOOK_AGAIN
        fresh = _fresh_job(msgspec.json.decode(raw))
        fresh["metadata"].setdefault("annotations", {})[STATE] = write(decided.record)
        write_marks(fresh["spec"]["template"], decided.marks)
        _pin(fresh["spec"]["template"], seen, decided)
        kept = Key(KEPT.kind, seen.key.namespace, f"{seen.key.name[:240]}-reroll-job")
        body = {
            "apiVersion": KEPT.api_version,
            "kind": KEPT.kind,
            "metadata": {"name": kept.name, "labels": {KEPT_JOB: "true"}},
            "revision": 1,
            "data": {"uid": seen.uid, "job": fresh},
        }
        try:
            await self._client.send(wire.create(KEPT, kept.namespace, body))
        except AlreadyExists:
            # Left by somebody who was stopped half way: that comes to its end first.
            self._queue.add(kept)
            return LOOK_AGAIN
        self._reports[kept] = report(kind, seen, decided, Result.DONE)
        self._queue.add(kept)
        return Step.TAKEN

    # What was written down

    async def run(self, namespaces: tuple[str | None, ...]) -> None:
        """Bring Jobs that are being made anew to their end, also those of an earlier process."""
        async with asyncio.TaskGroup() as group:
            for namespace in namespaces:
                group.create_task(self._find(namespace))
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _find(self, namespace: str | None) -> None:
        request = wire.list_page(
            KEPT, namespace, limit=0, label_selector=KEPT_JOB, metadata_only=True
        )
        while True:
            try:
                raw = await self._client.send(request)
                break
            except ApiError as error:
                log.warning("kept jobs", problem=str(error))
                await asyncio.sleep(self._backoff.failed(namespace, error.retry_after or 0.0))
        for one in given(msgspec.json.decode(raw, type=_Stubs).items):
            if self._world.namespaces.that_counts(one.metadata.namespace):
                self._queue.add(Key(KEPT.kind, one.metadata.namespace, one.metadata.name))

    async def _work(self) -> None:
        while True:
            kept = await self._queue.get()
            try:
                delay = await self._go_on(kept)
                if delay is None:
                    self._backoff.succeeded(kept)
                    self._going.pop(kept, None)
            except ApiError as error:
                delay = self._backoff.failed(kept, error.retry_after or 0.0)
                self._failed(kept, error)
            finally:
                self._queue.done(kept)
            if delay is not None:
                self._queue.add(kept, delay)

    async def _go_on(self, kept: Key) -> float | None:
        """Do the next steps; the seconds until it is worth looking again, if it is not done."""
        try:
            raw = await self._client.send(wire.get(KEPT, kept.namespace, kept.name))
        except NotFound:
            await self._is_done(kept)
            return None
        written: dict[str, Any] = msgspec.json.decode(raw)
        job, old = written["data"]["job"], written["data"]["uid"]
        there = await self._job(kept.namespace, job["metadata"]["name"])
        if there is not None and there.metadata.uid == old:
            if there.metadata.deletion_timestamp is not None:
                return self._is_going(kept, there.metadata)
            if not has_ended(there):
                await self._delete(there.metadata)
                return LOOK_AGAIN
        if there is None:
            raw = await self._client.send(wire.create(JOBS, kept.namespace, job))
            there = _manifest.decode(raw)
        with suppress(NotFound, Conflict):
            uid = written["metadata"]["uid"]
            await self._client.send(wire.delete(KEPT, kept.namespace, kept.name, uid=uid))
        if there.metadata.uid == old:
            self._left(kept, there.metadata)
        else:
            self._made(kept, there.metadata)
        return None

    async def _delete(self, job: Metadata) -> None:
        """Its pods first: the old ones and the new ones never run at the same time.

        Only as it was seen: it may have ended meanwhile, and is left alone then.
        """
        request = wire.delete(
            JOBS,
            job.namespace,
            job.name,
            uid=job.uid,
            resource_version=job.resource_version,
            propagation="Foreground",
        )
        with suppress(NotFound, Conflict):
            await self._client.send(request)

    def _is_going(self, kept: Key, job: Metadata) -> float:
        """Its pods keep it there: for good, if their node is dead."""
        now = self._clock.monotonic()
        if now - self._going.setdefault(kept, now) < PATIENCE:
            return LOOK_AGAIN
        reason = Reason.FAILED
        pods = f"kubectl get pods -n {job.namespace} -l job-name={job.name}"
        message = f"{reason.sentence}: it is being deleted, but its pods do not end; see `{pods}`"
        key = Key(JOBS.kind, job.namespace, job.name)
        self._telemetry.tell(
            Report(key, job.uid, JOBS.api_version, reason, message, result=Result.HELD)
        )
        return SLOWLY

    async def _is_done(self, kept: Key) -> None:
        """Nothing is written down: it was done before, or by another leader."""
        if told := self._reports.get(kept):
            there = await self._job(kept.namespace, told.key.name)
            if there is None or there.metadata.uid == told.uid:
                del self._reports[kept]  # Somebody deleted it since, or it had ended.
            else:
                self._made(kept, there.metadata)

    async def _job(self, namespace: str, name: str) -> Manifest | None:
        try:
            raw = await self._client.send(wire.get(JOBS, namespace, name))
        except NotFound:
            return None
        return _manifest.decode(raw)

    def _left(self, kept: Key, job: Metadata) -> None:
        """It ended before it could be deleted: what it did with the old configuration is done."""
        self._reports.pop(kept, None)
        log.info("job has ended", workload=f"Job {job.namespace}/{job.name}")

    def _made(self, kept: Key, job: Metadata) -> None:
        told = self._reports.pop(kept, None)
        if told is None:
            log.info("job is there again", workload=f"Job {job.namespace}/{job.name}")
        else:
            self._telemetry.tell(msgspec.structs.replace(told, uid=job.uid))

    def _failed(self, kept: Key, error: ApiError) -> None:
        log.warning("job is not there again yet", kept=str(kept), problem=str(error))
        if told := self._reports.get(kept):
            message = f"{Reason.FAILED.sentence}: {error}"
            failed = msgspec.structs.replace(
                told, reason=Reason.FAILED, message=message, result=Result.FAILED, strategy=""
            )
            self._telemetry.tell(failed)


def _pin(template: dict[str, Any], seen: Workload, decided: Plan) -> None:
    if decided.pins is not None and decided.record is not None:
        write_pins_into(template, decided.pins, seen.pins, named=decided.record.named)


def _job_of(cron: dict[str, Any], name: str) -> dict[str, Any]:
    """What `kubectl create job --from` makes of a CronJob."""
    template = cron["spec"]["jobTemplate"]
    meta = template.get("metadata", {})
    manual = {"cronjob.kubernetes.io/instantiate": "manual"}
    owner = {
        "apiVersion": cron["apiVersion"],
        "kind": cron["kind"],
        "name": cron["metadata"]["name"],
        "uid": cron["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": meta.get("labels", {}),
            "annotations": {**meta.get("annotations", {}), **manual},
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }


_JOB_LABELS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    }
)


def _fresh_job(job: dict[str, Any]) -> dict[str, Any]:
    """The Job as somebody would create it: without what Kubernetes itself filled in."""
    metadata = job["metadata"]
    spec = dict(job["spec"])
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        template = dict(spec["template"])
        meta = dict(template.get("metadata", {}))
        meta["labels"] = _own_labels(meta)
        template["metadata"] = meta
        spec["template"] = template
    kept = {k: metadata[k] for k in ("name", "annotations", "ownerReferences") if k in metadata}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**kept, "labels": _own_labels(metadata)},
        "spec": spec,
    }


def _own_labels(metadata: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = metadata.get("labels") or {}
    return {key: value for key, value in labels.items() if key not in _JOB_LABELS}
