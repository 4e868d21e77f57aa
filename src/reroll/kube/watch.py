"""Follow all objects of one resource: events to a callback, for ever.

Owns list and watch, relists, bookmarks, resumption and the pace of retries; the decisions are
`steps.step`, this performs them.

Guarantees
- Events of one object come in the order of its versions; after a reconnect nothing is lost and
  nothing comes twice.
- `Init` opens a list and `InitDone` closes it: what was known and did not come between them is
  gone. A list that breaks in the middle starts over with another `Init`. A `Delete` may come
  inside, for an object that came and went in between.
- `Absent`: the API is not served (no CRD); nothing of it exists, until the next `Init`.
- One object that cannot be read is a `Malformed` event, not the end of the watch.
- A handler that raises has lost that one event: it is reported (`on_bug`) and the next one follows.
- One that is held back (`hold_back`) asks the server at once and tells nothing before `go_on`.

Nothing of an object is kept once the handler returned.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, NoReturn, Required, TypedDict, Unpack

import msgspec

from reroll.clock import Clock
from reroll.kube import steps, wire
from reroll.kube.client import Client
from reroll.kube.decode import Added, Bookmark, Decoder, Deleted, Failure, Modified, T
from reroll.kube.errors import ApiError, Forbidden, Malformed, NotFound, Rejected, from_status
from reroll.kube.paging import Paging
from reroll.kube.steps import Health, Pace, Phase

READ_TIMEOUT = 100.0
"""Bookmarks come about every minute; a stream that is silent for longer is dead."""
SHORTEST_PROGRESS = 1.0
USUAL_PACE = Pace()


class Init(msgspec.Struct, frozen=True):
    """A list begins."""


class InitApply(msgspec.Struct, Generic[T], frozen=True):
    """An object of the list."""

    obj: T


class InitDone(msgspec.Struct, frozen=True):
    """The list is complete."""

    resource_version: str


class Apply(msgspec.Struct, Generic[T], frozen=True):
    """An object was made or changed."""

    obj: T


class Delete(msgspec.Struct, Generic[T], frozen=True):
    """An object was deleted; `obj` is its last state."""

    obj: T


class Absent(msgspec.Struct, frozen=True):
    """The API server does not know this resource."""


Event = Init | InitApply[T] | InitDone | Apply[T] | Delete[T] | Absent | Malformed


class Following(TypedDict, total=False):
    """What a watch follows, and how."""

    namespace: str | None
    """`None`: all."""
    metadata_only: bool
    label_selector: str | None
    field_selector: str | None
    read_timeout: float
    page_size: int
    streaming: bool
    pace: Pace
    on_state: Callable[[Health, str | None], None] | None
    on_bug: Required[Callable[[str, Exception], None]]
    """Told of an event that the handler failed on: what it was about, and the error."""


class Watch(Generic[T]):
    """One resource, in one namespace or in all, followed until cancelled."""

    def __init__(
        self,
        client: Client,
        resource: wire.Resource,
        model: type[T],
        handler: Callable[[Event[T]], None],
        *,
        clock: Clock,
        **how: Unpack[Following],
    ) -> None:
        self.resource = resource
        self.namespace = how.get("namespace")
        self.synced = asyncio.Event()
        """Set when all there is was seen once, or there is nothing to wait for."""
        self.last_activity = clock.monotonic()
        """When the server last told something, in the clock's monotonic seconds."""
        self._client = client
        self._decoder = Decoder(model)
        self._handler = handler
        self._clock = clock
        self._metadata_only = how.get("metadata_only", False)
        self._label_selector = how.get("label_selector")
        self._field_selector = how.get("field_selector")
        self._read_timeout = how.get("read_timeout", READ_TIMEOUT)
        self._paging = Paging(how.get("page_size", wire.PAGE))
        self._pace = how.get("pace", USUAL_PACE)
        self._on_state = how.get("on_state")
        self._on_bug = how["on_bug"]
        self._now = steps.first(streaming=how.get("streaming", True))
        self._version = ""
        self._may_tell = asyncio.Event()
        self._may_tell.set()

    @property
    def state(self) -> Health:
        return self._now.health

    @property
    def problem(self) -> str | None:
        """What is wrong, in a sentence, while something is."""
        return self._now.problem

    def hold_back(self) -> None:
        """Have the server begin, and leave what it sends where it is: on the way here."""
        self._may_tell.clear()

    def go_on(self) -> None:
        self.last_activity = self._clock.monotonic()
        self._may_tell.set()

    async def run(self) -> NoReturn:
        while True:
            if self._now.wait:
                await asyncio.sleep(self._now.wait)
            if self._now.backoff:
                await self._client.outage.pause(self._clock.jitter(self._now.backoff))
            if self._now.phase is Phase.PAGES:
                await self._next_page()
            else:
                await self._stream()

    # Lists by pages

    def _page(self, limit: int) -> wire.Request:
        return wire.list_page(
            self.resource,
            self.namespace,
            limit=limit,
            continue_=self._now.continue_,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
        )

    async def _next_page(self) -> None:
        await self._may_tell.wait()
        try:
            raw = await self._paging.page(self._client, self._page, self._read_timeout)
            page = self._decoder.page(raw)
        except ApiError as error:
            self._fail(error, "list")
            return
        self.last_activity = self._clock.monotonic()
        if not self._now.continue_:
            self._tell(Init())
        for item in page.items:
            self._tell(InitApply(item))
        for odd in page.malformed:
            self._pass_on(odd)
        if page.continue_:
            self._happen(steps.Paged(page.continue_))
        else:
            self._list_done(page.resource_version)

    # Streams

    async def _stream(self) -> None:
        request = wire.watch(
            self.resource,
            self.namespace,
            resource_version=self._now.version,
            send_initial_events=self._now.phase is Phase.STREAM,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            timeout_seconds=int(self._clock.jitter(self._pace.longest_stream)),
            metadata_only=self._metadata_only,
        )
        self._version = ""
        opened = self._clock.monotonic()
        try:
            async with self._client.lines(request, read_timeout=self._read_timeout) as batches:
                await self._may_tell.wait()
                self._open()
                async for lines in batches:
                    self.last_activity = self._clock.monotonic()
                    self._take(lines)
        except ApiError as error:
            await self._may_tell.wait()
            self._fail(error, request.verb, progress=bool(self._version))
        else:
            lasted = self._clock.monotonic() - opened > SHORTEST_PROGRESS
            self._happen(steps.Ended(self._version, progress=lasted or bool(self._version)))

    def _open(self) -> None:
        self._happen(steps.Opened())
        if self._now.phase is Phase.STREAM:
            self._tell(Init())

    def _take(self, lines: list[bytes]) -> None:
        """The hot path: one decode, one small event and two calls for each line."""
        decode, tell = self._decoder.event, self._tell
        for line in lines:
            event = decode(line)
            if isinstance(event, (Added, Modified)):
                initial = self._now.phase is Phase.STREAM
                tell(InitApply(event.object) if initial else Apply(event.object))
                self._version = event.object.metadata.resource_version
            elif isinstance(event, Deleted):
                tell(Delete(event.object))
                self._version = event.object.metadata.resource_version
            elif isinstance(event, Bookmark):
                self._bookmark(event)
            elif isinstance(event, Failure):
                raise from_status(event.object)
            else:
                self._pass_on(event)

    def _pass_on(self, odd: Malformed) -> None:
        odd.kind = odd.kind or self.resource.kind  # which the items of a list do not say
        self._tell(odd)

    def _bookmark(self, event: Bookmark) -> None:
        self._version = event.resource_version
        if self._now.phase is not Phase.STREAM:
            return
        if not event.ends_initial_events:
            # The first bookmark always ends the initial events, where a server knows of them.
            raise Rejected("the server has no streaming lists")
        self._list_done(event.resource_version)

    # What happened

    def _tell(self, event: Event[T]) -> None:
        """The one place that calls the handler: whatever an event holds, the watch goes on."""
        try:
            self._handler(event)
        except Exception as error:  # noqa: BLE001  one object's trouble is not another's
            self._on_bug(f"{self.resource.kind} {_subject(event)}", error)

    def _list_done(self, version: str) -> None:
        self._happen(steps.Listed(version))
        self._tell(InitDone(version))
        self.synced.set()

    def _fail(self, error: ApiError, verb: str, *, progress: bool = False) -> None:
        scope = f"in namespace {self.namespace}" if self.namespace else "in all namespaces"
        doing = f"{verb} {self.resource.full_name} {scope if self.resource.namespaced else ''}"
        was_absent = self._now.health == "absent"
        self._happen(steps.Failed(error, doing.rstrip(), self._version, progress=progress))
        if isinstance(error, NotFound | Forbidden):
            self.last_activity = self._clock.monotonic()
            if self._now.health == "absent" and not was_absent:
                self._tell(Absent())
            self.synced.set()

    def _happen(self, happened: steps.Happening) -> None:
        before, self._now = self._now, steps.step(self._now, happened, self._pace)
        changed = (before.health, before.problem) != (self._now.health, self._now.problem)
        if changed and self._on_state:
            try:
                self._on_state(self._now.health, self._now.problem)
            except Exception as error:  # noqa: BLE001  whoever is told, the watch goes on
                self._on_bug(f"{self.resource.kind} {self._now.health}", error)


def _subject(event: Event[T]) -> str:
    """The object of an event; the kind of event, if it has none."""
    about = event if isinstance(event, Malformed) else getattr(event, "obj", None)
    about = getattr(about, "metadata", about)
    if about is None:
        return type(event).__name__
    return f"{getattr(about, 'namespace', '')}/{getattr(about, 'name', '')}"
