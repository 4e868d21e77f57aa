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
from reroll.core.decided import Plan
from reroll.core.kinds import Kind, Strategy
from reroll.core.marks import write_marks
from reroll.core.objects import Key
from reroll.core.pins import write_pins_into
from reroll.core.pods import given
from reroll.core.policy import DOMAIN, STATE
from reroll.core.reasons import Reason
from reroll.core.records import write
from reroll.core.workloads import Manifest, Metadata, Workload, has_ended
from reroll.features.rollout.reader import resource
from reroll.features.rollout.roller import Outcome, Roller, Step, report
from reroll.features.rollout.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, NotFound

log = Log("reroll")
JOBS = wire.Resource("batch", "v1", "jobs", "Job")
KEPT = wire.Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
KEPT_JOB = DOMAIN + "kept-job"
"""The label of a ControllerRevision that keeps a Job while it is being made anew."""
LOOK_AGAIN = 0.5
WORKERS = 4


class _Stub(msgspec.Struct, gc=False):
    metadata: Metadata


class _Stubs(msgspec.Struct, gc=False):
    items: list[_Stub] | None = None


class Jobs:
    """Holds what the steps need; `install` makes them known to the roller."""

    def __init__(self, client: Client, clock: Clock, world: World, telemetry: Teller) -> None:
        self._client, self._world, self._telemetry = client, world, telemetry
        self._backoff = Backoff(clock)
        self._queue: Queue[Key] = Queue(clock)
        self._reports: dict[Key, Report] = {}
        """What to tell when a Job is there again."""

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
        manifest = msgspec.json.decode(raw, type=Manifest)
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
            delay: float | None = LOOK_AGAIN
            try:
                if await self._go_on(kept):
                    self._backoff.succeeded(kept)
                    delay = None
            except ApiError as error:
                delay = self._backoff.failed(kept, error.retry_after or 0.0)
                self._failed(kept, error)
            finally:
                self._queue.done(kept)
            if delay is not None:
                self._queue.add(kept, delay)

    async def _go_on(self, kept: Key) -> bool:
        """Do the next steps; whether it was the last."""
        try:
            raw = await self._client.send(wire.get(KEPT, kept.namespace, kept.name))
        except NotFound:
            return await self._is_done(kept)
        written: dict[str, Any] = msgspec.json.decode(raw)
        job, old = written["data"]["job"], written["data"]["uid"]
        name = job["metadata"]["name"]
        there = await self._job(kept.namespace, name)
        if there is not None and there.uid == old:
            if there.deletion_timestamp is None:
                # Its pods first: the old ones and the new ones never run at the same time.
                request = wire.delete(JOBS, kept.namespace, name, uid=old, propagation="Foreground")
                with suppress(NotFound, Conflict):
                    await self._client.send(request)
            return False
        if there is None:
            raw = await self._client.send(wire.create(JOBS, kept.namespace, job))
            there = msgspec.json.decode(raw, type=_Stub).metadata
        with suppress(NotFound, Conflict):
            uid = written["metadata"]["uid"]
            await self._client.send(wire.delete(KEPT, kept.namespace, kept.name, uid=uid))
        self._made(kept, there)
        return True

    async def _is_done(self, kept: Key) -> bool:
        """Nothing is written down: it was done before, or by another leader."""
        if told := self._reports.get(kept):
            there = await self._job(kept.namespace, told.key.name)
            if there is None:
                del self._reports[kept]  # Somebody deleted it since.
            else:
                self._made(kept, there)
        return True

    async def _job(self, namespace: str, name: str) -> Metadata | None:
        try:
            raw = await self._client.send(wire.get(JOBS, namespace, name, metadata_only=True))
        except NotFound:
            return None
        return msgspec.json.decode(raw, type=_Stub).metadata

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
