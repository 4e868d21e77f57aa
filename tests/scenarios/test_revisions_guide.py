"""The guide to revisions: its commands are run, and their output compared."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.scenarios.stage import Controller, Stage, eventually, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, Step, files, transcripts
from tests.support.tools import kubeconfig_of

from reroll.engine.admission_objects import NAME
from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "revisions.md").read_text(encoding="utf-8")
[INSTALL, [APPLY], [CHANGE, LIST], [BACK, HELD]] = transcripts(PAGE)
Shell = Callable[[Step], None]


@pytest.fixture
def shell(
    tmp_path: Path,
    stage: Stage,
    cluster: DevCluster,
    control_plane: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shell]:
    """Runs a step of the guide in this test's namespace, and compares what it prints.

    What it installs has a name of this test's own, and is for its namespace alone.
    """
    (tmp_path / "shop.yaml").write_text(files(PAGE)["shop.yaml"])
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    own = f"pins-{stage.namespace}"
    only = f"--namespace-selector kubernetes.io/metadata.name={stage.namespace}"

    def run(step: Step) -> None:
        command = step.command.replace("-n shop", f"-n {stage.namespace}")
        command = command.replace("install", f"install --name {own} -n {stage.namespace} {only}")
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
            env=dict(os.environ),
        )  # fmt: skip
        assert not done.stderr, done.stderr
        printed = done.stdout.replace(own, NAME).replace(stage.namespace, "shop")
        assert plain(printed) == plain(step.output), step.command

    yield run
    subprocess.run(["reroll", "pins", "uninstall", "--name", own], check=True, capture_output=True)


def plain(text: str) -> list[list[str]]:
    """Words by line; names and ages are not the same twice."""
    text = re.sub(r"web-[a-z0-9]{6,10}(-[a-z0-9]{5})?", "web-x", text)
    # Other tests have theirs installed at the same time.
    lines = [line for line in text.splitlines() if not re.match(r"\w+ +pins-t-", line)]
    return [re.sub(r"\b\d+[smh]\b( ago)?", "#", line).split() for line in lines]


def test_the_commands_print_what_the_guide_says(
    shell: Shell, stage: Stage, controller: Callable[..., Controller]
) -> None:
    web = build.deployment("web")
    for step in INSTALL:
        shell(step)
    shell(APPLY)
    stage.settled(web)
    running = controller()
    eventually(lambda: len(stage.revisions(web)) == 2, "it is pinned")
    through(stage)
    shell(CHANGE)
    eventually(lambda: len(stage.revisions(web)) == 3, "it rolls")
    through(stage)
    shell(LIST)
    shell(BACK)
    running.wait_for(lambda line: line.get("reason") == "HeldAt")
    through(stage)
    shell(HELD)


def through(stage: Stage) -> None:
    """Until one pod is left, and it is of the newest template."""
    web = build.deployment("web")
    stage.settled(web)
    eventually(lambda: len(stage.pods(web)) == 1, "the pod before is gone")
