"""The guide to pipelines: its commands are run, and their output compared."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import Stage, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, Step, files, transcripts
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "pipeline.md").read_text(encoding="utf-8")
[LINT, FIRST, CHANGE, [FAILURE], BY_HAND] = transcripts(PAGE)
PLAN = "reroll plan -n shop --with debug.yaml"
PLUGIN = f"kubectl {PLAN}"
"""The same command."""
CODES = {PLAN: Exit.WOULD_ROLL, PLUGIN: Exit.WOULD_ROLL, FAILURE.command: Exit.ROLLED_BACK}
SOON = "15s"
"""In which pods that never get ready are there at least, also on a busy machine."""
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
        (tmp_path / name).write_text(text)
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    (folder / "kubectl-reroll").symlink_to(folder / "reroll")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    monkeypatch.setenv("REROLL_NAMESPACE", stage.namespace)

    def run(step: Step) -> None:
        command = step.command.replace("-n shop", f"-n {stage.namespace}").replace("2m", SOON)
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
            env=dict(os.environ),
        )  # fmt: skip
        assert done.returncode == CODES.get(step.command, 0), done.stderr
        assert plain(done.stdout.replace(stage.namespace, "shop")) == plain(step.output)

    return run


def plain(text: str) -> list[list[str]]:
    """Words by line, with one name for all pods."""
    return [line.split() for line in re.sub(r"web-\w+-\w+", "web-pod", text).splitlines()]


def test_the_commands_print_what_the_guide_says(shell: Shell, stage: Stage) -> None:
    (lint,), (apply, first) = LINT, FIRST
    shell(lint)
    shell(apply)
    stage.settled(build.deployment("web"))
    shell(first)
    for step in (*CHANGE, *BY_HAND):
        shell(step)
        if step.command == PLAN:
            shell(Step(PLUGIN, step.output))


def test_a_failure_is_told_as_the_guide_says(shell: Shell, stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    that_fails(stage, a_web(replicas=2))
    sync()
    stage.change("ConfigMap", "app", key="broken")

    shell(FAILURE)


def test_the_rights_of_the_guide_are_enough(
    stage: Stage, sync: Command, kubeconfig_for: Callable[..., Path], rollouts: DevCluster
) -> None:
    stage.make(build.configmap(), build.secret())
    web = build.deployment("web", uses=["configmap/app", "secret/db"])
    web["metadata"]["annotations"] = {"reroll.dev/enabled": "true"}
    that_fails(stage, web)
    key = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    rules = yaml.safe_load(files(PAGE)["role.yaml"])["rules"]
    identity = kubeconfig_for([*rules, key], stage.namespace)
    assert sync(identity=identity).code == Exit.OK
    stage.change("Secret", "db", password="new")

    args = ("--wait", "--timeout", "1s", "--rollback-on-failure")
    done = sync(*args, identity=identity)

    assert done.code == Exit.ROLLED_BACK, done.err
    assert stage.events(web, "ConfigChanged")
    reads = f"Deployment {stage.namespace}/web that start from now on read it; change it back, or "
    reads += "use revisions"
    place = f"Namespace {stage.namespace} may not be read, so annotations on it do not count"
    told = [line for line in done.err.splitlines() if line.startswith("reroll:")]
    # Whether its pods are ready again within that second is not for this test to say.
    assert [line for line in told if "not all ready yet" not in line] == [
        f"reroll: {place}; grant `get` on namespaces",
        f"reroll: a rollout failed; back at the revision before: Deployment {stage.namespace}/web",
        f"reroll: secret/db still holds what failed, and pods of {reads}",
    ]
