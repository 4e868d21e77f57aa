"""Rows `windows:` of a config file."""

from datetime import timedelta
from typing import Any

import pytest

from reroll.core.model.windows import Calendar
from reroll.core.policy.window_rows import windows
from reroll.settings.resolve import SettingsError, resolve

NIGHTS = {"name": "nights", "allow": "daily 02:00+3h", "zone": "Europe/Oslo", "last-start": "30m"}
BLACK_WEEK = {
    "name": "black-week",
    "deny": ["2026-11-23 to 2026-12-01 Europe/Oslo", "2026-12-24"],
    "namespaces": ["shop-*"],
}


def test_rows_are_read() -> None:
    calendar, problems = windows([NIGHTS, BLACK_WEEK])

    assert problems == []
    nights, black_week = calendar.rows
    assert (nights.name, nights.namespaces) == ("nights", ())
    assert nights.windows[0].last_start == timedelta(minutes=30)
    assert (nights.windows[0].zone, nights.windows[0].name) == ("Europe/Oslo", "nights")
    assert [one.denies for one in black_week.windows] == [True, True]
    assert [one.zone for one in black_week.windows] == ["Europe/Oslo", "UTC"]
    assert windows(None) == (Calendar(), [])


WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"name": "a"}, "windows: is not a list; begin each row with a dash"),
    "no row": (["nights"], "windows[0]: is not a row"),
    "too many": ([NIGHTS] * 201, "windows: has more than 200 rows"),
    "twice": ([NIGHTS, NIGHTS], "windows: two rows are called 'nights'"),
    "neither": ([{"name": "a"}], "windows[0]: say one of allow and deny"),
    "both": (
        [{"name": "a", "allow": "daily", "deny": "daily"}],
        "windows[0]: say one of allow and deny",
    ),
    "no window": (
        [{"name": "a", "allow": "at night"}],
        "windows[0]: allow: 'at night' names the time zone 'night', which is not known here",
    ),
    "a zone": (
        [{**NIGHTS, "zone": "Oslo"}],
        "windows[0]: allow: 'daily 02:00+3h' names the time zone 'Oslo', which is not known here",
    ),
    "a deny of its own": ([{"name": "a", "allow": "deny daily"}], "says `deny` itself"),
    "a last start": (
        [{**NIGHTS, "last-start": "soon"}],
        "windows[0]: last-start: has the duration",
    ),
    "a last start of a freeze": (
        [{**BLACK_WEEK, "last-start": "1h"}],
        "windows[0]: last-start: is for a row with allow",
    ),
    "a name": ([{**NIGHTS, "name": "Mon"}], "windows[0]: 'Mon' cannot be the name of a window"),
    "a field": ([{**NIGHTS, "when": "now"}], "windows[0]: there is no field 'when'"),
    "too long": ([{"name": "a", "deny": ["daily"] * 17}], "has more than 16 windows"),
}


@pytest.mark.parametrize(("given", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_row_is_a_sentence(given: Any, told: str) -> None:
    problems = windows(given)[1]

    assert len(problems) == 1
    assert told in problems[0]


def test_rows_are_settings_and_bad_ones_are_told_with_their_file() -> None:
    found = resolve({}, {}, {"windows": [NIGHTS]}, "reroll.yaml")

    assert [row.name for row in found.windows.rows] == ["nights"]
    with pytest.raises(SettingsError, match=r"reroll\.yaml: windows: is not a list"):
        resolve({}, {}, {"windows": {}}, "reroll.yaml")
