"""Whether windows are open at a moment, until when, and when they open next.

Windows count by the minute, so the same minute has the same answer.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from reroll.core.model.windows import DAY, Window
from reroll.core.policy.zones import zone

_STEPS = 200
"""So many changes are looked at: windows of a week that do not open in that time never do."""
_NEVER = datetime.max.replace(tzinfo=UTC)
_MINUTE, _ONE_DAY, _WEEK = timedelta(minutes=1), timedelta(days=1), timedelta(days=8)

Group = tuple[Window, ...]
"""Windows of one place: open while none that denies is active, and one that allows is, if any."""


class Opening(NamedTuple):
    """How windows stand at a moment."""

    is_open: bool
    denied_by: Window | None = None
    """Why it is closed; `None`: because none that allows is active."""
    until: datetime | None = None
    """When that ends which is so now, opening or denial; `None`: never, as far as is seen."""
    since: datetime | None = None
    """Since when it is closed, where that is within some days."""
    opens: datetime | None = None
    """If it is closed: when it opens; `None`: never, as far as is seen."""


def opening(groups: tuple[Group, ...], now: datetime) -> Opening:
    """How these stand now; all groups have to be open."""
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    return _opening(groups, minute)


@lru_cache(maxsize=256)
def _opening(groups: tuple[Group, ...], now: datetime) -> Opening:
    if is_open(groups, now):
        return Opening(True, until=_closes(groups, now))
    denials = [one for group in groups for one in group if one.denies]
    active = [one for one in denials if _end(one, now)]
    opens = _opens(groups, now)
    if not active:
        return Opening(False, None, opens, _closed_since(groups, now), opens)
    ends = {one: _over(one, now) for one in active}
    longest = max(active, key=lambda one: ends[one] or _NEVER)
    begins = [begin for begin, end in spans(longest, now, now) if begin <= now < end]
    return Opening(False, longest, ends[longest], next(iter(begins), None), opens)


def _closed_since(groups: tuple[Group, ...], now: datetime) -> datetime | None:
    """When the last of those closed without which nothing is open."""
    shut = [group for group in groups if not _is_open(group, now)]
    over = [
        [end for one in group if not one.denies for _, end in spans(one, now - _WEEK, now)]
        for group in shut
    ]
    ends = [max((end for end in some if end <= now), default=None) for some in over]
    return max((end for end in ends if end is not None), default=None)


def is_open(groups: Iterable[Group], now: datetime) -> bool:
    """Whether a roll may begin."""
    return all(_is_open(group, now) for group in groups)


def _is_open(group: Group, now: datetime) -> bool:
    allows = [one for one in group if not one.denies]
    if any(_end(one, now) for one in group if one.denies):
        return False
    return not allows or any(_end(one, now) for one in allows)


def _opens(groups: tuple[Group, ...], now: datetime) -> datetime | None:
    """The first moment from now on at which a roll may begin."""
    at = now
    for _ in range(_STEPS):
        later = [moment for group in groups if (moment := _earliest(group, at)) is not None]
        if len(later) < len(groups):
            return None
        furthest = max(later, default=at)
        if furthest == at:
            return at
        at = furthest
    return None


def _earliest(group: Group, at: datetime) -> datetime | None:
    """A moment from then on before which this group is surely closed; `at` itself if it is open."""
    ends = [end for one in group if one.denies and (end := _end(one, at))]
    if ends:
        return max(ends)
    allows = [one for one in group if not one.denies]
    if not allows or any(_end(one, at) for one in allows):
        return at
    return min((begin for one in allows if (begin := _begin(one, at))), default=None)


def _closes(groups: tuple[Group, ...], now: datetime) -> datetime | None:
    """The first moment after now at which no roll may begin any more."""
    at = now
    for _ in range(_STEPS):
        ends = [_changes(group, at) for group in groups]
        known = [end for end in ends if end is not None]
        if not known:
            return None
        at = min(known)
        if not is_open(groups, at):
            return at
    return None


def _changes(group: Group, at: datetime) -> datetime | None:
    """The next moment at which an open group may close."""
    ends = [end for one in group if not one.denies and (end := _end(one, at))]
    begins = [begin for one in group if one.denies and (begin := _begin(one, at))]
    return min([*([max(ends)] if ends else []), *begins], default=None)


def _end(window: Window, at: datetime) -> datetime | None:
    """A moment until which a window is active that is so now; `None`: it is not."""
    for begin, end in spans(window, at, at):
        if begin <= at < end:
            return end
    return None


def _over(window: Window, at: datetime) -> datetime | None:
    """When a window is over that is active at a moment; `None`: never, as far as is seen."""
    end = at
    for _ in range(_STEPS):
        further = _end(window, end)
        if further is None:
            return end
        end = further
    return None


def _begin(window: Window, at: datetime) -> datetime | None:
    """When it begins next, after a moment."""
    return next((begin for begin, _ in spans(window, at, at + _WEEK) if begin > at), None)


def spans(window: Window, after: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Its times that end after `after` and begin by `until`, in order; what adjoins is one.

    Less the time before its end in which nothing begins any more.
    """
    for begin, end in _merged(_single(window, after, until)):
        if end - window.last_start > begin:
            yield begin, end - window.last_start


def _merged(times: Iterator[tuple[datetime, datetime]]) -> Iterator[tuple[datetime, datetime]]:
    known: tuple[datetime, datetime] | None = None
    for begin, end in times:
        if known is not None and begin <= known[1]:
            known = known[0], max(known[1], end)
            continue
        if known is not None:
            yield known
        known = begin, end
    if known is not None:
        yield known


def _single(
    window: Window, after: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Each of its times by itself: enough of them for those around `after` to be whole."""
    where = zone(window.zone)
    if where is None:
        return
    if window.first is not None and window.last is not None:
        yield _instant(window.first, where), _instant(window.last, where, is_end=True)
        return
    around = timedelta(days=2 + window.ends // DAY) + _whole_days(window.last_start)
    day = _midnight(after.astimezone(where)) - around
    latest = _midnight(until.astimezone(where)) + around
    while day <= latest:
        if day.weekday() in window.days:
            begin = _instant(day + window.begins * _MINUTE, where)
            if window.lasts:
                end = begin + (window.ends - window.begins) * _MINUTE
            else:
                end = _instant(day + window.ends * _MINUTE, where, is_end=True)
            if end > begin:
                yield begin, end
        day += _ONE_DAY


def _whole_days(length: timedelta) -> timedelta:
    return -(-length // _ONE_DAY) * _ONE_DAY


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)


def _instant(local: datetime, where: tzinfo, *, is_end: bool = False) -> datetime:
    """When clocks there show this.

    What they show twice is the first time for a beginning and the second for an end; what they
    skip is as much later.
    """
    first = local.replace(tzinfo=where)
    second = first.replace(fold=1)
    is_twice = (first.utcoffset() or timedelta()) > (second.utcoffset() or timedelta())
    return (second if is_end and is_twice else first).astimezone(UTC)
