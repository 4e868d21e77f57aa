"""The objects that Injections write to: which resource they are, and when they change.

Each kind of target is watched, in the namespaces where there are some, for metadata only, while an
Injection writes to one. A target is looked at again when it is another object, when its spec
changed, or when its consent did: not for its status.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.core.model.injection import To, Written
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.features.injection.decide import Target
from reroll.kube import discovery, watch, wire
from reroll.kube.client import Client
from reroll.kube.watch import Watch

log = Log("reroll")


class Stub(msgspec.Struct, gc=False):
    metadata: Metadata


class Place(NamedTuple):
    """All that one watch brings."""

    resource: wire.Resource
    namespace: str | None


Looks = tuple[str, int, str]


def looks(metadata: Metadata) -> Looks:
    """What tells whether a target must be looked at again."""
    allowed = (metadata.annotations or {}).get(ALLOW_FROM, "")
    return metadata.uid, metadata.generation or metadata.version, allowed


class Targets:
    """`wake(key)`: look at an Injection whose target changed."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        silence: float,
        watches: list[Watch[Any]],
        wake: Callable[[Key], None],
    ) -> None:
        self._client, self._clock, self._silence, self._wake = client, clock, silence, wake
        self._watches = watches
        self._resources: dict[tuple[str, str], wire.Resource] = {}
        self._followed: dict[Place, _Following] = {}
        self._places: dict[Key, Place] = {}
        self._looking: set[Key] = set()
        self._group: asyncio.TaskGroup | None = None

    async def resource(self, to: To) -> wire.Resource | str:
        """The resource of a target, or why there is none."""
        wanted = to.api_version, to.kind
        found = self._resources.get(wanted) or await discovery.find(self._client, *wanted)
        if found is not None:
            self._resources[wanted] = found
            return found
        served = await discovery.versions(self._client, to.group)
        for version in served:
            other = f"{to.group}/{version}" if to.group else version
            if await discovery.find(self._client, other, to.kind):
                return (
                    f"the API server has no {to.kind} in {to.api_version}, but in {other}; "
                    "change spec.to.apiVersion"
                )
        return f"the API server has no {to.kind} in {to.api_version}; is its CRD installed?"

    async def served(self, written: Written) -> wire.Resource | None:
        """The resource of what was written to, in whatever version there is now."""
        group = written.api_version.rpartition("/")[0]
        others = await discovery.versions(self._client, group)
        for each in (written.api_version, *(f"{group}/{v}" if group else v for v in others)):
            if found := await discovery.find(self._client, each, written.kind):
                return found
        return None

    def forget(self, resource: wire.Resource) -> None:
        """It may not be served any more."""
        self._resources.pop((resource.api_version, resource.kind), None)

    async def run(self) -> None:
        """Watch what there is to watch, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._followed.clear()
                self._places.clear()

    def follow(self, key: Key, resource: wire.Resource, target: Target, seen: Looks | None) -> None:
        """An Injection has this target, which looks like that now (`None`: it is not there)."""
        place = Place(resource, target.namespace if resource.namespaced else None)
        if self._places.get(key) != place:
            self.leave(key)
        following = self._followed.get(place)
        if following is None:
            if self._group is None:
                return
            following = self._followed[place] = _Following(place, self._wake, self._looking)
            one = following.opened(self._client, self._clock, self._silence)
            following.task = self._group.create_task(self._run(one))
        self._places[key] = place
        following.users[key] = target.name
        following.seen[key] = seen

    async def _run(self, one: Watch[Stub]) -> None:
        self._watches.append(one)
        # Whoever ends it does so on purpose; the group goes on.
        with suppress(asyncio.CancelledError):
            try:
                await one.run()
            finally:
                self._watches.remove(one)

    def leave(self, key: Key) -> None:
        """An Injection is gone, or has another target."""
        place = self._places.pop(key, None)
        following = self._followed.get(place) if place else None
        if place and following:
            following.users.pop(key, None)
            following.seen.pop(key, None)
            if not following.users:
                if following.task:
                    following.task.cancel()
                del self._followed[place]

    @contextmanager
    def looking(self, key: Key) -> Iterator[None]:
        """While it is looked at, what its target becomes may be its own doing: judge it after."""
        self._looking.add(key)
        try:
            yield
        finally:
            self._looking.discard(key)
            place = self._places.get(key)
            if place and place in self._followed:
                self._followed[place].judge(key)

    def blind(self, key: Key) -> str:
        """Why changes of a target go unseen; empty if they do not."""
        place = self._places.get(key)
        following = self._followed.get(place) if place else None
        return following.problem if following else ""


class _Following:
    """One watch, and the Injections that it is for."""

    def __init__(self, place: Place, wake: Callable[[Key], None], looking: set[Key]) -> None:
        self._place, self._wake, self._looking = place, wake, looking
        self._later: dict[Key, Looks | None] = {}
        self.users: dict[Key, str] = {}
        self.seen: dict[Key, Looks | None] = {}
        """What each of them looked at last."""
        self.problem = ""
        self._unseen: set[str] = set()
        self.task: asyncio.Task[None] | None = None

    def opened(self, client: Client, clock: Clock, silence: float) -> Watch[Stub]:
        return Watch(
            client,
            self._place.resource,
            Stub,
            self._handle,
            clock=clock,
            namespace=self._place.namespace,
            metadata_only=True,
            read_timeout=silence,
            on_state=self._state,
        )

    def _handle(self, event: watch.Event[Stub]) -> None:
        match event:
            case watch.Apply(obj) | watch.InitApply(obj):
                self._unseen.discard(obj.metadata.name)
                self._note(obj.metadata.name, looks(obj.metadata))
            case watch.Delete(obj):
                self._note(obj.metadata.name, None)
            case watch.Init():
                self._unseen = set(self.users.values())
            case watch.InitDone() | watch.Absent():
                gone = self._unseen if isinstance(event, watch.InitDone) else self.users.values()
                for name in tuple(gone):
                    self._note(name, None)
            case _:
                log.warning("odd object", object=str(event.name), problem=str(event))

    def _note(self, name: str, now: Looks | None) -> None:
        for key in [key for key, wanted in self.users.items() if wanted == name]:
            if key in self._looking:
                self._later[key] = now
            elif self.seen.get(key) != now:
                self._wake(key)

    def judge(self, key: Key) -> None:
        """What was told of a target while somebody looked at it."""
        if key in self._later and self._later.pop(key) != self.seen.get(key):
            self._wake(key)

    def _state(self, state: str, problem: str | None) -> None:
        resource, namespace = self._place
        where = f" in namespace {namespace}" if namespace else ""
        before, self.problem = self.problem, ""
        if state == "forbidden":
            self.problem = (
                f"changes of the target go unseen: grant `list` and `watch` on "
                f"{resource.full_name}{where}"
            )
        if problem:
            log.warning("watch", resource=resource.full_name, state=state, problem=problem)
        if before != self.problem:
            for key in self.users:
                self._wake(key)
