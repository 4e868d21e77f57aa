"""The pages about other tools say what the tables say."""

import re

import pytest
from tests.support.guide_tables import FOLDER, PAGES, PARTS, UPDATE, current
from tests.support.guides import ELSEWHERE, ON_A_NODE, Guide
from tests.support.pages import DOCS, files, walk


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_a_page_are_current(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")

    assert written == current(name), f"docs/{name} is out of date; run `{UPDATE}`"


@pytest.mark.parametrize("tool", sorted({*PAGES.values()}))
def test_every_table_about_a_tool_is_on_one_of_its_pages(tool: str) -> None:
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in PAGES if PAGES[name] == tool]

    found = [part for text in texts for part in re.findall(r"<!-- (\w+): generated", text)]

    assert sorted(found) == sorted(PARTS)


def test_every_guide_is_run_on_a_node_or_says_where_else() -> None:
    guides = {f"guides/{page.name}" for page in (DOCS / "guides").glob("*.md")}
    followed = [guide.page for guide in ON_A_NODE]

    assert sorted([*followed, *ELSEWHERE]) == sorted({*guides, "tutorial.md", "install.md"})
    named = [
        path for why in ELSEWHERE.values() for path in re.findall(r"tests/[\w/]+(?:\.py)?", why)
    ]
    assert [path for path in named if not (DOCS.parent / path).exists()] == []


@pytest.mark.parametrize("guide", ON_A_NODE, ids=lambda guide: guide.page)
def test_a_guide_can_be_followed_with_images_that_there_are(guide: Guide) -> None:
    page = (DOCS / guide.page).read_text(encoding="utf-8")
    images = {one for text in files(page).values() for one in re.findall(r"image: (\S+)", text)}
    assert images <= {"nginx:1.29-alpine", "python:3.13-alpine"}
    commands = [step.command for step in walk(page)]
    for begin in (*guide.left_out, *guide.unsaid, *guide.last):
        assert any(command.startswith(begin) for command in commands), begin
