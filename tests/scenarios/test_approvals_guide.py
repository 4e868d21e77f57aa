"""The guide to approvals: its commands are run, and their output compared."""

import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.scenarios.stage import Controller, Stage, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, Step, files, transcripts, walk
from tests.support.tools import kubeconfig_of

from reroll.core.model.content import Content
from reroll.core.model.digest import content_digest, value_digests
from reroll.core.model.key import Key
from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "approvals.md").read_text(encoding="utf-8")
[[APPLY], [CHANGE, STATUS, APPROVE], _GUARD] = transcripts(PAGE)
Shell = Callable[[Step], None]


@pytest.fixture
def shell(
    tmp_path: Path,
    stage: Stage,
    cluster: DevCluster,
    control_plane: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shell]:
    """Runs a step of the guide in this test's namespace, and compares what it prints."""
    (tmp_path / "shop.yaml").write_text(files(PAGE)["shop.yaml"])
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    monkeypatch.setenv("REROLL_NAMESPACE", stage.namespace)

    def run(step: Step) -> None:
        command = step.command.replace("-n shop", f"-n {stage.namespace}")
        command = command.replace(digest("shop")[:10], digest(stage.namespace)[:10])
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
            env=dict(os.environ),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        printed = done.stdout.replace(digest(stage.namespace), digest("shop"))
        assert not step.output or plain(printed) == plain(step.output), step.command

    # A guard of the whole cluster would have to be asked, see test_approvals.
    with (cluster.folder / "approvals.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield run


def digest(namespace: str) -> str:
    """Of what the change of the guide makes of its ConfigMap: the namespace is a part of it."""
    held = Content({"": value_digests({"POOL_SIZE": b"50"}, None)})
    return content_digest(Key("ConfigMap", namespace, "app"), held, "") or ""


def plain(text: str) -> list[list[str]]:
    """Words by line; ages and who runs the test are not the same twice."""
    lines = [re.sub(r"\b\d+[smh]\b", "#", line).split() for line in text.splitlines()]
    return [line[:-1] if "approved" in line else line for line in lines]


def test_the_commands_print_what_the_guide_says(
    shell: Shell, stage: Stage, controller: Callable[..., Controller]
) -> None:
    web = build.deployment("web")
    shell(APPLY)
    stage.settled(web)
    running = controller()
    number = stage.adopted(web)["n"]

    shell(CHANGE)
    running.wait_for(lambda line: line.get("reason") == "Unapproved")
    shell(STATUS)
    shell(APPROVE)

    stage.rolled(web, since=number)
    for step in walk(PAGE):
        if step.command.startswith(("reroll reject", "kubectl create")):
            shell(step)
