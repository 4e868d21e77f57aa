"""Leader election on a Lease: one of many replicas acts.

Guarantees
- A holder that cannot renew stops being the leader `renew_deadline` after it sent its last good
  renewal; no other takes over before `lease_duration` after it saw that. `is_leader` holds to that
  even if the event loop hangs.
- Only local, monotonic time counts: the times in the Lease are for people, so clocks may differ.
- On the way out the Lease is given up, so that another takes over at once.

Assumption: clocks run about equally fast. Caveat: a Lease does not fence. A write that was on its
way when leadership ended may still arrive, so every write must be harmless from two leaders.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn, TypedDict, Unpack

import msgspec

from reroll.clock import Clock
from reroll.kube import resources, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Unavailable

RELEASE_TIMEOUT = 3.0


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """The `spec` of a Lease; its times are only compared for being equal."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: Record | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds."""

    lease_duration: float
    renew_deadline: float
    retry_period: float

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > self.retry_period > 0:
            raise ValueError(
                "leader election needs lease_duration > renew_deadline > retry_period > 0, "
                f"not {self.lease_duration}, {self.renew_deadline}, {self.retry_period}"
            )

    @property
    def declared_duration(self) -> int:
        """Whole seconds, as a Lease has them; rounded up, to be on the safe side."""
        return max(1, math.ceil(self.lease_duration))


@dataclass(frozen=True, slots=True)
class View:
    """What one contender knows; times are its own monotonic seconds."""

    record: Record | None = None
    """The Lease as last seen; `None`: there is none."""
    observed_at: float = 0.0
    """When this record was first seen."""
    renewed_at: float | None = None
    """When the last good renewal was sent; `None`: not leading."""


class Move(Enum):
    CREATE = "there is no Lease: make it"
    TAKE = "the Lease is free: take it"
    RENEW = "we hold it: say so again"
    WAIT = "another holds it"
    LOST = "we led, and must not any more"


def decide(view: View, me: str, timing: Timing, now: float) -> Move:
    """What to do next."""
    holder = (view.record.holder_identity if view.record else None) or ""
    if view.renewed_at is not None:
        late = now >= view.renewed_at + timing.renew_deadline
        return Move.LOST if late or holder not in {me, ""} else Move.RENEW
    if view.record is None:
        return Move.CREATE
    declared = view.record.lease_duration_seconds or timing.declared_duration
    free = holder in {me, ""} or now >= view.observed_at + declared
    return Move.TAKE if free else Move.WAIT


def observe(view: View, record: Record | None, now: float) -> View:
    """The view after the Lease was read; only a changed record restarts its time."""
    if record == view.record and record is not None:
        return view
    return View(record, now, view.renewed_at)


def renewed(record: Record | None, me: str, timing: Timing, at: str) -> Record:
    """The record with which `me` takes or renews the Lease."""
    old = record or Record()
    mine = old.holder_identity == me
    first = record is None or mine
    return Record(
        holder_identity=me,
        lease_duration_seconds=timing.declared_duration,
        acquire_time=old.acquire_time if mine else at,
        renew_time=at,
        lease_transitions=(old.lease_transitions or 0) + (0 if first else 1),
    )


class Contending(TypedDict, total=False):
    """How to contend for a Lease: times in seconds, and callbacks."""

    lease_duration: float
    renew_deadline: float
    retry_period: float
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
        self._timing = Timing(
            how.get("lease_duration", 15.0),
            how.get("renew_deadline", 10.0),
            how.get("retry_period", 2.0),
        )
        self._view = View()
        self._version = ""

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
                try:
                    await self._turn()
                    self.problem = None
                except ApiError as error:
                    self.problem = f"cannot hold the lease {'/'.join(self._where[1:])}: {error}"
                self._stop_if_lost()
                await asyncio.sleep(self._pause())
        finally:
            await self._release()

    async def _turn(self) -> None:
        if self._view.renewed_at is None:
            await self._look()
        try:
            await self._act()
        except (Conflict, AlreadyExists, NotFound):
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
            raw = await self._send(wire.get(*self._where), self._time_left())
            lease = decoded(raw, _Lease, "the lease")
            record, self._version = lease.spec or Record(), lease.metadata.resource_version
        except NotFound:
            self._version = ""
        self._view = observe(self._view, record, self._clock.monotonic())

    async def _write(self, *, create: bool) -> None:
        sent_at = self._clock.monotonic()
        at = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        record = renewed(self._view.record, self.identity, self._timing, at)
        request = self._created(record) if create else self._patched(record)
        lease = decoded(await self._send(request, self._time_left()), _Lease, "the lease")
        self._version = lease.metadata.resource_version
        started = self._view.renewed_at is None
        self._view = View(record, sent_at, renewed_at=sent_at)
        if started and self._on_started:
            self._on_started()

    async def _send(self, request: wire.Request, seconds: float) -> bytes:
        """Within `seconds`, also if it waits for other requests or for a credential."""
        try:
            async with asyncio.timeout(seconds):
                return await self._client.send(request, timeout=seconds, urgent=True)
        except TimeoutError:
            late = "no answer in time"
            raise Unavailable(late, method=request.method, path=request.path) from None

    def _created(self, record: Record) -> wire.Request:
        resource, namespace, name = self._where
        return wire.create(resource, namespace, {"metadata": {"name": name}, "spec": record})

    def _patched(self, record: Record) -> wire.Request:
        guard = {"resourceVersion": self._version}
        return wire.merge_patch(*self._where, {"metadata": guard, "spec": record})

    def _stop_if_lost(self) -> None:
        now = self._clock.monotonic()
        if decide(self._view, self.identity, self._timing, now) is Move.LOST:
            self._stop()

    def _stop(self) -> None:
        self._view = View(self._view.record, self._view.observed_at)
        if self._on_stopped:
            self._on_stopped()

    def _time_left(self) -> float:
        """No request of a leader may outlast its leadership."""
        renewed_at = self._view.renewed_at
        if renewed_at is None:
            return self._timing.renew_deadline
        left = renewed_at + self._timing.renew_deadline - self._clock.monotonic()
        return max(left, 0.001)

    def _pause(self) -> float:
        period = self._timing.retry_period
        if self._view.renewed_at is None:
            return self._clock.jitter(period)
        return min(period, self._time_left())

    async def _release(self) -> None:
        if self._view.renewed_at is None:
            return
        old = self._view.record or Record()
        self._stop()
        free = msgspec.structs.replace(old, holder_identity="", lease_duration_seconds=1)
        with suppress(ApiError):
            await self._send(self._patched(free), RELEASE_TIMEOUT)
