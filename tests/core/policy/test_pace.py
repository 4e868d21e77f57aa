"""How people write the pace of a change."""

from datetime import timedelta

import pytest

from reroll.core.model.pace import ALL, OnFailure, Parallel, Rolls
from reroll.core.policy.pace import (
    format_rolls,
    parse_group,
    parse_on_failure,
    parse_parallel,
    parse_rolls,
    parse_wave,
)

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("all", ALL),
        ("one", Parallel(1)),
        (" doubling ", Parallel(doubling=True)),
        ("5", Parallel(5)),
        ("999999", Parallel(999999)),
        ("1%", Parallel(percent=1)),
        ("100%", Parallel(percent=100)),
    ],
)
def test_how_many_at_once(text: str, meant: Parallel) -> None:
    assert parse_parallel(text) == meant
    assert parse_parallel(str(meant)) == meant


@pytest.mark.parametrize("text", ["", "0", "-1", "0%", "101%", "1.5", "1000000", "ALL", "5 %"])
def test_what_is_no_number_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not one of|more than 100%"):
        parse_parallel(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("20/1h", Rolls(20, HOUR)), ("0/1h", Rolls(0, HOUR)), ("1 / 1d", Rolls(1, 24 * HOUR))],
)
def test_how_many_rolls(text: str, meant: Rolls) -> None:
    assert parse_rolls(text) == meant
    assert parse_rolls(format_rolls(meant)) == meant


@pytest.mark.parametrize("text", ["", "20", "/1h", "x/1h", "-1/1h", "5/0", "5/", "5/2d", "5/1h/2"])
def test_what_is_no_number_of_rolls(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number of rolls|longer than a day"):
        parse_rolls(text)


@pytest.mark.parametrize(("text", "meant"), [("0", 0), (" 12 ", 12), ("-3", -3)])
def test_waves(text: str, meant: int) -> None:
    assert parse_wave(text) == meant


@pytest.mark.parametrize("text", ["", "1.0", "+1", "first", "1000000000"])
def test_what_is_no_wave(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number"):
        parse_wave(text)


@pytest.mark.parametrize("meant", OnFailure)
def test_what_a_failure_means(meant: OnFailure) -> None:
    assert parse_on_failure(f" {meant.value} ") is meant


@pytest.mark.parametrize("text", ["", "Hold", "stop"])
def test_what_no_failure_means(text: str) -> None:
    with pytest.raises(ValueError, match="is not one of hold, rollback, continue"):
        parse_on_failure(text)


@pytest.mark.parametrize("text", ["a", "databases", "team-a.db_1", "x" * 63])
def test_groups(text: str) -> None:
    assert parse_group(text) == text


@pytest.mark.parametrize("text", ["", "-a", "a-", "a b", "x" * 64])
def test_what_is_no_group(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a group"):
        parse_group(text)
