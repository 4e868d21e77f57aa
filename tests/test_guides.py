"""The guides for those who come from another tool say what the tables say."""

import re

import pytest
from tests.support.guide_tables import FOLDER, GUIDES, PARTS, UPDATE, current


@pytest.mark.parametrize("name", GUIDES)
def test_the_tables_of_the_guide_are_current_and_all_there(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")

    assert written == current(name), f"docs/guides/{name} is out of date; run `{UPDATE}`"
    assert set(re.findall(r"<!-- (\w+): generated", written)) == set(PARTS)
