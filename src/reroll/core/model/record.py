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
    todo: Todo | None = None
    pins: str | None = None
    """The pins that its template has for the content recorded here, see `core.rewrite`."""
    named: bool = False
    """They are written into its template as names too."""
    held: Time | None = None
    """Since when its template has other pins, which somebody else chose."""


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
    todo: Todo | None
    pins: str | None
    named: bool
    held: datetime | None


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
    """The next record after `record`, numbered after everything seen so far."""
    kept = record or Record(n=0, at=changes["at"], why=changes["why"], s={})
    return msgspec.structs.replace(kept, n=min(max(kept.n, number) + 1, LAST), **changes)
