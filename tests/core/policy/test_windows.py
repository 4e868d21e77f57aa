"""Windows as people write them, and when they are open: against a clock on a wall."""

# ruff: noqa: DTZ001  what clocks show there has no zone

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reroll.core.model.windows import ALWAYS_OPEN, EVERY_DAY, Window, Windows
from reroll.core.policy import zones
from reroll.core.policy.openings import Group, is_open, opening, spans
from reroll.core.policy.windows import parse_window, parse_windows

OSLO = "Europe/Oslo"
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def at(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def group(*texts: str) -> Group:
    return tuple(map(parse_window, texts))


# As people write them

WRITTEN = {
    "Mon-Fri 09:00-17:00 Europe/Oslo": Window("", OSLO, frozenset(range(5)), 540, 1020),
    "daily 02:00+3h UTC": Window("", "UTC", EVERY_DAY, 120, 300, True),
    "Sat 22:00-06:00": Window("", "UTC", frozenset((5,)), 1320, 1800),
    "sun 9:30-24:00 UTC": Window("", "UTC", frozenset((6,)), 570, 1440),
    "Fri-Mon UTC": Window("", "UTC", frozenset((4, 5, 6, 0))),
    "Mon,Wed-Thu 00:00+90m UTC": Window("", "UTC", frozenset((0, 2, 3)), 0, 90, True),
    "Sat 00:00+7d UTC": Window("", "UTC", frozenset((5,)), 0, 10080, True),
    "deny daily 08:00-09:00 UTC": Window("", "UTC", EVERY_DAY, 480, 540, denies=True),
    "allow  daily  08:00-09:00": Window("", "UTC", EVERY_DAY, 480, 540),
    "2026-12-24 Europe/Oslo": Window(
        "", OSLO, first=datetime(2026, 12, 24), last=datetime(2026, 12, 25)
    ),
    "2026-11-23 to 2026-12-01": Window(
        "", "UTC", first=datetime(2026, 11, 23), last=datetime(2026, 12, 2)
    ),
    "2026-11-23 18:00 to 2026-12-01T08:00 Europe/Oslo": Window(
        "", OSLO, first=datetime(2026, 11, 23, 18), last=datetime(2026, 12, 1, 8)
    ),
}


@pytest.mark.parametrize(("text", "meant"), WRITTEN.items(), ids=WRITTEN)
def test_a_window_is_read(text: str, meant: Window) -> None:
    found = parse_window(text)

    assert msgspec.structs.replace(found, text="") == meant
    assert found.text == " ".join(text.split())


def test_an_annotation_has_windows_and_names_and_a_zone_is_for_those_after_it_too() -> None:
    found = parse_windows("nights, week-ends; Mon-Fri 09:00-17:00 Europe/Oslo; Sat 02:00+4h")

    assert found.names == ("nights", "week-ends")
    assert [one.zone for one in found.own] == [OSLO, OSLO]
    assert parse_windows(" Always ") == ALWAYS_OPEN
    assert parse_windows("2024-freeze").names == ("2024-freeze",)


MISWRITTEN = {
    "": 'is no window; write e.g. "Mon-Fri 09:00-17:00 Europe/Oslo" or "daily 02:00+3h UTC"',
    "Mon 09:00-17:00 Europe/Osl": "names the time zone 'Europe/Osl', which is not known here",
    "Mon 09:00-17:00 ../../etc/passwd": "which is not known here",
    "Mon 09:00-17:00 Europe": "names the time zone 'Europe', which is not known here",
    "Mon 9": "has the time '9', which cannot be read",
    "Mon 9:00": "has the time '9:00', which cannot be read",
    "Mun 09:00-17:00": "begins with 'Mun', which are no days",
    "Mon-Fry 09:00-17:00": "which are no days",
    "daily 24:00-25:00": "has the time 24:00, which no clock shows",
    "daily 09:60-10:00": "has the time 09:60, which no clock shows",
    "daily 09:00-09:00": "begins when it ends",
    "daily 09:00+0m": "has the duration '0m'; write whole minutes",
    "daily 09:00+30s": "has the duration '30s'; write whole minutes",
    "Mon-Fri 9-17": "has the time '9-17', which cannot be read; write e.g. \"09:00-17:00\"",
    "daily 09:00+8d": "at most 168h",
    "2026-02-30": "has a date that no calendar shows",
    "2026-12-01 to 2026-11-23": "ends before it begins",
    "2026-12-01 10:00": "has a beginning and no end",
    "0001-01-01 to 9999-12-31": "has a year that is too far away",
    "x" * 201 + " 09:00-10:00": "is too long for a window",
    "; ".join(["daily 09:00-10:00"] * 17): "has more than 16 windows",
}


@pytest.mark.parametrize(("text", "told"), MISWRITTEN.items(), ids=MISWRITTEN)
def test_what_is_wrong_with_a_window_is_a_sentence(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"^[a-z]") as error:
        parse_windows(text)

    assert told in str(error.value)


@given(st.text(max_size=60) | st.from_regex(r"[A-Za-z\-, ]{1,12}[0-9:+\- ]{1,12}[A-Za-z/]{0,14}"))
def test_any_text_is_windows_or_a_sentence(text: str) -> None:
    try:
        found = parse_windows(text)
    except ValueError:
        return
    moment = at("2026-11-17T12:00")
    assert isinstance(found, Windows)
    assert all(is_open(((one,),), moment) in {True, False} for one in found.own)


def test_a_zone_is_found_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the image: by the package tzdata."""
    monkeypatch.setattr("zoneinfo.TZPATH", ())
    monkeypatch.setattr("zoneinfo._tzpath.TZPATH", (), raising=False)
    zones.zone.cache_clear()

    assert zones.zone("Pacific/Auckland") is not None
    assert zones.zone("Pacific/Nowhere") is None


# When they are open

OPENINGS = {
    "within": (("Mon-Fri 09:00-17:00 Europe/Oslo",), "2026-11-17T13:00", "2026-11-17T16:00"),
    "the first minute": (("daily 09:00-10:00",), "2026-11-17T09:00", "2026-11-17T10:00"),
    "over midnight": (("Sat 22:00-06:00",), "2026-11-22T05:59", "2026-11-22T06:00"),
    "days that adjoin": (("Sat-Sun UTC",), "2026-11-21T23:59", "2026-11-23T00:00"),
    "two that overlap": (
        ("daily 08:00-10:00", "daily 09:30-12:00"), "2026-11-17T09:00", "2026-11-17T12:00",
    ),
    "until a freeze": (
        ("daily 08:00-20:00", "deny 2026-11-17 12:00 to 2026-11-18 12:00"),
        "2026-11-17T09:00", "2026-11-17T12:00",
    ),
    "only freezes, none now": (
        ("deny 2026-11-23 to 2026-12-01 Europe/Oslo",), "2026-11-17T09:00", "2026-11-22T23:00",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "now", "until"), OPENINGS.values(), ids=OPENINGS)
def test_windows_are_open_until(texts: tuple[str, ...], now: str, until: str) -> None:
    found = opening((group(*texts),), at(now))

    assert (found.is_open, found.until) == (True, at(until))


CLOSED = {
    "the minute after": (("daily 09:00-10:00",), "2026-11-17T10:00", "2026-11-18T09:00"),
    "over the week end": (
        ("Mon-Fri 09:00-17:00 Europe/Oslo",), "2026-11-20T16:00", "2026-11-23T08:00",
    ),
    "one of several opens first": (
        ("Sun 09:00-10:00", "Wed 09:00-10:00"), "2026-11-17T10:00", "2026-11-18T09:00",
    ),
    "a freeze goes beyond the next one": (
        ("daily 02:00+3h UTC", "deny 2026-11-17 to 2026-11-19"),
        "2026-11-17T01:00", "2026-11-20T02:00",
    ),
    "two freezes in a row": (
        ("deny 2026-11-17", "deny 2026-11-18"), "2026-11-17T01:00", "2026-11-19T00:00",
    ),
    "once, in half a year": (("2027-05-17 Europe/Oslo",), "2026-11-17T01:00", "2027-05-16T22:00"),
    "once, long after us": (("2090-01-01",), "2026-11-17T01:00", "2090-01-01T00:00"),
    "once, and over": (("2025-05-17",), "2026-11-17T01:00", None),
    "denied whenever it is allowed": (
        ("daily 02:00-03:00", "deny daily 01:00-04:00"), "2026-11-17T01:00", None,
    ),
    "denied for ever": (("deny daily 00:00-24:00",), "2026-11-17T01:00", None),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "now", "opens"), CLOSED.values(), ids=CLOSED)
def test_windows_open_next(texts: tuple[str, ...], now: str, opens: str | None) -> None:
    found = opening((group(*texts),), at(now))

    assert (found.is_open, found.opens) == (False, at(opens) if opens else None)


def test_a_freeze_is_named_with_its_own_end() -> None:
    freeze = "deny 2026-11-17 to 2026-11-18 UTC"
    found = opening((group("daily 02:00+3h UTC", freeze),), at("2026-11-17T09:00"))

    assert found.denied_by == parse_window(freeze)
    assert (found.since, found.until) == (at("2026-11-17T00:00"), at("2026-11-19T00:00"))
    assert found.opens == at("2026-11-19T02:00")


def test_it_is_told_since_when_nothing_is_open() -> None:
    found = opening((group("daily 02:00+3h UTC"),), at("2026-11-17T09:00"))

    assert found.since == at("2026-11-17T05:00")


def test_all_groups_have_to_be_open() -> None:
    nights, days = group("daily 02:00+3h UTC"), group("daily 04:00-16:00 UTC")

    assert is_open((nights, days), at("2026-11-17T04:30"))
    assert not is_open((nights, days), at("2026-11-17T03:30"))
    assert opening((nights, days), at("2026-11-17T12:00")).opens == at("2026-11-18T04:00")
    assert opening((nights, group("daily 12:00+1h")), at("2026-11-17T12:00")).opens is None


LAST_START = msgspec.structs.replace(parse_window("Sat-Sun UTC"), last_start=30 * MINUTE)


@pytest.mark.parametrize(
    ("now", "begins"),
    [
        ("2026-11-21T23:45", True),
        ("2026-11-22T23:29", True),
        ("2026-11-22T23:30", False),
        ("2026-11-22T23:59", False),
    ],
)
def test_nothing_begins_shortly_before_the_last_end(now: str, begins: bool) -> None:
    assert is_open(((LAST_START,),), at(now)) is begins


def test_each_of_its_times_has_a_last_start() -> None:
    noon = msgspec.structs.replace(parse_window("daily 12:00-13:00"), last_start=30 * MINUTE)

    assert is_open(((noon,),), at("2026-11-17T12:29"))
    found = opening(((noon,),), at("2026-11-17T12:30"))
    assert (found.is_open, found.opens) == (False, at("2026-11-18T12:00"))


def test_a_window_that_is_shorter_than_its_last_start_never_opens() -> None:
    short = msgspec.structs.replace(parse_window("daily 02:00+20m"), last_start=30 * MINUTE)

    assert opening(((short,),), at("2026-11-17T02:00")).opens is None


# When clocks are set

CHANGES = {
    # Forward: on 2026-03-29, 02:00 in Oslo is 03:00. Back: on 2026-10-25, 03:00 is 02:00.
    "an hour that is skipped is as much later": (
        "daily 02:15-02:45 Europe/Oslo", "2026-03-29", ("01:15", "01:45"),
    ),
    "an end that is skipped is as much later": (
        "daily 01:00-02:30 Europe/Oslo", "2026-03-29", ("00:00", "01:30"),
    ),
    "around the hour that is skipped": (
        "daily 01:00-05:00 Europe/Oslo", "2026-03-29", ("00:00", "03:00"),
    ),
    "as long as it says, forward": (
        "daily 01:00+4h Europe/Oslo", "2026-03-29", ("00:00", "04:00"),
    ),
    "an hour that comes twice is open twice": (
        "daily 02:15-02:45 Europe/Oslo", "2026-10-25", ("00:15", "01:45"),
    ),
    "around the hour that comes twice": (
        "daily 01:00-05:00 Europe/Oslo", "2026-10-25", ("23:00", "04:00"),
    ),
    "as long as it says, back": (
        "daily 02:00+3h Europe/Oslo", "2026-10-25", ("00:00", "03:00"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "day", "hours"), CHANGES.values(), ids=CHANGES)
def test_on_the_day_that_clocks_are_set(text: str, day: str, hours: tuple[str, str]) -> None:
    noon = at(f"{day}T12:00")
    begin, end = (at(f"{day}T{hour}") for hour in hours)
    begin -= DAY if begin > end else timedelta()

    found = [span for span in spans(parse_window(text), noon - DAY, noon) if span[0] < noon]

    assert (begin, end) in found


# Against a clock

ZONES = ("UTC", OSLO, "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
DAYS = ("daily", "Mon", "Sat-Sun", "Mon-Fri", "Fri-Mon", "Tue,Thu")


@st.composite
def windows(draw: st.DrawFn, zone: str) -> Window:
    begin, length = draw(st.integers(0, 95)) * 15, draw(st.integers(1, 90)) * 15
    end = (begin + length) % 1440
    hours = f"{begin // 60:02}:{begin % 60:02}"
    if draw(st.booleans()) or end == begin:
        hours = f"{hours}+{length}m"
    else:
        hours = f"{hours}-{end // 60:02}:{end % 60:02}"
    kind = draw(st.sampled_from(("", "", "deny ")))
    if not draw(st.integers(0, 4)):
        first = datetime(2026, 5, 30) + draw(st.integers(0, 13)) * DAY
        last = first + draw(st.integers(0, 5)) * DAY
        return parse_window(f"{kind}{first:%Y-%m-%d} to {last:%Y-%m-%d} {zone}")
    return parse_window(f"{kind}{draw(st.sampled_from(DAYS))} {hours} {zone}")


def shown(window: Window, now: datetime) -> bool:
    """Whether a clock on a wall there shows a time of the window: no clock is set in June."""
    wall = now.astimezone(ZoneInfo(window.zone)).replace(tzinfo=None)
    if window.first is not None and window.last is not None:
        return window.first <= wall < window.last
    midnight = wall.replace(hour=0, minute=0)
    return any(
        day.weekday() in window.days
        and day + window.begins * MINUTE <= wall < day + window.ends * MINUTE
        for day in (midnight - back * DAY for back in range(9))
    )


def is_open_by_the_clock(groups: tuple[Group, ...], now: datetime) -> bool:
    for each in groups:
        if any(shown(one, now) for one in each if one.denies):
            return False
        allows = [one for one in each if not one.denies]
        if allows and not any(shown(one, now) for one in allows):
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_openings_are_those_of_a_clock_that_is_read_every_quarter(data: st.DataObject) -> None:
    zone = data.draw(st.sampled_from(ZONES))
    groups = tuple(
        tuple(data.draw(st.lists(windows(zone), min_size=1, max_size=3)))
        for _ in range(data.draw(st.integers(1, 2)))
    )
    now = at("2026-06-03T00:00") + data.draw(st.integers(0, 7 * 96)) * 15 * MINUTE
    step, days = 15 * MINUTE, 16
    moments = [now + number * step for number in range(days * 96)]
    answers = [is_open_by_the_clock(groups, moment) for moment in moments]

    found = opening(groups, now)

    assert found.is_open is answers[0]
    changes = next((m for m, a in zip(moments, answers, strict=True) if a is not answers[0]), None)
    told = found.until if found.is_open else found.opens
    if changes is not None:
        assert told == changes
    else:
        assert told is None or told > moments[-1]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_in_any_week_of_a_year_an_opening_is_the_first_open_minute(data: st.DataObject) -> None:
    """Clocks are set, and still: it is open at the opening, and at no quarter before it."""
    one = data.draw(windows(data.draw(st.sampled_from(ZONES))))
    groups = ((one,),)
    now = at("2026-01-01T00:00") + data.draw(st.integers(0, 366 * 96)) * 15 * MINUTE

    found = opening(groups, now)

    assert found.is_open is is_open(groups, now)
    if found.opens is None:
        assert found.is_open or one.first is not None or one.denies
        return
    assert now < found.opens <= at("2027-01-01T00:00") + 10 * DAY
    assert is_open(groups, found.opens)
    assert not is_open(groups, found.opens - MINUTE)
    moment = now
    while moment < min(found.opens, now + 9 * DAY):
        assert not is_open(groups, moment)
        moment += 15 * MINUTE
