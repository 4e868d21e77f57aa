"""What `reroll windows` tells programs, and the days of a month. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from reroll.answers.documents import moment
from reroll.answers.windows.windows import (
    CalendarDay,
    PlaceStanding,
    RowStanding,
    of_sources,
    of_workload,
)
from reroll.core.observe.snapshot import Snapshot


def place_standings(snapshots: Iterable[Snapshot], now: datetime) -> list[PlaceStanding]:
    """The workloads that have windows, then the sources that do."""
    seen = list(snapshots)
    workloads = [one for each in seen if (one := of_workload(each, now))]
    sources = {one.key: one for each in seen for one in of_sources(each, now)}
    return [*workloads, *(sources[key] for key in sorted(sources))]


def first_of_month(text: str, now: datetime, where: tzinfo) -> datetime | None:
    """Of a month such as `2026-12`, of this one without a text; `None` if it is no month."""
    try:
        day = now.astimezone(where)
        if text:
            day = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        return None
    return datetime(day.year, day.month, 1, tzinfo=where)


def days_of_month(first: datetime) -> int:
    following = (first + timedelta(days=32)).replace(day=1)
    return (following.replace(tzinfo=UTC) - first.replace(tzinfo=UTC)).days


def row_facts(one: RowStanding) -> dict[str, Any]:
    return {
        "name": one.row.name,
        "denies": one.denies,
        "active": one.is_active,
        "until": moment(one.until),
        "next": moment(one.next),
        "namespaces": list(one.row.namespaces),
        "times": [window.text for window in one.row.windows],
        "zones": sorted({window.zone for window in one.row.windows}),
    }


def place_facts(one: PlaceStanding) -> dict[str, Any]:
    denied = one.now.denied_by
    return {
        **one.key._asdict(),
        "open": one.now.is_open and not one.problem,
        "frozenBy": denied.title if denied else None,
        "since": moment(one.now.since),
        "until": moment(one.now.until),
        "opens": moment(one.now.opens),
        "windows": list(one.because),
        "problem": one.problem,
    }


def day_facts(day: CalendarDay) -> dict[str, Any]:
    return {
        "date": f"{day.date:%Y-%m-%d}",
        "spans": [{"times": times, "what": what} for times, what in day.spans],
    }
