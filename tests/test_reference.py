"""The reference pages say what the tables say."""

import pytest
from tests.support.table_reference import FOLDER, PAGES, UPDATE


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_page_is_current(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), f"docs/reference/{name} is out of date; run `{UPDATE}`"
