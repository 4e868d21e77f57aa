"""What happened: rolls, stops, rollbacks, the newest first; and a day of it at a glance."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reroll.dashboard.desk import Desk
from reroll.dashboard.key_names import without_key_names
from reroll.dashboard.overview import Facts, Overview
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import TimelineHour, TimelinePage
from reroll.dashboard.states import drawn

PAST_FOR = 10.0
HOURS = 24
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(T\d\d)?")
"""A day, or an hour of one, in UTC: how the times begin that are meant."""
_KINDS = {"good": "rolls", "busy": "rolls", "back": "rollbacks", "bad": "stops"}
"""By the tone that a reason is drawn in."""
KINDS = ("rolls", "stops", "rollbacks", "waits")


async def timeline_page(desk: Desk, seen: Overview, query: Query) -> TimelinePage:
    told = await desk.ask("past", PAST_FOR, lambda cluster: cluster.timeline(seen.subjects))
    past, now = told["history"], desk.clock.now()
    chosen = [entry for entry in past if is_wanted(entry, query)]
    at = moment_of(query)
    here = [entry for entry in chosen if entry["at"].startswith(at)]
    shown, paging = paged(here, query)
    first = first_hour(at, now)
    return TimelinePage(
        entries=await without_key_names(desk, shown),
        reasons=dict(Counter(entry["reason"] for entry in past).most_common()),
        kinds={kind: number for kind in KINDS if (number := _count(past, kind))},
        hours=hours(chosen, first),
        day=at[:10],
        before=f"{first - timedelta(hours=1):%Y-%m-%d}",
        after=f"{first + timedelta(days=1):%Y-%m-%d}" if at and first.date() < now.date() else "",
        paging=paging,
        problems=list(told["problems"]),
    )


def kind_of(entry: Facts) -> str:
    """`rolls`, `stops`, `rollbacks`, or `waits` for all that only did not happen yet."""
    return _KINDS.get(drawn(entry["reason"]).tone, "waits")


def _count(past: Iterable[Facts], kind: str) -> int:
    return sum(kind_of(entry) == kind for entry in past)


def moment_of(query: Query) -> str:
    """The day, or the hour, that is looked at; empty: all that is known."""
    text = query.word("at")
    if not _MOMENT.fullmatch(text):
        return ""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text


def first_hour(at: str, now: datetime) -> datetime:
    """Of the day that is looked at; else 24 hours with this one as the last."""
    if at:
        return datetime.fromisoformat(at[:10]).replace(tzinfo=UTC)
    this = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return this - timedelta(hours=HOURS - 1)


def is_wanted(entry: Facts, query: Query) -> bool:
    """By kind, reason, namespace, and a part of the workload's, source's or writer's name."""
    workload, parts = entry["workload"], entry["sources"]
    source, by = query.word("source").lower(), query.word("by").lower()
    return (
        query.word("kind") in {"", kind_of(entry)}
        and query.word("reason") in {"", entry["reason"]}
        and query.namespace in {"", workload["namespace"]}
        and query.word("name").lower() in workload["name"].lower()
        and (not source or any(source in part["entry"].partition("#")[0] for part in parts))
        and (not by or any(by in (part["changedBy"] or "").lower() for part in parts))
    )


def hours(entries: Iterable[Facts], first: datetime) -> list[TimelineHour]:
    """What there was in each of 24 hours, the oldest first."""
    found: dict[str, Counter[str]] = {}
    for entry in entries:
        found.setdefault(entry["at"][:13], Counter())[kind_of(entry)] += 1
    times = [f"{first + timedelta(hours=number):%Y-%m-%dT%H}" for number in range(HOURS)]
    return [
        TimelineHour(at=at, **{kind: found.get(at, Counter())[kind] for kind in KINDS})
        for at in times
    ]


class Bar(NamedTuple):
    """A part of an hour as it is drawn."""

    place: int
    kind: str
    begin: int
    height: int


def bars(counts: Sequence[TimelineHour], height: int) -> list[tuple[TimelineHour, list[Bar]]]:
    """The parts of each hour on each other; what happened at all is seen."""
    most = max([total(one) for one in counts] + [1])
    found = []
    for place, one in enumerate(counts):
        parts, begin = [], 0
        for kind in KINDS:
            if number := getattr(one, kind):
                tall = max(2, round(height * number / most))
                parts.append(Bar(place, kind, begin, tall))
                begin += tall
        found.append((one, parts))
    return found


def total(hour: TimelineHour) -> int:
    return sum(getattr(hour, kind) for kind in KINDS)


def said(hour: TimelineHour) -> str:
    """`4 rolls, 1 stop`."""
    told = ((getattr(hour, kind), kind) for kind in KINDS)
    return ", ".join(f"{n} {kind if n != 1 else kind[:-1]}" for n, kind in told if n) or "nothing"
