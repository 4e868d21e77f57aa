"""The guide to the commands that only look: its commands are run, and their output compared."""

import os
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.scenarios.stage import Controller, Stage, eventually, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, files, transcripts
from tests.support.tools import kubeconfig_of

from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "answers.md").read_text(encoding="utf-8")
[SETUP, *ANSWERS] = transcripts(PAGE)


@pytest.fixture
def shell(
    tmp_path: Path,
    stage: Stage,
    cluster: DevCluster,
    control_plane: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], str]:
    """Runs a command of the guide in this test's namespace; what it prints, as of `shop`."""
    (tmp_path / "shop.yaml").write_text(files(PAGE)["shop.yaml"])
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    monkeypatch.setenv("REROLL_NAMESPACE", stage.namespace)

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command.replace("-n shop", f"-n {stage.namespace}")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=60,
            env=dict(os.environ),
        )
        assert not done.stderr, done.stderr
        return done.stdout.replace(stage.namespace, "shop")

    return run


def timeless(text: str) -> list[list[str]]:
    """Words by line; how long ago something was is not the same twice."""
    return [line.split() for line in re.sub(r"\d+[smhd] ago", "# ago", text).splitlines()]


def test_the_commands_print_what_the_guide_says(
    shell: Callable[[str], str], stage: Stage, controller: Callable[..., Controller]
) -> None:
    web, worker = build.deployment("web"), build.deployment("worker")
    apply, patch = SETUP
    assert timeless(shell(apply.command)) == timeless(apply.output)
    stage.settled(web)
    stage.settled(worker)
    running = controller()
    number = stage.adopted(web)["n"]
    started = datetime.now(UTC)
    eventually(lambda: datetime.now(UTC) > started + timedelta(seconds=1), "a new second begins")
    assert timeless(shell(patch.command)) == timeless(patch.output)
    stage.rolled(web, number)
    eventually(lambda: len(stage.revisions(web)) == 2, "the roll has its revision")
    eventually(lambda: stage.events(web, "ConfigChanged"), "its Event is written")
    stage.settled(web)
    eventually(lambda: len(stage.pods(web)) == 1, "the pod before is gone")
    running.stop()

    for steps in ANSWERS:
        for step in steps:
            assert timeless(shell(step.command)) == timeless(step.output), step.command
