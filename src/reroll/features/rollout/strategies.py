"""The strategies that take more than a patch: evict, reload, trigger and recreate.

Each step can be tried again from the start at any time: it looks at what is there and does what is
still missing.
"""

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import Any

import aiohttp
import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.core.kinds import Kind, Strategy
from reroll.core.objects import Key
from reroll.core.plan import Plan
from reroll.core.pods import given
from reroll.core.policy import DOMAIN, STATE, Policy
from reroll.core.records import write
from reroll.core.workloads import Metadata, Owner, Workload, replicas
from reroll.features.rollout.reader import Reader, resource
from reroll.features.rollout.roller import Outcome, Roller, Step
from reroll.features.rollout.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, Conflict, NotFound, Throttled

log = Log("reroll")
JOBS = wire.Resource("batch", "v1", "jobs", "Job")
REVISIONS = wire.Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
KEPT_JOB = DOMAIN + "kept-job"
"""The label of a ControllerRevision that keeps a Job while it is being made anew."""

LOOK_AGAIN = 1.0
"""Seconds between two looks at pods that are being replaced."""
RELOAD_TIMEOUT = 10.0


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""


class _PodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    pod_ip: str = ""
    conditions: list[_Condition] | None = None


class Pod(msgspec.Struct, gc=False):
    metadata: Metadata
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    @property
    def is_ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions or ())

    @property
    def is_over(self) -> bool:
        return self.status.phase in {"Succeeded", "Failed"}

    def is_older_than(self, moment: datetime) -> bool:
        made = self.metadata.creation_timestamp
        # Kubernetes tells whole seconds: a pod of the same second may be older.
        return made is not None and made <= moment


class _Pods(msgspec.Struct, gc=False):
    items: list[Pod] | None = None


class _Owned(msgspec.Struct, gc=False):
    metadata: Metadata


_pods = msgspec.json.Decoder(_Pods)


class Strategies:
    """Holds what the steps need; `install` makes them known to the roller."""

    def __init__(self, client: Client, clock: Clock, world: World, reader: Reader) -> None:
        self._client, self._clock, self._world, self._reader = client, clock, world, reader
        self._reloaded: dict[Key, set[str]] = {}

    def install(self, roller: Roller) -> None:
        roller.before[Strategy.TRIGGER] = self.trigger
        roller.before[Strategy.RECREATE] = self.recreate
        roller.after[Strategy.EVICT.value] = self.evict
        roller.after[Strategy.RELOAD.value] = self.reload

    # Pods

    async def _own_pods(self, seen: Workload) -> list[Pod]:
        """The pods of a workload, through its ReplicaSets if it has them."""
        selector = ",".join(f"{key}={value}" for key, value in seen.selector)
        request = wire.list_page(wire.PODS, seen.key.namespace, limit=0, label_selector=selector)
        pods = given(_pods.decode(await self._client.send(request)).items)
        owners = {seen.uid} | await self._owned_sets(seen, selector)
        return [
            pod
            for pod in pods
            if not pod.is_over and _controller(pod.metadata.owner_references) in owners
        ]

    async def _owned_sets(self, seen: Workload, selector: str) -> set[str]:
        sets = wire.Resource("apps", "v1", "replicasets", "ReplicaSet")
        if seen.key.kind not in {"Deployment", "Rollout"}:
            return set()
        request = wire.list_page(
            sets, seen.key.namespace, limit=0, label_selector=selector, metadata_only=True
        )
        found = msgspec.json.decode(await self._client.send(request), type=_Metadatas).items
        return {
            one.metadata.uid
            for one in given(found)
            if _controller(one.metadata.owner_references) == seen.uid
        }

    async def evict(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """One pod at a time, through the Eviction API; the next when all the others are ready."""
        since = decided.resume.since if decided.resume else self._clock.now()
        # Kubernetes tells whole seconds: wait one, so that no replacement looks like an old pod.
        too_early = 1.0 - (self._clock.now() - since.replace(microsecond=0)).total_seconds()
        if too_early > 0:
            return too_early
        manifest = await self._reader.workload(kind, seen.key)
        if manifest is None:
            return Step.DONE
        pods = await self._own_pods(seen)
        old = [pod for pod in pods if pod.is_older_than(since)]
        if not old:
            return Step.DONE
        standing = [pod for pod in pods if not pod.metadata.deletion_timestamp]
        fresh_are_ready = all(pod.is_ready for pod in standing if pod not in old)
        if len(standing) < max(len(pods), replicas(kind, manifest)) or not fresh_are_ready:
            return LOOK_AGAIN
        # One that is not ready has the least to lose.
        pod = min(old, key=lambda p: (p.is_ready, p.metadata.name))
        request = wire.evict(seen.key.namespace, pod.metadata.name, uid=pod.metadata.uid)
        try:
            await self._client.send(request)
        except (NotFound, Conflict):
            return 0.0
        except Throttled as error:
            log.info("eviction waits", workload=str(seen.key), pod=pod.metadata.name)
            return max(LOOK_AGAIN, error.retry_after or 0.0)
        return LOOK_AGAIN

    async def reload(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:  # noqa: ARG002
        """An HTTP request to each pod that is older than the change, until each said yes."""
        since = decided.resume.since if decided.resume else self._clock.now()
        tracked = self._world.workloads.get(seen.key)
        policy = tracked.policy if tracked else Policy()
        asked = self._reloaded.setdefault(seen.key, set())
        old = [
            pod
            for pod in await self._own_pods(seen)
            if pod.is_older_than(since)
            and pod.status.pod_ip
            and pod.metadata.uid not in asked
            and not pod.metadata.deletion_timestamp
        ]
        results = await asyncio.gather(*(self._ask(pod, policy) for pod in old))
        asked.update(pod.metadata.uid for pod, ok in zip(old, results, strict=True) if ok)
        if not all(results):
            return self._clock.jitter(4 * LOOK_AGAIN)
        self._reloaded.pop(seen.key, None)
        return Step.DONE

    async def _ask(self, pod: Pod, policy: Policy) -> bool:
        to = policy.reload
        address = pod.status.pod_ip
        host = f"[{address}]" if ":" in address else address
        url = f"{to.scheme}://{host}:{to.port}{to.path}"
        limit = aiohttp.ClientTimeout(total=RELOAD_TIMEOUT)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, trust_env=False) as session,
                session.request(to.method, url, allow_redirects=False) as answer,
            ):
                ok = 200 <= answer.status < 300
                problem = f"answered {answer.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            ok, problem = False, type(error).__name__
        if not ok:
            log.warning("reload refused", pod=pod.metadata.name, url=url, problem=problem)
        return ok

    # Jobs

    async def trigger(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """Start a Job of the CronJob now; its name holds the number, so it is started once."""
        raw = await self._client.send(wire.get(resource(kind), seen.key.namespace, seen.key.name))
        cron = msgspec.json.decode(raw)
        number = decided.record.n if decided.record else 0
        name = f"{seen.key.name[:52]}-r{number}"
        template = cron["spec"]["jobTemplate"]
        meta = template.get("metadata", {})
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": seen.key.namespace,
                "labels": meta.get("labels", {}),
                "annotations": {
                    **meta.get("annotations", {}),
                    "cronjob.kubernetes.io/instantiate": "manual",
                },
                "ownerReferences": [_owner(cron)],
            },
            "spec": template["spec"],
        }
        try:
            await self._client.send(wire.create(JOBS, seen.key.namespace, job))
        except AlreadyExists:
            log.debug("job was there already", workload=str(seen.key), job=name)
        return Step.DONE

    async def recreate(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """Make the Job anew, with its new record; it is kept in a ControllerRevision meanwhile."""
        raw = await self._client.send(wire.get(resource(kind), seen.key.namespace, seen.key.name))
        job = msgspec.json.decode(raw)
        if job["metadata"]["uid"] != seen.uid or decided.record is None:
            return 0.0
        fresh = _fresh_job(job)
        fresh["metadata"].setdefault("annotations", {})[STATE] = write(decided.record)
        name = f"{seen.key.name[:240]}-reroll-job"
        kept = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "namespace": seen.key.namespace,
                "labels": {KEPT_JOB: "true"},
            },
            "revision": 1,
            "data": {"uid": seen.uid, "job": fresh},
        }
        try:
            await self._client.send(wire.create(REVISIONS, seen.key.namespace, kept))
        except AlreadyExists:
            # Left by somebody who was stopped half way: that comes to its end first.
            await self.finish_kept(seen.key.namespace, name)
            return 0.0
        await self.finish_kept(seen.key.namespace, name)
        return Step.WRITTEN

    async def finish_kept(self, namespace: str, name: str) -> None:
        """Bring a Job that is being made anew to its end, from wherever that stopped."""
        try:
            raw = await self._client.send(wire.get(REVISIONS, namespace, name))
        except NotFound:
            return
        kept: dict[str, Any] = msgspec.json.decode(raw)
        job, uid = kept["data"]["job"], kept["data"]["uid"]
        job_name = job["metadata"]["name"]
        # It may be gone already, or the new one may have its name.
        with suppress(NotFound, Conflict):
            await self._client.send(
                wire.delete(JOBS, namespace, job_name, uid=uid, propagation="Background")
            )
        while True:
            try:
                await self._client.send(wire.create(JOBS, namespace, job))
                break
            except AlreadyExists:
                there = await self._job_uid(namespace, job_name)
                if there is not None and there != uid:
                    break
                await asyncio.sleep(0.2)
        await self._client.send(wire.delete(REVISIONS, namespace, name))

    async def _job_uid(self, namespace: str, name: str) -> str | None:
        try:
            raw = await self._client.send(wire.get(JOBS, namespace, name, metadata_only=True))
        except NotFound:
            return None
        return msgspec.json.decode(raw, type=_Owned).metadata.uid

    async def finish_all_kept(self, namespace: str | None) -> None:
        """After a start: Jobs that somebody was making anew when the process ended."""
        request = wire.list_page(
            REVISIONS, namespace, limit=0, label_selector=KEPT_JOB, metadata_only=True
        )
        found = msgspec.json.decode(await self._client.send(request), type=_Metadatas).items
        for one in given(found):
            await self.finish_kept(one.metadata.namespace, one.metadata.name)


class _Metadatas(msgspec.Struct, gc=False):
    items: list[_Owned] | None = None


def _controller(owners: list[Owner] | None) -> str:
    return next((owner.uid for owner in owners or () if owner.controller), "")


def _owner(obj: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
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
        labels = meta.get("labels") or {}
        meta["labels"] = {k: v for k, v in labels.items() if k not in _JOB_LABELS}
        template["metadata"] = meta
        spec["template"] = template
    kept = {
        k: metadata[k]
        for k in ("name", "namespace", "annotations", "ownerReferences")
        if k in metadata
    }
    labels = metadata.get("labels") or {}
    kept["labels"] = {k: v for k, v in labels.items() if k not in _JOB_LABELS}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": kept, "spec": spec}
