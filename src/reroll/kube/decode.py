"""Bytes from the API server into values: lines of a watch, events, pages of a list.

Pure. A watch line is decoded once, straight into the few fields of the caller's type. Nothing that
a server sends makes `Decoder.event` raise: what does not fit comes back as `Malformed`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from reroll.core.model.unreadable import UNREADABLE
from reroll.kube.errors import Malformed, Status

LONGEST_LINE = 64 * 1024 * 1024
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class _Version(Protocol):
    @property
    def resource_version(self) -> str: ...


class Versioned(Protocol):
    """What a type must offer to be watched: `metadata.resource_version`."""

    @property
    def metadata(self) -> _Version: ...


T = TypeVar("T", bound=Versioned)
A = TypeVar("A")


def decoded(raw: bytes | msgspec.Raw, model: type[A], what: str = "the answer") -> A:
    """Any answer as a value of a type; `Malformed` if it is none. No content is in the error."""
    try:
        return msgspec.json.decode(raw, type=model)
    except UNREADABLE as problem:
        raise Malformed(f"{what} cannot be read: {_words(problem)}") from None


class LineSplitter:
    """Chunks in, complete lines out, in time linear in the bytes however they are cut."""

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends; blank lines are left out."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines and self._parts:
            self._size += len(lines[0])
            self._check(self._size)
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
        if lines:
            self._parts.clear()
            self._size = 0
            if len(chunk) > self._limit:
                self._check(max(map(len, lines)))
        if tail:
            self._parts.append(tail)
            self._size += len(tail)
            self._check(self._size)
        return [line for line in lines if line]

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise Malformed(f"a line of the answer is longer than {self._limit} bytes")


class _Tagged(msgspec.Struct, frozen=True, tag_field="type"):
    """The envelope of a watch line: `{"type": …, "object": …}`."""


class Added(_Tagged, Generic[T], frozen=True, tag="ADDED"):
    object: T


class Modified(_Tagged, Generic[T], frozen=True, tag="MODIFIED"):
    object: T


class Deleted(_Tagged, Generic[T], frozen=True, tag="DELETED"):
    object: T


class _Marker(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Marked(msgspec.Struct, frozen=True):
    metadata: _Marker


class Bookmark(_Tagged, frozen=True, tag="BOOKMARK"):
    """How far the stream is; the one that ends the initial events says so."""

    object: _Marked

    @property
    def resource_version(self) -> str:
        return self.object.metadata.resource_version

    @property
    def ends_initial_events(self) -> bool:
        return (self.object.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


class Failure(_Tagged, frozen=True, tag="ERROR"):
    """The server gives the stream up; the status says why."""

    object: Status


WatchEvent = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failure | Malformed


class Page(Generic[T]):
    """One page of a list, with the items that did not fit kept apart."""

    __slots__ = ("continue_", "items", "malformed", "remaining", "resource_version")

    def __init__(
        self, items: Sequence[T], malformed: Sequence[Malformed], meta: "_ListMeta"
    ) -> None:
        self.items = items
        self.malformed = malformed
        self.resource_version = meta.resource_version
        self.continue_ = meta.continue_
        self.remaining = meta.remaining
        """Objects that the pages after it have, as far as the server tells."""


class _ListMeta(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_: str = msgspec.field(default="", name="continue")
    remaining: int = msgspec.field(default=0, name="remainingItemCount")


class _List(msgspec.Struct, Generic[T], frozen=True):
    items: list[T] | None = None
    metadata: _ListMeta = _ListMeta()


class _RawList(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None
    metadata: _ListMeta = _ListMeta()


class _LooseMeta(msgspec.Struct, frozen=True):
    name: Any = None
    namespace: Any = None


class _Loose(msgspec.Struct, frozen=True):
    kind: Any = None
    metadata: _LooseMeta | None = None


class _LooseEvent(msgspec.Struct, frozen=True):
    object: _Loose | None = None


_LOOSE = msgspec.json.Decoder(_Loose)
_LOOSE_EVENT = msgspec.json.Decoder(_LooseEvent)
_RAW_LIST = msgspec.json.Decoder(_RawList)


class Decoder(Generic[T]):
    """Decodes what the API server says of one type."""

    def __init__(self, model: type[T]) -> None:
        self._model = model

    @cached_property
    def _event(self) -> Any:
        model: Any = self._model
        return msgspec.json.Decoder(
            Added[model] | Modified[model] | Deleted[model] | Bookmark | Failure
        )

    @cached_property
    def _list(self) -> Any:
        model: Any = self._model
        return msgspec.json.Decoder(_List[model])

    @cached_property
    def _item(self) -> msgspec.json.Decoder[T]:
        return msgspec.json.Decoder(self._model)

    def event(self, line: bytes) -> WatchEvent[T]:
        """One line of a watch. Never raises."""
        try:
            return self._event.decode(line)  # type: ignore[no-any-return]
        except UNREADABLE as problem:
            return _malformed_event(line, problem)

    def item(self, body: bytes) -> T | Malformed:
        """One object. Never raises."""
        try:
            return self._item.decode(body)
        except UNREADABLE as problem:
            return _malformed(body, problem)

    def page(self, body: bytes) -> Page[T]:
        """One page of a list; raises `Malformed` only if it is no list at all."""
        try:
            whole = self._list.decode(body)
            return Page(whole.items or (), (), whole.metadata)
        except UNREADABLE:
            return self._page_by_item(body)

    def _page_by_item(self, body: bytes) -> Page[T]:
        try:
            raw = _RAW_LIST.decode(body)
        except UNREADABLE as problem:
            raise Malformed(f"the list cannot be read: {_words(problem)}") from None
        fitting: list[T] = []
        malformed: list[Malformed] = []
        for piece in raw.items or ():
            item = self.item(bytes(piece))
            if isinstance(item, Malformed):
                malformed.append(item)
            else:
                fitting.append(item)
        return Page(fitting, malformed, raw.metadata)


def _malformed_event(line: bytes, problem: Exception) -> Malformed:
    try:
        loose = _LOOSE_EVENT.decode(line).object
    except UNREADABLE:
        loose = None
    return _identified(loose, problem)


def _malformed(body: bytes, problem: Exception) -> Malformed:
    try:
        return _identified(_LOOSE.decode(body), problem)
    except UNREADABLE:
        return _identified(None, problem)


def _identified(loose: _Loose | None, problem: Exception) -> Malformed:
    loose = loose or _Loose()
    meta = loose.metadata or _LooseMeta()
    return Malformed(
        f"the object cannot be read: {_words(problem)}",
        kind=_text(loose.kind),
        namespace=_text(meta.namespace),
        name=_text(meta.name),
    )


def _words(problem: Exception) -> str:
    # A UnicodeDecodeError's own text would show the bytes.
    return str(problem) if isinstance(problem, msgspec.DecodeError) else type(problem).__name__


def _text(value: object) -> str:
    return value[:253] if isinstance(value, str) else ""
