"""Without a row nothing of notices is there: no module, no feature, no task, no socket."""

import json
import subprocess
import sys
from typing import Any

import pytest

ROW = {"name": "team", "to": {"webhook": {"url": "https://hook.example.com"}}}


def wired(config: dict[str, Any]) -> dict[str, Any]:
    """What a controller consists of before its features run."""
    program = (sys.executable, "-m", "tests.features.notices.wired", json.dumps(config))
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def without() -> dict[str, Any]:
    return wired({})


def test_a_controller_without_notices_has_nothing_of_them(without: dict[str, Any]) -> None:
    assert without["modules"] == []
    assert "Notices" not in without["features"]
    assert without["counted"] == 0


def test_a_row_adds_a_feature_and_opens_nothing_by_itself(without: dict[str, Any]) -> None:
    one = wired({"notices": [ROW]})
    assert one["features"] == ["Notices", *without["features"]]
    assert one["sinks"] == without["sinks"] + 1
    assert one["tasks"] == without["tasks"] == 1
    assert one["sockets"] == without["sockets"]
