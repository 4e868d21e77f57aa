"""The tutorial, from the chart to the cleaning up: its commands are run, and their output compared.

What it builds or fetches is on the node already, by the names that the page gives.
"""

from collections.abc import Callable

import pytest
from tests.node.installation.reading import Reader
from tests.support.pages import DOCS, walk

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")
BUILDS = ("docker ", "python3 -m venv ")
"""How blocks begin that bring images and the program."""


@pytest.mark.timeout(900)  # A whole page is many commands, and each may take its time.
def test_the_page_is_right_from_its_first_command_to_its_last(
    reader: Callable[[str], Reader],
) -> None:
    one = reader(PAGE)
    steps = [step for step in walk(PAGE) if not step.command.startswith(BUILDS)]
    assert len(walk(PAGE)) - len(steps) == len(BUILDS)

    for step in steps:
        one.follow(step)
