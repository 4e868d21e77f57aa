"""What is made from the tables and from the values is current, and whole."""

from pathlib import Path

import pytest
import yaml
from tests.support import chart
from tests.support.tools import Tool

from reroll.settings.table import ROWS


@pytest.mark.parametrize("path", chart.FILES, ids=lambda path: path.name)
def test_a_file_of_the_chart_is_what_its_table_says(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == chart.FILES[path](), f"run `{chart.UPDATE}`"


@pytest.mark.parametrize("name", chart.INSTALLATIONS)
def test_the_plain_manifests_are_what_the_chart_makes(helm: Tool, name: str) -> None:
    def run(*args: str) -> str:
        return helm(*args, identity=None)

    written = (chart.ROOT / "deploy" / name).read_text(encoding="utf-8")

    assert written == chart.installation(run, name), f"run `{chart.UPDATE}`"
    assert "helm" not in written.lower()


def test_every_value_says_what_it_is_for() -> None:
    values = chart.values()
    told = {value.path for value in values if value.text}
    parts = {path[:n] for path in told for n in range(len(path))}

    for value in values:
        above = {value.path[:n] for n in range(1, len(value.path))}
        assert value.path in told | parts or above & told, ".".join(value.path)


def test_no_value_is_missing_among_those_that_say_something() -> None:
    content = yaml.safe_load((chart.CHART / "values.yaml").read_text(encoding="utf-8"))

    assert {value.path[0] for value in chart.values()} == set(content)


def test_every_key_of_the_config_file_that_has_rows_is_a_setting_of_the_chart() -> None:
    assert set(chart.ROW_SCHEMAS) == set(ROWS)
