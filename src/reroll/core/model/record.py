"""The record: what a workload last rolled with, kept on the workload itself.

It is the annotation `reroll.dev/state` on the workload's own metadata, so that writing it rolls
nothing. Compact JSON; the sequence number only grows, which is how an undo is noticed.
"""

from datetime import datetime
from typing import Annotated, TypedDict, Unpack

import msgspec

from reroll.core.model.unreadable import UNREADABLE

VERSION = 1
LAST = 2**53
"""The last number there is. Only who writes it by hand gets there, and loses no more than undo."""
LARGEST_RECORD = 240 * 1024
"""Bytes. Kubernetes takes 256 KiB of annotations on one object, and others have some there too."""
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Todo(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Work that a roll began and that is not done at once: pods to evict or to reload."""

    do: str
    since: Time
    """Pods made before this have old configuration."""


BY_HAND = "by hand"


class Trial(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The last roll as a test of what it brought; only where propagation asks for a verdict."""

    of: list[str]
    """The entries that are on trial: those it rolled for, and those not found healthy before."""
    sick: bool = False
    """It was not healthy before the roll either, so it proves nothing."""
    v: str = ""
    """The verdict, see `core.propagation.verdict`; empty: not known yet."""
    at: Time | None = None
    """Since when it is known."""
    why: str = ""
    """What failed: the container's own reason and exit code, never its output."""
    back: Time | None = None
    """When it was taken back from that content, by ourselves."""
    b: str = ""
    """The verdict on that; `BY_HAND`: a person moved it, which is no concern of ours."""

    past: list[str] = []
    """Entries that it was taken back from before this roll, and that hold what failed still."""

    ok: list[str] = []
    """Entries that an earlier roll was found healthy with, and that hold the same still."""

    was: str = ""
    """Of one that a person released from where it was taken back to: the verdict before."""

    def released(self) -> "Trial":
        """What it was taken back from is on trial again."""
        of = sorted({*self.of, *self.past})
        return Trial(of, why=self.why, was=self.v or "unknown", ok=self.ok)

    @property
    def proved(self) -> frozenset[str]:
        """The entries that it was found healthy with."""
        is_healthy = self.v == "healthy" and self.back is None
        return frozenset(self.ok) | frozenset(self.of if is_healthy else ())

    @property
    def left(self) -> frozenset[str]:
        """The entries that its pods do not have the recorded content of, because that failed."""
        is_ours = self.back is not None and self.b != BY_HAND
        return frozenset(self.past) | frozenset(self.of if is_ours else ())

    def taken_back(self, now: datetime) -> "Trial":
        """A person, or a command, gave it the template of another content."""
        return msgspec.structs.replace(self, back=self.back or now, b=BY_HAND)


class Burst(msgspec.Struct, frozen=True, gc=False):
    """Rolls in quick succession, for the breaker."""

    n: int
    since: Time


PROMOTED = "promoted"


ABORTED = "aborted"


class Partition(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A canary within a workload: what of it is otherwise than before, to be put back."""

    was: int
    """The partition before."""
    to: int
    template: str
    """The hash of its template before."""
    old: str = ""
    """The pins of that template."""
    new: str = ""
    """Those that the canary wrote."""


class CanaryVerdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What came of a canary, where that keeps the workload from rolling, or lets it."""

    of: str
    """What it tried: a digest of contents and template."""
    v: str
    """`failed`, or what a person said: `aborted`, `promoted`; empty: not known yet."""
    at: Time
    why: str = ""
    within: Partition | None = None
    """Of a canary that is in the workload itself, and not put back yet."""


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    n: Annotated[int, msgspec.Meta(ge=0, le=LAST)]
    """Sequence number: one more with each write."""
    at: Time
    why: str
    s: dict[str, str]
    """Digest by entry, see `Reference.entry`."""
    v: int = VERSION
    k: str = ""
    """The id of the HMAC key that the Secrets' digests were made with."""
    rv: int = 0
    """The highest version of these Secrets: what is later was written after they were digested."""
    rolled: Time | None = None
    by: list[str] | None = None
    """The entries whose change caused the last roll."""
    keys: list[str] | None = None
    """The keys that changed, where that is known: names, never values."""
    how: str = ""
    """The strategy of that roll; empty where an earlier version wrote it."""
    declined: list[str] | None = None
    """The entries whose content was taken back: the template is that of another content."""
    failed: bool = False
    """It was taken back, or is held, because a rollout failed, and not by a person."""
    todo: Todo | None = None
    pins: str | None = None
    """The pins that its template has for the content recorded here, see `core.rewrite`."""
    named: bool = False
    """They are written into its template as names too."""
    held: Time | None = None
    """Since when its template has other pins, which somebody else chose."""
    trial: Trial | None = None
    good: str | None = None
    """The pins that it was last healthy with before the content on trial, or was taken back to."""
    mark: str | None = None
    """The stamp of the template that had those: with it, its ReplicaSet comes back too."""
    burst: Burst | None = None
    canary: CanaryVerdict | None = None
    expires: Time | None = None
    """When the first of the certificates runs out that it was recorded with, where that counts."""


class RecordFields(TypedDict, total=False):
    """What a new record may say otherwise than the one before."""

    at: datetime
    why: str
    s: dict[str, str]
    k: str
    rv: int
    rolled: datetime | None
    by: list[str] | None
    keys: list[str] | None
    how: str
    declined: list[str] | None
    failed: bool
    todo: Todo | None
    pins: str | None
    named: bool
    held: datetime | None
    trial: Trial | None
    good: str | None
    mark: str | None
    burst: Burst | None
    canary: CanaryVerdict | None
    expires: datetime | None


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """A record that somebody spoilt, or that a newer version wrote."""

    why: str


_decoder = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()


def read(text: str | None) -> Record | Unreadable | None:
    if text is None:
        return None
    try:
        record = _decoder.decode(text)
    except UNREADABLE:
        return Unreadable("it is not the JSON that was written")
    if record.v != VERSION:
        return Unreadable(f"its version is {record.v}, this program writes version {VERSION}")
    return record


def write(record: Record) -> str:
    return _encoder.encode(record).decode()


def successor(record: Record | None, number: int, **changes: Unpack[RecordFields]) -> Record:
    """The next record after `record`, numbered after everything seen so far.

    One that says otherwise what is declined or held is not of the failure before it.
    """
    if not changes.keys().isdisjoint(("declined", "held")):
        changes.setdefault("failed", False)
    kept = record or Record(n=0, at=changes["at"], why=changes["why"], s={})
    return msgspec.structs.replace(kept, n=min(max(kept.n, number) + 1, LAST), **changes)
