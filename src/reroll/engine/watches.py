"""The watches that keep an observer current, in the order in which they have to be heard."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.logs import Log
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.engine.feeds import FEEDS, Feed, NamespaceFeed, SourceFeed, WorkloadFeed
from reroll.engine.observer import Observer
from reroll.engine.stores import stored_elsewhere
from reroll.kube import resources
from reroll.kube.client import Client
from reroll.kube.errors import Malformed
from reroll.kube.watch import Watch
from reroll.kube.wire import Resource
from reroll.settings.table import Settings

if TYPE_CHECKING:
    from reroll.engine.row_checks import RowChecks

log = Log("reroll")


class Watches:
    """Watches in three stages, because each needs what the one before brought."""

    def __init__(
        self, client: Client, clock: Clock, settings: Settings, observer: Observer
    ) -> None:
        self._client, self._clock, self._settings = client, clock, settings
        self._observer, self._world = observer, observer.world
        self.row_checks = _row_checks(client, clock, settings.tables)

    async def compare_stores(self) -> None:
        """Find out whether versions of all that is watched can be compared."""
        base, *others = map(resources.of, self._observer.kinds.values())
        others += map(resources.to_watch, self._sources())
        place = next(iter(self._settings.namespaces), None)
        elsewhere = await stored_elsewhere(self._client, base, others, place)
        self._world.one_store = not elsewhere
        if elsewhere:
            names = ", ".join(one.full_name for one in elsewhere)
            log.warning("versions are of several stores, so times decide", resources=names)

    def _sources(self) -> list[SourceKind]:
        counted = self._world.dialects.options.sources
        return [row for row in self._settings.tables.sources if row.name in counted]

    def stages(self) -> Iterator[list[Watch[Any]]]:
        """Namespaces say what their workloads do, and workloads which sources matter."""
        places: tuple[str | None, ...] = self._settings.namespaces or (None,)
        if not self._settings.namespaces:
            feed = NamespaceFeed(self._world, None, report_malformed)
            yield [self._watch(resources.NAMESPACES, feed, metadata_only=True)]
        kinds = self._observer.kinds.values()
        sources = [self._source(row, place) for row in self._sources() for place in places]
        yield [self.workloads(kind, place) for kind in kinds for place in places]
        yield sources

    def workloads(self, kind: Kind, place: str | None) -> Watch[Any]:
        """The workloads of a kind, in a namespace or in all."""
        return self._watch(
            resources.of(kind), WorkloadFeed(self._world, kind, place, report_malformed)
        )

    def _source(self, row: SourceKind, place: str | None) -> Watch[Any]:
        feed = FEEDS[row.watched](self._world, row, place, report_malformed)
        metadata_only = row.watched is Watched.METADATA
        return self._watch(resources.to_watch(row), feed, metadata_only=metadata_only)

    def _watch(self, resource: Resource, feed: Feed, *, metadata_only: bool = False) -> Watch[Any]:
        self._observer.feeds.add(feed)

        def on_state(state: str, problem: str | None) -> None:
            self._changed(feed, state)
            fields = {"problem": problem} if problem else {}
            level = log.warning if problem else log.debug
            level("watch", resource=resource.full_name, state=state, **fields)

        return Watch(
            self._client,
            resource,
            feed.model,
            feed,
            clock=self._clock,
            namespace=feed.namespace,
            metadata_only=metadata_only,
            read_timeout=self._settings.watch_silence.total_seconds(),
            on_state=on_state,
            on_bug=bugs.in_watch,
        )

    def _changed(self, feed: Feed, state: str) -> None:
        if isinstance(feed, SourceFeed):
            if state == "forbidden":
                self._world.sources.refused(feed.kind, feed.namespace)
            elif state in {"listing", "watching"}:
                self._world.sources.allowed(feed.kind, feed.namespace)
        if self.row_checks:
            self.row_checks.watched(feed.kind, state)


def _row_checks(client: Client, clock: Clock, tables: Tables) -> "RowChecks | None":
    """What checks the rows of a config file; loaded only where there are any."""
    if not tables.custom:
        return None
    from reroll.engine.row_checks import RowChecks

    return RowChecks(client, clock, tables.custom)


def report_malformed(error: Malformed) -> None:
    name = f"{error.kind} {error.namespace}/{error.name}"
    log.warning("malformed object", object=name, problem=str(error))
