"""The strategies that deal with each pod: evict and reload.

Each step can be tried again from the start at any time: it looks at what is there and does what is
still missing. Which pods are old is decided by the API server's clock alone: it dates the pods, and
it dates the write of the record that began the roll. Ours may be wrong.
"""

from datetime import datetime
from math import inf

import msgspec

from reroll.clock import Clock
from reroll.core.decide.actions import Evict, Reload
from reroll.core.model.key import Key
from reroll.core.model.metadata import replicas
from reroll.core.observe.provenance import Stub as Provenance
from reroll.core.observe.provenance import record_written
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.policy import Policy
from reroll.core.tables.kinds import Revisions
from reroll.core.tables.reasons import Reason
from reroll.engine.outcome import Blocked, Done, Later, Step, Turn
from reroll.engine.reader import Reader
from reroll.engine.strategies.addresses import is_of_a_pod
from reroll.engine.world import World
from reroll.http.fetch import fetch
from reroll.kube import api, lists, resources
from reroll.kube.aio import gather
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, NotFound, Throttled
from reroll.kube.objects import Pod, Stub, controller

LOOK_AGAIN = 1.0
"""Seconds between two looks at pods that are being replaced."""
PATIENCE = 60.0
"""Seconds without an eviction after which the report says what it waits for."""
SLOWLY = 10.0
"""Seconds between two looks from then on."""
RELOAD_TIMEOUT = 10.0
ASKED_AT_ONCE = 16
"""So many pods of one workload are asked to reload at the same time."""


class _Round(msgspec.Struct):
    """A roll that goes from pod to pod, as far as this process knows it."""

    begun: datetime
    """As the record has it."""
    since: datetime
    """Pods made by then are old, by the clock of the API server."""
    first_look: float
    """Monotonic seconds."""
    moved: float
    """When a pod was last evicted, or the first look; monotonic seconds too."""
    accepted: dict[str, float] = {}
    """Those that said yes to a reload, and when they were asked; monotonic seconds."""
    refused: dict[str, str] = {}
    """Those that did not, since all were asked for the last time, and what was wrong."""


class Pods:
    def __init__(self, client: Client, clock: Clock, world: World, reader: Reader) -> None:
        self._client, self._clock, self._world, self._reader = client, clock, world, reader
        self._rounds: dict[Key, _Round] = {}

    def forget(self, key: Key) -> None:
        """A workload needs no pods evicted or reloaded any more."""
        self._rounds.pop(key, None)

    async def _own_pods(self, snapshot: Snapshot) -> tuple[list[Pod], int]:
        """The pods of a workload and how many it should have.

        The pods of a Rollout that runs its template are its own.
        """
        workload = snapshot.workload
        runner = self._world.lenders.runner(workload.key)
        row = self._reader.kinds.get(runner.kind, snapshot.kind)
        manifest = await self._reader.workload(row, runner)
        if manifest is None:
            return [], 0
        namespace, labels = workload.key.namespace, api.selector(workload.selector)
        running = await lists.extract(
            self._client, resources.PODS, namespace, Pod, _if_running, label_selector=labels
        )
        if not (row.members and labels):
            owners = {workload.uid, manifest.metadata.uid}
            if row.revisions is Revisions.REPLICA_SETS:
                owners |= await self._owned_sets(namespace, labels, owners)
            running = [pod for pod in running if _owner(pod) in owners]
        # Otherwise its operator owns them, by whatever else it makes: its labels tell.
        return running, replicas(row, manifest)

    async def _owned_sets(self, namespace: str, labels: str, owners: set[str]) -> set[str]:
        def owned(one: Stub) -> str | None:
            return one.metadata.uid if _owner(one) in owners else None

        place = resources.REPLICA_SETS, namespace
        return set(await lists.extract(self._client, *place, Stub, owned, label_selector=labels))

    async def evict(self, turn: Turn, action: Evict) -> Step:
        """One pod at a time, through the Eviction API; the next when all the others are ready."""
        snapshot, now = turn.snapshot, await self._round(turn.snapshot, action.since)
        # Kubernetes tells whole seconds: wait one, so that no replacement looks like an old pod.
        too_early = now.first_look + 1.0 - self._clock.monotonic()
        if too_early > 0:
            return Later(too_early)
        pods, wanted = await self._own_pods(snapshot)
        old = [pod for pod in pods if pod.is_older_than(now.since)]
        if not old:
            self.forget(turn.key)
            return Done()
        if waits_for := _missing(pods, old, wanted):
            if self._clock.monotonic() - now.moved < PATIENCE:
                return Later(LOOK_AGAIN)
            reason = Reason.EVICTION_REFUSED
            return Blocked(reason, f"{reason.sentence}: {waits_for}", SLOWLY)
        # One that is not ready has the least to lose.
        return await self._evict(min(old, key=lambda p: (p.is_ready, p.metadata.name)), now)

    async def _evict(self, pod: Pod, now: _Round) -> Step:
        name = pod.metadata.name
        try:
            await api.evict(self._client, pod)
        except (NotFound, Conflict):
            return Later(0.0)
        except Throttled as error:
            wait = max(LOOK_AGAIN, error.retry_after or 0.0)
            reason = Reason.EVICTION_REFUSED
            return Blocked(reason, f"{reason.sentence}: {name}: {error.message}", wait)
        now.moved = self._clock.monotonic()
        return Later(LOOK_AGAIN)

    async def reload(self, turn: Turn, action: Reload) -> Step:
        """An HTTP request to each pod that is older than the change, until each accepted it.

        At once, and again when the kubelet has brought the files: the first may find the old ones.
        The step ends with the first that does not, so that pods that never answer hold a worker for
        one timeout; the next step goes on with the pods after those.
        """
        now = await self._round(turn.snapshot, action.since)
        files_there = now.first_look + turn.snapshot.policy.reload.again.total_seconds()
        enough = files_there if self._clock.monotonic() >= files_there else now.first_look
        pods, _ = await self._own_pods(turn.snapshot)
        old = [
            pod
            for pod in pods
            # One that has no node yet mounts what is there when it gets one.
            if pod.is_older_than(now.since)
            and pod.has("PodScheduled")
            and now.accepted.get(pod.metadata.uid, -inf) < enough
            and not pod.is_leaving
        ]
        left = [pod for pod in old if pod.metadata.uid not in now.refused]
        while left:
            some, left = left[:ASKED_AT_ONCE], left[ASKED_AT_ONCE:]
            if not await self._ask_some(some, turn.snapshot.policy, now):
                break
        if left:
            return Later(0.0)
        if refused := sorted(now.refused.values()):
            now.refused.clear()
            reason = Reason.RELOAD_REFUSED
            message = f"{reason.sentence}: {refused[0]}"
            return Blocked(reason, message, self._clock.jitter(4 * LOOK_AGAIN))
        if enough < files_there and now.accepted:
            return Later(max(0.0, files_there - self._clock.monotonic()))
        self.forget(turn.key)
        return Done()

    async def _ask_some(self, pods: list[Pod], policy: Policy, now: _Round) -> bool:
        """Ask these at the same time; whether all accepted."""
        asked = self._clock.monotonic()
        problems = await gather(self._ask(pod, policy) for pod in pods)
        for pod, problem in zip(pods, problems, strict=True):
            if problem:
                now.refused[pod.metadata.uid] = problem
            else:
                now.accepted[pod.metadata.uid] = asked
        return not any(problems)

    async def _round(self, snapshot: Snapshot, begun: datetime) -> _Round:
        """Another change begins another one."""
        key = snapshot.workload.key
        known = self._rounds.get(key)
        if known is None or known.begun != begun:
            place = resources.of(snapshot.kind), key.namespace, key.name
            stub = await api.get(self._client, *place, Provenance)
            first_look = self._clock.monotonic()
            written = record_written(stub.metadata)
            known = _Round(begun, written or begun, first_look, moved=first_look)
            self._rounds[key] = known
        return known

    async def _ask(self, pod: Pod, policy: Policy) -> str:
        """What is wrong, if something is."""
        to, address = policy.reload, pod.status.address
        if not address:
            return f"pod {pod.metadata.name} has no address yet"
        if not is_of_a_pod(address):
            return f"pod {pod.metadata.name} has the address {address}, which no pod has"
        host = f"[{address}]" if ":" in address else address
        url = f"{to.scheme}://{host}:{to.port}{to.path}"
        try:
            status, _ = await fetch(to.method, url, seconds=RELOAD_TIMEOUT, largest=0)
            problem = "" if 200 <= status < 300 else f"answered {status}"
        except TimeoutError:
            problem = f"no answer within {RELOAD_TIMEOUT:g} s"
        except OSError as error:
            problem = str(error)
        return problem and f"pod {pod.metadata.name}, {to.method} {url}: {problem}"


def _if_running(pod: Pod) -> Pod | None:
    lists.shed(pod.metadata)
    return None if pod.is_over else pod


def _owner(stub: Pod | Stub) -> str:
    owner = controller(stub.metadata)
    return owner.uid if owner else ""


def _missing(pods: list[Pod], old: list[Pod], wanted: int) -> str:
    """What is to come before the next eviction, if something is."""
    if going := [pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp]:
        return f"{min(going)} has not ended yet"
    if unready := [pod.metadata.name for pod in pods if pod not in old and not pod.is_ready]:
        return f"{min(unready)}, which replaces another, is not ready"
    return f"{len(pods)} of {wanted} pods are there" if len(pods) < wanted else ""
