"""The guide to changes that propagate: its commands are run, and their output compared."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.revised import copies, owners
from tests.scenarios.stage import Controller, Stage, eventually, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, Step, files, transcripts
from tests.support.tools import kubeconfig_of

from reroll_dev.api import Api
from reroll_dev.cli import shop
from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "propagation.md").read_text(encoding="utf-8")
[SETUP, [PLAN, CHANGE], [STOPPED], [MEND, HEALTHY]] = transcripts(PAGE)
NAMES = ("account", "basket", "checkout", "delivery")
FRAGILE = "metadata: {labels: {app: checkout}"
Shell = Callable[[Step], None]


@pytest.fixture
def shell(
    tmp_path: Path,
    stage: Stage,
    cluster: DevCluster,
    control_plane: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """Runs a step of the guide in this test's namespace, and compares what it prints."""
    for name, text in files(PAGE).items():
        assert name != "shop.yaml" or FRAGILE in text
        fragile = f"{FRAGILE}, annotations: {{{shop.FAIL}: crashloop}}"
        (tmp_path / name).write_text(text.replace(FRAGILE, fragile))
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    # Another test may have an installation that would be found.
    monkeypatch.setenv("REROLL_NAMESPACE", stage.namespace)

    def run(step: Step) -> None:
        command = re.sub(r"(-n|namespace) shop\b", rf"\1 {stage.namespace}", step.command)
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
            env=dict(os.environ),
        )  # fmt: skip
        assert not done.stderr, done.stderr
        printed = done.stdout.replace(stage.namespace, "shop")
        assert plain(printed) == plain(step.output), step.command

    return run


def plain(text: str) -> list[list[str]]:
    """Words by line; ages, and where a long text is cut, are not the same twice."""
    text = re.sub(r"\b\d+[smh] ago", "# ago", text)
    text = re.sub(r"(Stopped|RolledBack): .*", r"\1", text)
    return [line.split() for line in text.splitlines()]


def test_the_commands_print_what_the_guide_says(
    shell: Shell, stage: Stage, api: Api, controller: Callable[..., Controller]
) -> None:
    home = stage.namespace
    with shop.application(api, home):
        for step in SETUP:
            shell(step)
        controller()
        eventually(lambda: shop.is_pinned(api, home), "all are pinned")
        for name in NAMES:
            stage.settled(build.deployment(name))
        eventually(lambda: is_owned(stage), "their copy has its owners")
        shell(PLAN)
        shell(CHANGE)
        # Which of them come second depends on the moment, so what follows is told by the others.
        eventually(lambda: any(trial(stage, name).get("back") for name in NAMES), "one goes back")
        shell(MEND)
        for name in NAMES:
            eventually(lambda name=name: is_healthy(stage, name), f"{name} is healthy")
        shell(HEALTHY)


def is_owned(stage: Stage) -> bool:
    """The one copy, by each workload and its revision."""
    return [len(owners(one)) for one in copies(stage).values()] == [2 * len(NAMES)]


def trial(stage: Stage, name: str) -> dict[str, str]:
    return stage.record(build.deployment(name)).get("trial") or {}


def is_healthy(stage: Stage, name: str) -> bool:
    """With what the source holds now: it was not taken back from it."""
    found = trial(stage, name)
    return found.get("v") == "healthy" and "back" not in found
