"""Leader election on a Lease: one of many replicas acts.

Guarantees
- A holder that cannot renew stops being the leader `renew_deadline` after it sent its last good
  renewal; no other takes over before `lease_duration` after it saw that. `is_leader` holds to that
  even if the event loop hangs.
- Only local, monotonic time counts: the times in the Lease are for people, so clocks may differ.
- On the way out the Lease is given up, so that another takes over at once.
- Slowness alone costs nobody the lead: a holder sends a renewal every `retry_period`, whether the
  one before it was answered or not, so answers may take `renew_deadline - retry_period`. The Lease
  is taken on the condition that it was not written since it was read.

Assumption: clocks run about equally fast. Caveat: a Lease does not fence. A write that was on its
way when leadership ended may still arrive, so every write must be harmless from two leaders.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn, TypedDict, Unpack

import msgspec

from reroll.clock import Clock
from reroll.kube import resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.election import Move, Record, Timing, View, decide, observe, renewed
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound, Unavailable

RELEASE_TIMEOUT = 3.0
USUAL = Timing.of(7.0)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: Record | None = None


class Contending(TypedDict, total=False):
    """How to contend for a Lease."""

    timing: Timing
    on_started: Callable[[], None]
    on_stopped: Callable[[], None]


class Leadership:
    """One contender for one Lease. `run` it until cancelled; stop the work before you cancel it."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        namespace: str,
        name: str,
        identity: str,
        **how: Unpack[Contending],
    ) -> None:
        self.identity = identity
        self.problem: str | None = None
        """Why the Lease could not be read or written last time."""
        self._client = client
        self._clock = clock
        self._where = (resources.LEASES, namespace, name)
        self._on_started = how.get("on_started")
        self._on_stopped = how.get("on_stopped")
        self._timing = how.get("timing", USUAL)
        self._view = View()
        self._version = ""
        self._taken = asyncio.Event()
        """Another holds the Lease that we held."""

    @property
    def is_leader(self) -> bool:
        renewed_at = self._view.renewed_at
        if renewed_at is None:
            return False
        return self._clock.monotonic() < renewed_at + self._timing.renew_deadline

    @property
    def holder(self) -> str:
        """The holder of the Lease as far as we know; empty if there is none."""
        return (self._view.record.holder_identity if self._view.record else None) or ""

    async def run(self) -> NoReturn:
        try:
            while True:
                if self._view.renewed_at is None:
                    await self._attempt(self._contend)
                    await asyncio.sleep(self._pause())
                else:
                    await self._hold()
        finally:
            await self._release()

    async def _attempt(self, turn: Callable[[], Awaitable[None]]) -> None:
        try:
            await turn()
            self.problem = None
        except ApiError as error:
            self.problem = f"cannot hold the lease {'/'.join(self._where[1:])}: {error}"

    async def _contend(self) -> None:
        await self._look()
        await self._act_on_news()

    async def _hold(self) -> None:
        """Renew until the lead is lost, without waiting for the answers to earlier renewals."""
        renewals: set[asyncio.Task[None]] = set()
        try:
            while not (self._taken.is_set() or self._is_lost()):
                renewal = asyncio.create_task(self._attempt(self._act_on_news))
                renewals.add(renewal)
                renewal.add_done_callback(renewals.discard)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause()):
                        await self._taken.wait()
        finally:
            for renewal in renewals:
                renewal.cancel()
            await asyncio.gather(*renewals, return_exceptions=True)
        self._stop()

    async def _act_on_news(self) -> None:
        try:
            await self._act()
        except (Conflict, AlreadyExists, NotFound, Invalid):
            # Someone else wrote: see what is there now, and act on that.
            await self._look()
            await self._act()

    async def _act(self) -> None:
        match decide(self._view, self.identity, self._timing, self._clock.monotonic()):
            case Move.CREATE:
                await self._write(create=True)
            case Move.TAKE | Move.RENEW:
                await self._write(create=self._view.record is None)
            case Move.WAIT | Move.LOST:
                pass

    async def _look(self) -> None:
        record: Record | None = None
        try:
            raw = await self._send(wire.get(*self._where))
            lease = decoded(raw, _Lease, "the lease")
            record, self._version = lease.spec or Record(), lease.metadata.resource_version
        except NotFound:
            self._version = ""
        self._view = observe(self._view, record, self._clock.monotonic())
        if self._view.renewed_at is not None and self._is_lost():
            self._taken.set()

    async def _write(self, *, create: bool) -> None:
        sent_at = self._clock.monotonic()
        at = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        started = self._view.renewed_at is None
        record = renewed(self._view.record, self.identity, self._timing, at)
        if create:
            request = self._created(record)
        elif started or self.holder != self.identity:
            request = self._claimed(record)
        else:
            request = self._if_ours(renewTime=at)
        lease = decoded(await self._send(request), _Lease, "the lease")
        if self._taken.is_set() and not started:
            return
        self._version = lease.metadata.resource_version
        # Of renewals that overtake each other, the one that was sent last counts.
        self._view = View(record, sent_at, max(sent_at, self._view.renewed_at or 0.0))
        if started:
            self._taken.clear()
            if self._on_started:
                self._on_started()

    async def _send(self, request: wire.Request, seconds: float | None = None) -> bytes:
        """In time to be of use, also if it waits for other requests or for a credential."""
        seconds = seconds or self._timing.renew_deadline
        try:
            async with asyncio.timeout(seconds):
                return await self._client.send(request, timeout=seconds, urgent=True)
        except TimeoutError:
            late = "no answer in time"
            raise Unavailable(late, method=request.method, path=request.path) from None

    def _created(self, record: Record) -> wire.Request:
        resource, namespace, name = self._where
        return wire.create(resource, namespace, {"metadata": {"name": name}, "spec": record})

    def _claimed(self, record: Record) -> wire.Request:
        """Unless it was written since it was read."""
        guard = {"resourceVersion": self._version}
        return wire.merge_patch(*self._where, {"metadata": guard, "spec": record})

    def _if_ours(self, **fields: str | int) -> wire.Request:
        """Unless another took it; other writes of ours may be under way."""
        ours = {"op": "test", "path": "/spec/holderIdentity", "value": self.identity}
        edits = ({"op": "add", "path": f"/spec/{key}", "value": fields[key]} for key in fields)
        return wire.json_patch(*self._where, [ours, *edits])

    def _is_lost(self) -> bool:
        now = self._clock.monotonic()
        return decide(self._view, self.identity, self._timing, now) is Move.LOST

    def _stop(self) -> None:
        self._view = View(self._view.record, self._view.observed_at)
        if self._on_stopped:
            self._on_stopped()

    def _pause(self) -> float:
        """Until the next renewal; of a follower, until the next look, which is not a late one."""
        period, now = self._timing.retry_period, self._clock.monotonic()
        if self._view.renewed_at is not None:
            left = self._view.renewed_at + self._timing.renew_deadline - now
            return max(min(period, left), 0.001)
        record = self._view.record or Record()
        declared = record.lease_duration_seconds or self._timing.declared_duration
        free_in = self._view.observed_at + declared - now
        look_in = self._clock.jitter(period / 2)
        return min(look_in, free_in) if free_in > 0 else look_in

    async def _release(self) -> None:
        if self._view.renewed_at is None:
            return
        self._stop()
        with suppress(ApiError):
            free = self._if_ours(holderIdentity="", leaseDurationSeconds=1)
            await self._send(free, RELEASE_TIMEOUT)
