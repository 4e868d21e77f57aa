"""Who may lead, decided from plain values: what stands in a Lease, and when that was seen.

Pure: `kube.lease` reads and writes the Lease, and holds to what is decided here.
"""

import math
from enum import Enum
from typing import Self

import msgspec

LONGEST_PERIOD = 2.0
"""Seconds between two renewals at most, and of a follower between two looks at twice the pace."""


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """The `spec` of a Lease; its times are only compared for being equal."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Timing(msgspec.Struct, frozen=True):
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

    @classmethod
    def of(cls, lease_duration: float) -> Self:
        """Everything in proportion to the time for which a dead leader is waited for.

        By the usual 7 s a leader renews every second, and still leads if each answer takes 5 s.
        """
        return cls(
            lease_duration, lease_duration * 13 / 14, min(lease_duration / 7, LONGEST_PERIOD)
        )

    @property
    def declared_duration(self) -> int:
        """Whole seconds, as a Lease has them; rounded up, to be on the safe side."""
        return max(1, math.ceil(self.lease_duration))


class View(msgspec.Struct, frozen=True):
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
