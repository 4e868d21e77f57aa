"""Opens the watches of this feature, and turns their events into objects that come and go."""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.logs import Log
from reroll.core.model.injection import Manifest
from reroll.kube import watch, wire
from reroll.kube.client import Client
from reroll.kube.objects import Stub
from reroll.kube.steps import Health
from reroll.kube.watch import Watch

log = Log("reroll")
T = TypeVar("T", Manifest, Stub)
Name = tuple[str, str]
"""Namespace and name."""


class Handler(NamedTuple, Generic[T]):
    """`known()`: the objects that a list must confirm. Those it does not bring are `removed`."""

    known: Callable[[], Iterable[Name]]
    applied: Callable[[T], None]
    removed: Callable[[Name], None]
    health: Callable[[Health], None] = lambda _: None


class WatchFactory:
    def __init__(self, client: Client, clock: Clock, silence: float) -> None:
        self._client, self._clock, self._silence = client, clock, silence

    def open(
        self, resource: wire.Resource, namespace: str | None, model: type[T], handler: Handler[T]
    ) -> Watch[T]:
        """Of a `Stub`, only the metadata is watched."""

        def on_state(state: Health, problem: str | None) -> None:
            if problem:
                log.warning("watch", resource=resource.full_name, state=state, problem=problem)
            handler.health(state)

        return Watch(
            self._client,
            resource,
            model,
            _Events(handler),
            clock=self._clock,
            namespace=namespace,
            metadata_only=model is Stub,
            read_timeout=self._silence,
            on_state=on_state,
            on_bug=bugs.in_watch,
        )


class _Events(Generic[T]):
    def __init__(self, handler: Handler[T]) -> None:
        self._handler: Handler[T] = handler
        self._unconfirmed: set[Name] = set()

    def __call__(self, event: watch.Event[T]) -> None:
        match event:
            case watch.Apply(obj) | watch.InitApply(obj):
                self._unconfirmed.discard(_name(obj))
                self._handler.applied(obj)
            case watch.Delete(obj):
                self._handler.removed(_name(obj))
            case watch.Init():
                self._unconfirmed = set(self._handler.known())
            case watch.InitDone() | watch.Absent():
                if isinstance(event, watch.Absent):
                    self._unconfirmed = set(self._handler.known())
                while self._unconfirmed:
                    name = self._unconfirmed.pop()
                    with bugs.contained(Part.WATCH, object="/".join(name)):
                        self._handler.removed(name)
            case odd:
                where = f"{odd.kind} {odd.namespace}/{odd.name}"
                log.warning("odd object", object=where, problem=str(odd))


def _name(obj: Manifest | Stub) -> Name:
    return obj.metadata.namespace, obj.metadata.name
