"""What `reroll windows` tells, of rows, of workloads and of a month."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
from tests.core.build import EAGER, configmap, content, reference, snapshot

from reroll.answers.windows.windows import (
    month_of_groups,
    month_of_rows,
    of_sources,
    of_workload,
    row_standings,
)
from reroll.core.model.timing import SourceTiming
from reroll.core.model.windows import Windows
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.window_rows import windows
from reroll.core.policy.windows import parse_window, parse_windows

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
ROWS = windows(
    [
        {"name": "nights", "allow": "daily 22:00-06:00 Europe/Oslo"},
        {"name": "black-week", "deny": "2026-11-23 to 2026-12-01", "namespaces": ["sh*"]},
        {"name": "past", "deny": "2025-11-23"},
        {"name": "noon", "deny": "daily 11:30+1h"},
    ]
)[0].rows


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_rows_tell_whether_they_are_active_until_when_and_when_next() -> None:
    found = {one.row.name: one for one in row_standings(ROWS, NOW)}

    assert found["nights"][1:] == (False, None, at("2026-11-17T21:00"))
    assert found["black-week"][1:] == (False, None, at("2026-11-23T00:00"))
    assert found["past"][1:] == (False, None, None)
    assert found["noon"][1:] == (True, at("2026-11-17T12:30"), None)
    assert [one.denies for one in found.values()] == [False, True, True, True]


def seen(said: Windows, of_source: Windows | None = None) -> Snapshot:
    timing = SourceTiming(window=of_source) if of_source else None
    there = content({"a": "1"}, timing=timing)
    policy = msgspec.structs.replace(EAGER, window=said)
    return snapshot({reference(configmap("app")): there}, policy=policy, calendar=ROWS)


def test_a_workload_has_its_own_windows_and_those_of_its_namespace() -> None:
    found = of_workload(seen(parse_windows("nights")), NOW)

    assert found is not None
    assert (found.now.is_open, found.now.opens) == (False, at("2026-11-17T21:00"))
    assert found.because == ("black-week", "nights")
    assert found.problem == ""


def test_a_name_that_means_none_is_told() -> None:
    found = of_workload(seen(parse_windows("night")), NOW)

    assert found is not None
    assert found.problem.startswith("no window is called 'night'")


def test_sources_with_windows_are_told_apart() -> None:
    [found] = of_sources(seen(Windows(), parse_windows("daily 11:00-13:00")), NOW)

    assert (str(found.key), found.now.is_open) == ("ConfigMap shop/app", True)
    assert list(of_sources(seen(Windows()), NOW)) == []


def test_a_month_shows_each_day_by_the_clocks_of_a_zone() -> None:
    first = datetime(2026, 11, 1, tzinfo=ZoneInfo("Europe/Oslo"))
    days = list(month_of_rows(ROWS[:2], first, 30))

    assert len(days) == 30
    assert days[0].spans == (("00:00-06:00", "nights"), ("22:00-24:00", "nights"))
    assert days[22].spans[-1] == ("01:00-24:00", "deny black-week")
    assert days[23].spans[-1] == ("all day", "deny black-week")


def test_a_month_of_a_workload_shows_when_its_rolls_may_begin() -> None:
    groups = ((parse_window("daily 22:00-06:00"), parse_window("deny 2026-11-02")),)
    days = list(month_of_groups(groups, datetime(2026, 11, 1, tzinfo=UTC), 4))

    assert [day.spans for day in days] == [
        (("00:00-06:00", "open"), ("22:00-24:00", "open")),
        (("", "closed"),),
        (("00:00-06:00", "open"), ("22:00-24:00", "open")),
        (("00:00-06:00", "open"), ("22:00-24:00", "open")),
    ]


def test_on_the_days_that_clocks_are_set_a_month_is_whole() -> None:
    zone = ZoneInfo("Europe/Oslo")
    groups = ((parse_window("daily 01:00-05:00 Europe/Oslo"),),)
    march = list(month_of_groups(groups, datetime(2026, 3, 1, tzinfo=zone), 31))
    october = list(month_of_groups(groups, datetime(2026, 10, 1, tzinfo=zone), 31))

    assert {day.spans for day in (*march, *october)} == {(("01:00-05:00", "open"),)}
