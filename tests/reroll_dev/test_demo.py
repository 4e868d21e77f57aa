"""`reroll demo --node` where no node can be had, and `reroll demo --propagation` as a whole."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.command import reroll

from reroll.cli.app import parser_for
from reroll_dev.cli import shop
from reroll_dev.cli.demo_dashboard import arguments


def test_without_root_it_says_so_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    done = reroll("demo", "--node")

    assert done.code == 1
    assert (
        "a real node needs root, and this is the user with the id 1000: run it as root" in done.err
    )
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_with_the_dashboard_it_starts_one_on_its_own_cluster() -> None:
    args = parser_for(["demo", "--dashboard"]).parse_args(["demo", "--dashboard"])
    assert args.dashboard
    _, _, _, _, *started = arguments("/kubeconfig")
    parsed = parser_for(["dashboard"]).parse_args(["dashboard", *started])
    assert (parsed.kubeconfig, parsed.namespace, parsed.read_only) == ("/kubeconfig", None, False)


@pytest.mark.slow
def test_it_shows_how_a_bad_value_stops_and_goes_back(
    control_plane: Mapping[str, Path], tmp_path: Path
) -> None:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reroll", "demo", "--propagation"]

    done = subprocess.run(
        command, env=env, text=True, capture_output=True, check=False, timeout=280
    )

    assert done.returncode == 0, done.stderr
    _, good, bad, mended = re.split(r"^\d\. ", done.stdout, flags=re.MULTILINE)
    assert rolled(good, "20s") == set(shop.NAMES)
    back = rows(bad, "rolled back")
    reached = {name for name, _ in back}
    assert shop.FRAGILE in reached
    assert len(reached) <= 3  # One, then two: the third of them failed.
    assert back == {(name, "20s") for name in reached}
    assert rolled(bad, "0s") <= reached  # Some may be back before anybody looked.
    assert {name for name, _ in rows(bad, "held")} >= set(shop.NAMES) - reached
    for reason in ("Failing", "RolledBack", "Stopped"):
        assert re.search(rf"Event  \S+: {reason}: ", bad)
    assert rolled(mended, "25s") == set(shop.NAMES)
    assert rows(mended, "healthy") == {(name, "25s") for name in shop.NAMES}
    assert rows(mended, "failed") == set()


def rows(told: str, stage: str) -> set[tuple[str, str]]:
    """The workloads that were shown at a stage, each with its value."""
    line = rf"^  (\w+) +{shop.KEY}=(\w+) +{stage}\b"
    return set(re.findall(line, told, flags=re.MULTILINE))


def rolled(told: str, value: str) -> set[str]:
    return {name for name, held in rows(told, "(?:under way|healthy|failed)") if held == value}
