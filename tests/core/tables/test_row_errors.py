"""What is wrong with a value of a config file is told as what to write there."""

from datetime import date
from typing import Annotated, Any, Literal

import msgspec
import pytest

from reroll.core.tables.custom_rows import converted


class Inner(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    url: str
    token_file: str = ""


class Row(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    name: str = ""
    rows: list[Inner] = []
    server: Inner | None = None
    texts: dict[str, str] = {}
    either: str | list[str] = ""
    most: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    ratio: float | None = None
    no_data: Annotated[Literal["wait", "pass"] | None, "a word"] = None


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a number for a text": ({"name": 5}, "name: is a whole number; write text in quotes"),
    "a map for a text": ({"name": {}}, "name: is a map; write text"),
    "a text for a list": ({"rows": "a"}, "rows: is text; write a list"),
    "nothing": ({"rows": None}, "rows: is nothing; write a list"),
    "a text for a map": ({"server": "http://a"}, "server: is text; write a map"),
    "a text in a list": ({"rows": ["a"]}, "rows[0]: is text; write a map"),
    "a field that is missing": ({"rows": [{}]}, "rows[0]: url is missing"),
    "a field that is none": (
        {"server": {"url": "a", "tokn": "b"}}, "server: there is no field 'tokn'; remove it",
    ),
    "a field within": (
        {"server": {"url": "a", "token-file": True}},
        "server.token-file: is true or false; write text in quotes",
    ),
    "a value of a map": ({"texts": {"a": 1}}, "texts: is a whole number; write text in quotes"),
    "neither": ({"either": 1.5}, "either: is a number; write text in quotes or a list"),
    "a date": (
        {"either": date(2026, 12, 24)}, "either: is a date; write text in quotes or a list",
    ),
    "too small": ({"most": 0}, "most: is too small; write a whole number of at least 1"),
    "too large": ({"most": 101}, "most: is too large; write a whole number of at most 100"),
    "a text for a number": ({"ratio": "high"}, "ratio: is text; write a number"),
    "another word": ({"no-data": "maybe"}, "no-data: 'maybe' cannot be one; use one of wait, pass"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "told"), BAD.values(), ids=BAD)
def test_it_says_what_to_write(given: dict[str, Any], told: str) -> None:
    problems: list[str] = []
    assert converted(given, "here", Row, problems) is None
    assert problems == [f"here: {told}"]
