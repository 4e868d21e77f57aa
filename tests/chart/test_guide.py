"""The values that the guide shows are values of the chart."""

import re
from typing import Any

import pytest
import yaml
from tests.chart.rendered import template
from tests.support.chart import ROOT
from tests.support.tools import Tool

from reroll.core.tables.rights import OPTIONAL, Feature

GUIDE, DASHBOARD = (
    (ROOT / "docs" / "guides" / name).read_text(encoding="utf-8")
    for name in ("install-chart.md", "dashboard.md")
)
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"(?s)```yaml\n(.*?)```", GUIDE + DASHBOARD)]
OTHERS = {"apiVersion", "ignoreDifferences"}
VALUES = [block for block in BLOCKS if OTHERS.isdisjoint(block)]


@pytest.mark.parametrize("values", VALUES, ids=",".join)
def test_a_block_of_the_guide_is_taken(helm: Tool, values: dict[str, Any]) -> None:
    assert template(helm, values)


def test_every_feature_is_told() -> None:
    for feature in (*OPTIONAL, Feature.INJECTIONS):
        assert f"`features.{feature}`" in GUIDE
