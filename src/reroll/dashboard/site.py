"""The table of pages: where each is, what makes it, and what draws it.

A page is made from the desk, the last overview and what its address says; its document is what
`/api/v1/...` serves, and what its template draws.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from reroll.core.model.key import Key
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Overview
from reroll.dashboard.pages.calendar import calendar_page
from reroll.dashboard.pages.doctor import doctor_page
from reroll.dashboard.pages.graph import graph_page, picture
from reroll.dashboard.pages.held import held_page
from reroll.dashboard.pages.now import now_page
from reroll.dashboard.pages.search import search_page
from reroll.dashboard.pages.source import source_page
from reroll.dashboard.pages.stale import stale_page
from reroll.dashboard.pages.timeline import timeline_page
from reroll.dashboard.pages.workload import workload_page
from reroll.dashboard.paging import Query
from reroll.dashboard.rendering import Item, Renderer
from reroll.dashboard.schema import (
    CalendarPage,
    DoctorPage,
    Document,
    HeldPage,
    NowPage,
    SearchPage,
    StalePage,
    TimelinePage,
)
from reroll.dashboard.schema_objects import GraphPage, SourcePage, WorkloadPage

OBJECT = "/{kind}/{namespace}/{name}"


class Wanted(NamedTuple):
    """What a request asks for."""

    desk: Desk
    seen: Overview
    query: Query
    key: Key
    """The object in its path, if there is one."""


class Made(NamedTuple):
    document: Document | None
    """`None`: there is no such object."""
    words: Mapping[str, Any] = {}
    """For the template alone."""


Make = Callable[[Wanted], Awaitable[Made]]


class Page(NamedTuple):
    name: str
    path: str
    title: str
    help: str
    make: Make
    document: type[Document]
    in_nav: bool = True
    is_picked: bool = False
    """It follows from the overview alone: whoever asks for the same of it gets the same."""
    is_early: bool = False
    """People see it while the cluster is still being read, and what is on it says so."""

    @property
    def api(self) -> str:
        """Where its document is."""
        return f"/api/v1/{self.name}{OBJECT if OBJECT in self.path else ''}"


async def _now(wanted: Wanted) -> Made:
    seen = wanted.seen
    words = {"is_partial": seen.is_partial, "is_begun": bool(seen.facts)}
    return Made(now_page(seen, wanted.query), words)


async def _held(wanted: Wanted) -> Made:
    return Made(await held_page(wanted.desk, wanted.seen, wanted.query))


async def _source(wanted: Wanted) -> Made:
    return Made(await source_page(wanted.desk, wanted.seen, wanted.key, wanted.query))


async def _workload(wanted: Wanted) -> Made:
    return Made(await workload_page(wanted.desk, wanted.seen, wanted.key))


async def _graph(wanted: Wanted) -> Made:
    made = graph_page(wanted.seen, wanted.key)
    if made is None:
        return Made(None)
    return Made(made[0], {"picture": Renderer.svg(picture(made[1], wanted.key))})


async def _calendar(wanted: Wanted) -> Made:
    return Made(calendar_page(wanted.seen, wanted.query, wanted.desk.clock.now()))


async def _timeline(wanted: Wanted) -> Made:
    return Made(await timeline_page(wanted.desk, wanted.seen, wanted.query))


async def _stale(wanted: Wanted) -> Made:
    return Made(await stale_page(wanted.desk, wanted.query))


async def _doctor(wanted: Wanted) -> Made:
    return Made(await doctor_page(wanted.desk))


async def _search(wanted: Wanted) -> Made:
    return Made(search_page(wanted.seen, wanted.query))


# fmt: off
PAGES: tuple[Page, ...] = (
    Page("now", "/", "Now", "what is under way, and what needs somebody", _now, NowPage, is_picked=True, is_early=True),
    Page("held", "/held", "Held", "what does not roll, and why", _held, HeldPage),
    Page("calendar", "/calendar", "Calendar", "windows and freezes", _calendar, CalendarPage),
    Page("timeline", "/timeline", "Timeline", "rolls, stops and rollbacks", _timeline, TimelinePage),
    Page("stale", "/stale", "Stale pods", "pods that run with older configuration", _stale, StalePage),
    Page("search", "/search", "Find", "workloads and sources by name", _search, SearchPage, is_picked=True),
    Page("doctor", "/doctor", "Doctor", "whether the installation is well", _doctor, DoctorPage),
    Page("source", f"/source{OBJECT}", "Source", "who uses it, who changed it", _source, SourcePage, in_nav=False),
    Page("workload", f"/workload{OBJECT}", "Workload", "all about one workload", _workload, WorkloadPage, in_nav=False),
    Page("graph", f"/graph{OBJECT}", "Graph", "what is near one object", _graph, GraphPage, in_nav=False, is_picked=True),
)
# fmt: on
NAV = tuple(Item(page.path, page.title, page.name, page.help) for page in PAGES if page.in_nav)
