"""Windows and freezes: what is open now, and a month of them. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Any

from reroll.answers.windows.documents import day_facts, days_of_month, first_of_month, row_facts
from reroll.answers.windows.windows import month_of_rows, row_standings
from reroll.core.policy.zones import zone
from reroll.dashboard.overview import Overview
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import CalendarDay, CalendarPage

YEARS = 50
"""So far from now there are months."""
_MIDNIGHT: Any = {"day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}


def calendar_page(seen: Overview, query: Query, now: datetime) -> CalendarPage:
    """A zone or a month that cannot be used is UTC, or this one."""
    known = zone(query.word("zone") or "UTC")
    name, where = (query.word("zone") or "UTC", known) if known else ("UTC", UTC)
    asked = first_of_month(query.word("month"), now, where)
    is_near = asked is not None and abs(asked.year - now.year) <= YEARS
    first = asked if asked and is_near else now.astimezone(where).replace(**_MIDNIGHT)
    days = month_of_rows(seen.windows, first, days_of_month(first))
    places, paging = paged(seen.places, query)
    before, after = first - timedelta(days=1), first + timedelta(days=32)
    return CalendarPage(
        windows=[row_facts(one) for one in row_standings(seen.windows, now)],
        places=[dict(one) for one in places],
        paging=paging,
        month=f"{first:%Y-%m}",
        before=f"{before:%Y-%m}",
        after=f"{after:%Y-%m}",
        zone=name,
        days=[
            CalendarDay(
                date=f"{day.date:%Y-%m-%d}",
                weekday=day.date.weekday(),
                spans=day_facts(day)["spans"],
            )
            for day in days
        ],
    )
