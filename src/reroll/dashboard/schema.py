"""The documents of all pages: what `/api/v1/...` serves, and what templates draw.

Times are RFC 3339 in UTC. Nothing here is a value of a ConfigMap or Secret. What a command tells
is passed on as the command has it.
"""

from typing import Any

import msgspec

from reroll.core.model.key import Key


class Document(msgspec.Struct, rename="camel", kw_only=True):
    """The base of all."""


class Ref(msgspec.Struct, frozen=True, kw_only=True):
    """An object: a workload or a source."""

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, key: Key) -> "Ref":
        return cls(kind=key.kind, namespace=key.namespace, name=key.name)

    @property
    def key(self) -> Key:
        return Key(self.kind, self.namespace, self.name)


class Paging(Document):
    """Which part of a long list this is."""

    page: int
    pages: int
    total: int


class Button(Document):
    """Something that can be done, and whether the user may."""

    action: str
    label: str
    allowed: bool
    why: str = ""
    """Why not."""
    effect: str = ""
    """What happens then, and to how many."""
    fields: dict[str, str] = {}
    """What its form says besides the object."""
    asks: list[str] = []
    """What a person fills in: `reason`, `until`."""
    needs: list[str] = []
    """Those of them that cannot be left empty."""


class Chip(Document):
    """Where one workload stands with a change."""

    workload: Ref
    stage: str
    """`healthy`, `under way`, `next`, `held`, `failed`, `stuck`, `rolled back` ..."""
    wave: int
    reason: str = ""
    message: str = ""
    """What it waits for, or what is wrong."""
    until: str | None = None
    progress: str = ""
    """How its rollout goes, while it does."""


class Wave(Document):
    """The workloads of a change that go together."""

    number: int
    total: int
    workloads: list[Chip]
    """The first of them, those that need attention before the others."""


class ChangeUnderWay(Document):
    """A change that goes from workload to workload."""

    source: Ref
    stopped: bool
    counts: dict[str, int]
    """How many workloads are in each stage."""
    waves: list[Wave]


class Roll(Document):
    """A workload whose pods are being replaced, for no change that propagates with care."""

    workload: Ref
    state: str
    message: str


class Need(Document):
    """Something that a person has to look at."""

    workload: Ref
    level: str
    """`failing`: pods do not run. `rolled back`: it has an older configuration again. `blocked`: a
    roll cannot happen. `notice`: it should be known."""
    reason: str
    message: str
    since: str | None = None


class Unapproved(Document):
    """What a source holds waits for a person."""

    source: Ref
    state: str
    """`waits`, `overdue` or `rejected`."""
    since: str | None
    workloads: int
    """How many wait for it."""


class NowPage(Document):
    """`/api/v1/now`: what is under way, and what needs somebody."""

    at: str
    """When the cluster was listed."""
    workloads: int
    """That are opted in."""
    counts: dict[str, int]
    """How many of them are `up to date`, `rolling`, `held`, `failing`, `rolled back`, `behind`."""
    changes: list[ChangeUnderWay]
    more_changes: int
    rolls: list[Roll]
    more_rolls: int
    needs: list[Need]
    paging: Paging
    """Of `needs`."""
    approvals: list[Unapproved]
    more_approvals: int
    problems: list[str]
    notes: list[str]


class HeldRow(Document):
    """A workload that does not roll, and why."""

    workload: Ref
    reason: str
    message: str
    deliberate: bool
    """Somebody asked for it."""
    since: str | None = None
    by: str = ""
    on: Ref | None = None
    """The object that has the hold: the workload, its Namespace, or a source of it."""
    until: str | None = None
    release: Button | None = None


class HeldPage(Document):
    """`/api/v1/held`: every workload that something keeps from rolling."""

    at: str
    rows: list[HeldRow]
    reasons: dict[str, int]
    """How many are held for each reason."""
    paging: Paging


class TimelineHour(Document):
    """How much happened in an hour."""

    at: str
    """`2026-11-17T13`, in UTC: `?at=` takes it, and a day."""
    rolls: int
    stops: int
    rollbacks: int
    waits: int


class TimelinePage(Document):
    """`/api/v1/timeline`: what happened, the newest first."""

    entries: list[dict[str, Any]]
    """As `reroll history -o json` has them."""
    reasons: dict[str, int]
    """How many there are of each reason, whatever is selected."""
    kinds: dict[str, int]
    """In the same way: `rolls`, `stops`, `rollbacks`, `waits`."""
    hours: list[TimelineHour]
    """Of the day that is looked at, or of the last 24 hours; the oldest first."""
    day: str
    """The day that is looked at; empty: all that is known."""
    before: str
    after: str
    """The days around it."""
    paging: Paging
    problems: list[str]


class CalendarDay(Document):
    """A day of the month."""

    date: str
    weekday: int
    """0: Monday."""
    spans: list[dict[str, str]]
    """`times`, and `what` they are of."""


class CalendarPage(Document):
    """`/api/v1/calendar`: the windows and freezes of the config file, and who has windows."""

    windows: list[dict[str, Any]]
    """As `reroll windows -o json` has them."""
    places: list[dict[str, Any]]
    """In the same way: the workloads and sources that have windows."""
    paging: Paging
    """Of `places`."""
    month: str
    before: str
    after: str
    """The months around it."""
    zone: str
    days: list[CalendarDay]


class StaleRow(Document):
    """Pods of one workload that may have stale configuration."""

    workload: Ref
    source: Ref
    verdict: str
    """`stale`, `missing` or `unknown`."""
    certain: bool
    pods: list[str]
    how: list[str]
    changed: str | None
    by: str
    why: str


class StalePage(Document):
    """`/api/v1/stale`: running pods whose configuration is older than what it comes from."""

    rows: list[StaleRow]
    running: int
    stale: int
    paging: Paging
    problems: list[str]


class DoctorPage(Document):
    """`/api/v1/doctor`: whether the installation is well."""

    version: str
    worst: str
    findings: list[dict[str, Any]]
    """As `reroll doctor -o json` has them."""


class Hit(Document):
    """An object that was searched for."""

    node: Ref
    source: bool
    state: str
    """Of a workload: the reason of its last decision."""


class SearchPage(Document):
    """`/api/v1/search`: workloads and sources by name."""

    query: str
    hits: list[Hit]
    paging: Paging
