"""Watch events into the world: one handler for each kind of thing that is watched.

A handler decides nothing. It also closes lists: what was known and did not come is gone.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, version_number
from reroll.core.model.moment import Moment
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.engine.content import MountReport, Source, Stub, model
from reroll.engine.effort import of_spec
from reroll.engine.mounts import Mounted
from reroll.engine.wants import DigestKeys, GlobMatches, NamespaceWorkloads, Want
from reroll.engine.world import World
from reroll.kube import watch
from reroll.kube.errors import Malformed

T = TypeVar("T")
Handler = Callable[[Any], None]


class Feed:
    """Base of the handlers: what to do with an object, and with one that is gone."""

    kind: str
    model: type[Any]
    whole = True
    """It brings all of an object that is needed."""

    def __init__(
        self, world: World, namespace: str | None, malformed: Callable[[Malformed], None]
    ) -> None:
        self._world, self.namespace, self._malformed = world, namespace, malformed
        self._unseen: set[Key] = set()
        self.begun = False
        """Whether a list has begun: until then, what exists is still to come."""

    def is_to_bring(self, key: Key) -> bool:
        """Whether the first list, which is still to come, brings this object."""
        return self.whole and not self.begun and self.namespace in {None, key.namespace}

    def __call__(self, event: watch.Event[Any]) -> None:
        if isinstance(event, watch.Apply):
            self._seen(event.obj, initial=False)
        elif isinstance(event, watch.InitApply):
            # First: one that cannot be taken in is not gone.
            self._unseen.discard(self._key(event.obj))
            self._seen(event.obj, initial=True)
        elif isinstance(event, watch.Delete):
            self._deleted(event.obj)
        elif isinstance(event, watch.Init):
            self._unseen, self.begun = set(self._known()), True
        elif isinstance(event, watch.InitDone):
            self._close(version_number(event.resource_version))
        elif isinstance(event, watch.Absent):
            self._unseen, self.begun = set(self._known()), True
            self._close(0)
        else:
            self._malformed(event)

    def _close(self, version: int) -> None:
        """What was known when the list began and did not come is gone."""
        unseen, self._unseen = self._unseen, set()
        for key in unseen:
            with bugs.contained(Part.WATCH, object=str(key)):
                self._gone(key, version)

    def _deleted(self, obj: Any) -> None:
        self._gone(self._key(obj), obj.metadata.version)

    def _key(self, obj: Any) -> Key:
        return Key(self.kind, obj.metadata.namespace, obj.metadata.name)

    def _seen(self, obj: Any, *, initial: bool) -> None:
        raise NotImplementedError

    def _gone(self, key: Key, version: int) -> None:
        raise NotImplementedError

    def _known(self) -> Iterator[Key]:
        raise NotImplementedError


class WorkloadFeed(Feed):
    model = Manifest

    def __init__(
        self,
        world: World,
        kind: Kind,
        namespace: str | None,
        malformed: Callable[[Malformed], None],
    ) -> None:
        super().__init__(world, namespace, malformed)
        self.kind = kind.name
        self._row = kind

    def _seen(self, obj: Manifest, *, initial: bool) -> None:
        world, watched = self._world, not initial
        if world.canaries.observe(self._row, obj):
            return
        if watched and world.effort.is_beyond(obj.metadata.namespace):
            key = self._key(obj)
            if world.may_be_in(key, obj):
                known = world.workloads.get(key)
                world.effort.pass_over(key, of_spec(known.workload if known else None, obj))
                return
        watched = watched and world.effort.is_next(self._key(obj))
        world.workload_seen(self._row, obj, urgent=not initial, watched=watched)

    def _gone(self, key: Key, version: int) -> None:  # noqa: ARG002
        self._world.canaries.gone(key)
        self._world.workload_gone(key)

    def _known(self) -> Iterator[Key]:
        return (
            key
            for key in (*self._world.workloads, *self._world.canaries.keys())
            if key.kind == self.kind and self.namespace in {None, key.namespace}
        )


class SourceFeed(Feed):
    """A kind of source that is watched whole."""

    model: type[Any] = Source

    def __init__(
        self,
        world: World,
        kind: SourceKind,
        namespace: str | None,
        malformed: Callable[[Malformed], None],
    ) -> None:
        super().__init__(world, namespace, malformed)
        self.kind = kind.name
        self._row = kind
        if kind.paths and self.whole:
            self.model = model(kind)

    def _seen(self, obj: Any, *, initial: bool) -> None:
        self._world.copies.observe(self._key(obj), obj.metadata)
        try:
            self._world.sources.source_seen(self._row, obj, watched=not initial)
        except Malformed as odd:
            odd.kind = self.kind
            self._malformed(odd)

    def _gone(self, key: Key, version: int) -> None:
        self._world.copies.gone(key)
        self._world.sources.gone(key, version)

    def _known(self) -> Iterator[Key]:
        yield from self._world.sources.of(self.kind, self.namespace)
        yield from self._world.copies.of(self.kind, self.namespace)

    def _close(self, version: int) -> None:
        super()._close(version)
        self._world.copies.listed(self.kind, self.namespace)
        if self.whole:
            for key in self._world.sources.of(self.kind, self.namespace):
                self._world.sources.listed(key, version)


class StubFeed(SourceFeed):
    """A kind of source of which only the metadata is watched."""

    model = Stub
    whole = False

    def _seen(self, obj: Stub, *, initial: bool) -> None:
        key, metadata = self._key(obj), obj.metadata
        self._world.copies.observe(key, metadata)
        self._world.sources.metadata_seen(key, metadata, watched=not initial)


class MountFeed(SourceFeed):
    """A kind of source that is known by what pods report to have mounted of it."""

    model = MountReport

    def __init__(
        self,
        world: World,
        kind: SourceKind,
        namespace: str | None,
        malformed: Callable[[Malformed], None],
    ) -> None:
        super().__init__(world, kind, namespace, malformed)
        self._reports: dict[Key, Mounted] = {}
        self._unlisted: set[tuple[Key, str]] = set()
        """Reports that were known when a list began and have not come yet."""

    def __call__(self, event: watch.Event[Any]) -> None:
        if isinstance(event, watch.Init | watch.Absent):
            self._unlisted = {(key, name) for key, known in self._reports.items() for name in known}
        super().__call__(event)

    def _close(self, version: int) -> None:
        for key, name in self._unlisted:
            self._drop(key, name)
        self._unlisted = set()
        super()._close(version)

    def _key(self, obj: MountReport) -> Key:
        return Key(self.kind, obj.metadata.namespace, obj.status.secret_provider_class_name)

    def _seen(self, obj: MountReport, *, initial: bool) -> None:
        key = self._key(obj)
        self._unlisted.discard((key, obj.metadata.name))
        self._reports.setdefault(key, Mounted()).add(obj)
        self._tell(key, obj.metadata.version, watched=not initial)

    def _deleted(self, obj: MountReport) -> None:
        """A pod that ends takes its report along; what others have mounted did not change."""
        self._drop(self._key(obj), obj.metadata.name)

    def _drop(self, key: Key, name: str) -> None:
        reports = self._reports.get(key, Mounted())
        reports.discard(name)
        if not reports:
            self._reports.pop(key, None)

    def _gone(self, key: Key, version: int) -> None:
        if not self._reports.get(key):
            self._world.sources.gone(key, version)

    def tell_again(self, key: Key) -> None:
        """For a class that somebody refers to only now."""
        if reports := self._reports.get(key):
            self._tell(key, reports.version, watched=False)
        else:
            self._world.sources.gone(key, 0)

    def tell_of(self, namespace: str) -> None:
        """For all classes of a namespace, which globs may match."""
        for each in [key for key in self._reports if key.namespace == namespace]:
            self.tell_again(each)

    def _tell(self, key: Key, version: int, *, watched: bool) -> None:
        moment = Moment(after=version - 1 if watched else 0, by=version)
        self._world.sources.mounts_seen(key, self._reports[key].versions, moment)


class NamespaceFeed(Feed):
    model = Stub
    kind = "Namespace"

    def _key(self, obj: Any) -> Key:
        return Key(self.kind, "", obj.metadata.name)

    def _seen(self, obj: Stub, *, initial: bool) -> None:  # noqa: ARG002
        self._world.namespaces.observe(obj.metadata)

    def _gone(self, key: Key, version: int) -> None:  # noqa: ARG002
        self._world.namespaces.gone(key.name)

    def _known(self) -> Iterator[Key]:
        return (Key(self.kind, "", name) for name in self._world.namespaces)


class Feeds:
    """All handlers of one observer: which objects their first lists are still to bring."""

    def __init__(self, kinds: Collection[str]) -> None:
        self._kinds = kinds
        self._by_kind: dict[str, list[Feed]] = {}

    def add(self, feed: Feed) -> None:
        self._by_kind.setdefault(feed.kind, []).append(feed)

    @property
    def mounts(self) -> list["MountFeed"]:
        every = (feed for feeds in self._by_kind.values() for feed in feeds)
        return [feed for feed in every if isinstance(feed, MountFeed)]

    def will_bring(self, want: Want) -> bool:
        """Whether a list that is still to come brings this anyway."""
        if isinstance(want, NamespaceWorkloads):
            feeds = (feed for kind in self._kinds for feed in self._by_kind.get(kind, ()))
            return not any(feed.begun for feed in feeds)
        if isinstance(want, DigestKeys | GlobMatches):
            return False
        return any(feed.is_to_bring(want.key) for feed in self._by_kind.get(want.key.kind, ()))


FEEDS: dict[Watched, type[SourceFeed]] = {
    Watched.WHOLE: SourceFeed,
    Watched.METADATA: StubFeed,
    Watched.STATUSES: MountFeed,
}
