"""Durations as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.policy.durations import format_duration, parse_duration

GOOD = {
    "0": timedelta(),
    "0s": timedelta(),
    "500ms": timedelta(milliseconds=500),
    "5s": timedelta(seconds=5),
    " 5s ": timedelta(seconds=5),
    "1.5s": timedelta(seconds=1.5),
    "1m30s": timedelta(seconds=90),
    "1m500ms": timedelta(minutes=1, milliseconds=500),
    "2h": timedelta(hours=2),
    "1d": timedelta(days=1),
}
BAD = [
    "", " ", "5", "s", "5 s", "5sec", "-5s", "+5s", "1e3s", ".5s", "1.s", "1.2.3s",
    "1m 30s", "1ss", "nan", "infs", "9" * 70 + "s", "9" * 60 + "d", "0x1s", "1,5s",
    "1s" * 33,
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), GOOD.items())
def test_a_duration_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", BAD, ids=[repr(text[:12]) for text in BAD])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.text() | st.text("0123456789.msdh -+"))
def test_arbitrary_text_never_raises(text: str) -> None:
    assert isinstance(parse_duration(text), timedelta | None)


@given(st.integers(0, 10**10))
def test_what_is_written_reads_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)

    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "written"), [("90s", "1m30s"), ("1.5s", "1s500ms"), ("0", "0s"), ("3600s", "1h")]
)
def test_what_is_written_is_short(text: str, written: str) -> None:
    assert format_duration(parse_duration(text) or timedelta()) == written
