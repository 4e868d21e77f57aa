"""The guide to custom kinds shows the very files that the scenarios are run with."""

import re
from pathlib import Path

import yaml
from tests.scenarios.custom import EXAMPLES

from reroll.core.tables.custom import tables

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "custom-kinds.md"
SHOWN = re.compile(r"`examples/kinds/(\S+\.yaml)`:\n\n```yaml\n(.*?)```\n", re.DOTALL)


def test_every_example_is_in_the_guide_as_it_is_tested() -> None:
    shown = dict(SHOWN.findall(GUIDE.read_text(encoding="utf-8")))

    assert shown == {path.name: path.read_text() for path in EXAMPLES.glob("*.yaml")}


def test_every_other_row_in_the_guide_can_be_used() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    files = [
        found for block in blocks if {"kinds", "sources"} & (found := yaml.safe_load(block)).keys()
    ]

    for file in files:
        assert tables(file.get("kinds"), file.get("sources"))[1] == []
    assert len(files) > len([*EXAMPLES.glob("*.yaml")])
