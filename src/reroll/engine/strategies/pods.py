"""The strategies that deal with each pod: evict and reload.

Each step can be tried again from the start at any time: it looks at what is there and does what is
still missing. Which pods are old is told by the API server's clock alone: it dates the pods, and it
dates the write of the record that began the roll. Ours may be wrong.
"""

from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata, Owner, replicas
from reroll.core.model.podspec import given
from reroll.core.observe.provenance import Stub, record_written
from reroll.core.observe.workload import Workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.kinds import Kind, Revisions, Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.executor import Held, Outcome, Roller, Step
from reroll.engine.reader import Reader, resource
from reroll.engine.world import World
from reroll.http.fetch import fetch
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, NotFound, Throttled
from reroll.kube.together import together

log = Log("reroll")
REPLICA_SETS = wire.Resource("apps", "v1", "replicasets", "ReplicaSet")
LOOK_AGAIN = 1.0
"""Seconds between two looks at pods that are being replaced."""
PATIENCE = 60.0
"""Seconds without an eviction after which people are told what it waits for."""
SLOWLY = 10.0
"""Seconds between two looks from then on."""
RELOAD_TIMEOUT = 10.0


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str = ""


class _PodStatus(msgspec.Struct, gc=False):
    phase: str = ""
    address: str = msgspec.field(name="podIP", default="")
    conditions: list[_Condition] | None = None


class Pod(msgspec.Struct, gc=False):
    metadata: Metadata
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)

    def has(self, condition: str) -> bool:
        return any(
            c.type == condition and c.status == "True" for c in given(self.status.conditions)
        )

    @property
    def is_ready(self) -> bool:
        return self.has("Ready")

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


class _Sets(msgspec.Struct, gc=False):
    items: list[_Owned] | None = None


_pods = msgspec.json.Decoder(_Pods)
_sets = msgspec.json.Decoder(_Sets)
_stub = msgspec.json.Decoder(Stub)


@dataclass(slots=True)
class _Round:
    """A roll that goes from pod to pod, as far as this process knows it."""

    begun: datetime
    """As the record has it."""
    since: datetime
    """Pods made by then are old, by the clock of the API server."""
    first_look: float
    """Monotonic seconds."""
    moved: float
    """When a pod was last evicted, or the first look; monotonic seconds too."""
    asked: set[str] = field(default_factory=set)
    """Those that said yes to a reload."""


class Pods:
    """Holds what the steps need; `install` makes them known to the roller."""

    def __init__(self, client: Client, clock: Clock, world: World, reader: Reader) -> None:
        self._client, self._clock, self._world, self._reader = client, clock, world, reader
        self._rounds: dict[Key, _Round] = {}

    def install(self, roller: Roller) -> None:
        roller.after[Strategy.EVICT.value] = self.evict
        roller.after[Strategy.RELOAD.value] = self.reload

    async def _own_pods(self, kind: Kind, seen: Workload) -> tuple[list[Pod], int]:
        """The pods of a workload and how many it should have.

        Those of a Rollout that runs its template are its own.
        """
        runner = self._world.lenders.runner(seen.key)
        row = self._reader.kinds.get(runner.kind, kind)
        manifest = await self._reader.workload(row, runner)
        if manifest is None:
            return [], 0
        selector = ",".join(f"{key}={value}" for key, value in seen.selector)
        request = wire.list_page(wire.PODS, seen.key.namespace, limit=0, label_selector=selector)
        pods = given(_pods.decode(await self._client.send(request)).items)
        owners = {seen.uid, manifest.metadata.uid}
        if row.revisions is Revisions.REPLICA_SETS:
            owners |= await self._owned_sets(seen.key.namespace, selector, owners)
        mine = [p for p in pods if not p.is_over and _owner(p.metadata.owner_references) in owners]
        if row.members and selector:
            # Its operator owns them, by whatever else it makes: its labels are what tells.
            mine = [p for p in pods if not p.is_over]
        return mine, replicas(row, manifest)

    async def _owned_sets(self, namespace: str, selector: str, owners: set[str]) -> set[str]:
        request = wire.list_page(
            REPLICA_SETS, namespace, limit=0, label_selector=selector, metadata_only=True
        )
        found = given(_sets.decode(await self._client.send(request)).items)
        return {
            one.metadata.uid for one in found if _owner(one.metadata.owner_references) in owners
        }

    async def evict(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """One pod at a time, through the Eviction API; the next when all the others are ready."""
        now = await self._round(kind, seen, decided)
        # Kubernetes tells whole seconds: wait one, so that no replacement looks like an old pod.
        too_early = now.first_look + 1.0 - self._clock.monotonic()
        if too_early > 0:
            return too_early
        pods, wanted = await self._own_pods(kind, seen)
        old = [pod for pod in pods if pod.is_older_than(now.since)]
        if not old:
            del self._rounds[seen.key]
            return Step.DONE
        if waits_for := _missing(pods, old, wanted):
            if self._clock.monotonic() - now.moved < PATIENCE:
                return LOOK_AGAIN
            reason = Reason.EVICTION_REFUSED
            return Held(reason, f"{reason.sentence}: {waits_for}", SLOWLY)
        # One that is not ready has the least to lose.
        return await self._evict(min(old, key=lambda p: (p.is_ready, p.metadata.name)), now)

    async def _evict(self, pod: Pod, now: _Round) -> Outcome:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        try:
            await self._client.send(wire.evict(namespace, name, uid=pod.metadata.uid))
        except (NotFound, Conflict):
            return 0.0
        except Throttled as error:
            wait = max(LOOK_AGAIN, error.retry_after or 0.0)
            reason = Reason.EVICTION_REFUSED
            return Held(reason, f"{reason.sentence}: {name}: {error.message}", wait)
        now.moved = self._clock.monotonic()
        return LOOK_AGAIN

    async def reload(self, kind: Kind, seen: Workload, decided: Plan) -> Outcome:
        """An HTTP request to each pod that is older than the change, until each said yes."""
        now = await self._round(kind, seen, decided)
        tracked = self._world.workloads.get(seen.key)
        policy = tracked.policy if tracked else Policy()
        pods, _ = await self._own_pods(kind, seen)
        old = [
            pod
            for pod in pods
            # One that has no node yet mounts what is there when it gets one.
            if pod.is_older_than(now.since)
            and pod.has("PodScheduled")
            and pod.metadata.uid not in now.asked
            and not pod.metadata.deletion_timestamp
        ]
        problems = await together(self._ask(pod, policy) for pod in old)
        now.asked.update(p.metadata.uid for p, bad in zip(old, problems, strict=True) if not bad)
        if refused := sorted(filter(None, problems)):
            reason = Reason.RELOAD_REFUSED
            message = f"{reason.sentence}: {refused[0]}"
            return Held(reason, message, self._clock.jitter(4 * LOOK_AGAIN))
        del self._rounds[seen.key]
        return Step.DONE

    async def _round(self, kind: Kind, seen: Workload, decided: Plan) -> _Round:
        """Another change begins another one."""
        begun = decided.resume.since if decided.resume else self._clock.now()
        known = self._rounds.get(seen.key)
        if known is None or known.begun != begun:
            request = wire.get(
                resource(kind), seen.key.namespace, seen.key.name, metadata_only=True
            )
            written = record_written(_stub.decode(await self._client.send(request)).metadata)
            first_look = self._clock.monotonic()
            known = _Round(begun, written or begun, first_look, moved=first_look)
            self._rounds[seen.key] = known
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


def _owner(owners: list[Owner] | None) -> str:
    return next((owner.uid for owner in owners or () if owner.controller), "")


def _missing(pods: list[Pod], old: list[Pod], wanted: int) -> str:
    """What is to come before the next eviction, if something is."""
    if going := [pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp]:
        return f"{min(going)} has not ended yet"
    if unready := [pod.metadata.name for pod in pods if pod not in old and not pod.is_ready]:
        return f"{min(unready)}, which replaces another, is not ready"
    return f"{len(pods)} of {wanted} pods are there" if len(pods) < wanted else ""


LOCALHOST = frozenset(map(ip_address, ("127.0.0.1", "::1")))
"""What listens there alone trusts whoever asks."""


def is_of_a_pod(address: str) -> bool:
    """Not one at which a cloud gives credentials away, nor one of our own machine.

    Whoever may write the status of a pod must not have us ask there.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return not (ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip in LOCALHOST)
