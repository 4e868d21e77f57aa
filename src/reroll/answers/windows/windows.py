"""How windows stand at a moment, and what a month of them looks like. Pure."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from reroll.core.decide.timing import groups_of, named_windows, timing_of, unknown_names
from reroll.core.model.key import Key
from reroll.core.model.windows import ALWAYS_OPEN, WindowRow, Windows
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.openings import Group, Opening, opening, spans

DAY = timedelta(days=1)
MOST_SPANS = 24
"""Of one day."""


class RowStanding(NamedTuple):
    """A row of the config file."""

    row: WindowRow
    is_active: bool
    until: datetime | None
    """When what is so now ends, if it is active."""
    next: datetime | None
    """When it begins next; `None`: never again, as far as can be seen."""

    @property
    def denies(self) -> bool:
        return any(window.denies for window in self.row.windows)


class PlaceStanding(NamedTuple):
    """A workload or a source that has windows."""

    key: Key
    now: Opening
    because: tuple[str, ...]
    """The windows that count for it."""
    problem: str = ""
    """Why nobody can tell, which keeps it closed."""


class CalendarDay(NamedTuple):
    date: datetime
    """Midnight of the zone that it is shown in."""
    spans: tuple[tuple[str, str], ...]
    """Times, and what they are of."""


def row_standings(rows: Iterable[WindowRow], now: datetime) -> list[RowStanding]:
    return [_row(row, now) for row in rows]


def _row(row: WindowRow, now: datetime) -> RowStanding:
    found = opening((row.windows,), now)
    if any(window.denies for window in row.windows):
        is_active = not found.is_open
        return RowStanding(row, is_active, found.until if is_active else None,
                           None if is_active else found.until)  # fmt: skip
    return RowStanding(row, found.is_open, found.until if found.is_open else None, found.opens)


def of_workload(snapshot: Snapshot, now: datetime) -> PlaceStanding | None:
    """Of a roll for sources that have no windows of their own; `None`: it may begin at any time."""
    said = snapshot.policy.window
    groups = groups_of(snapshot, ())
    problem = said.problem or unknown_names(said, snapshot.calendar)
    if not groups and not problem:
        return None
    return PlaceStanding(snapshot.workload.key, opening(groups, now), _titles(groups), problem)


def of_sources(snapshot: Snapshot, now: datetime) -> Iterator[PlaceStanding]:
    """Of those of its sources that have windows."""
    for reference in snapshot.references:
        timing = timing_of(snapshot, reference.source)
        said: Windows = timing.window if timing else ALWAYS_OPEN
        if said != ALWAYS_OPEN:
            group = named_windows(said, snapshot.calendar)
            problem = said.problem or unknown_names(said, snapshot.calendar)
            now_so = opening((group,) if group else (), now)
            yield PlaceStanding(reference.source, now_so, _titles((group,)), problem)


def _titles(groups: Iterable[Group]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(window.title for group in groups for window in group))


# A month


def month_of_rows(rows: Iterable[WindowRow], first: datetime, days: int) -> Iterator[CalendarDay]:
    """Each window on each day, by the clocks of the zone of `first`."""
    known = list(rows)
    for begin, end in _days(first, days):
        yield CalendarDay(
            begin,
            tuple(
                (_hours(span, begin, end), f"{'deny ' if one.denies else ''}{row.name}")
                for row in known
                for one in row.windows
                for span in spans(one, begin, end)
                if span[0] < end and span[1] > begin
            )[:MOST_SPANS],
        )


def month_of_groups(groups: tuple[Group, ...], first: datetime, days: int) -> Iterator[CalendarDay]:
    """When a roll may begin on each day, by all that counts."""
    for begin, end in _days(first, days):
        found = tuple((_hours(span, begin, end), "open") for span in _open(groups, begin, end))
        yield CalendarDay(begin, found or (("", "closed"),))


def _open(
    groups: tuple[Group, ...], begin: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    at = begin.astimezone(UTC)
    for _ in range(MOST_SPANS):
        found = opening(groups, at)
        if not found.is_open:
            if found.opens is None or found.opens >= end:
                return
            at, found = found.opens, opening(groups, found.opens)
        until = min(found.until or end.astimezone(UTC), end.astimezone(UTC))
        yield at, until
        if until >= end:
            return
        at = until


def _days(first: datetime, days: int) -> Iterator[tuple[datetime, datetime]]:
    for number in range(days):
        begin = first + number * DAY
        yield begin, begin + DAY


def _hours(span: tuple[datetime, datetime], begin: datetime, end: datetime) -> str:
    zone: tzinfo | None = begin.tzinfo
    start, stop = max(span[0], begin), min(span[1], end)
    if start <= begin and stop >= end:
        return "all day"
    last = "24:00" if stop >= end else f"{stop.astimezone(zone):%H:%M}"
    return f"{start.astimezone(zone):%H:%M}-{last}"
