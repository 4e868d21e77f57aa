"""The Tab key in a real shell: commands, flags, and names from the cluster."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import Stage, program_on_the_path
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import Tool, kubeconfig_of

import reroll as reroll_package
from reroll.kube.auth import contexts
from reroll_dev.cluster import DevCluster

PRESS = """
COMP_LINE={line}
COMP_POINT=${{#COMP_LINE}}
COMP_TYPE=9
COMPREPLY=()
_python_argcomplete reroll
printf '%s,' "${{COMPREPLY[@]}}"; echo
"""
Tab = Callable[..., list[list[str]]]


@pytest.fixture
def tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tab:
    """`tab("reroll expl", …)`: what bash offers after each of these."""
    program_on_the_path(tmp_path, monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REROLL_COMPLETION_TIMEOUT", "60")

    def press(*lines: str) -> list[list[str]]:
        presses = [PRESS.format(line=shlex.quote(line)) for line in lines]
        script = "".join(['eval "$(reroll completion bash)"', *presses])
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert done.stderr == ""
        offers = [line.split(",") for line in done.stdout.splitlines()]
        return [[word.strip() for word in offer if word.strip()] for offer in offers]

    return press


def test_names_come_from_the_cluster(
    tab: Tab, stage: Stage, cluster: DevCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.make(build.configmap("app"), build.deployment("web"), build.deployment("worker"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    place = f"-n {stage.namespace}"

    expected = {
        "reroll expl": ["explain"],
        "reroll explain dep": ["deployment/"],
        "reroll explain --ga": ["--gates"],
        "reroll revisions u": ["use"],
        "reroll hold na": ["namespace/"],
        f"reroll hold namespace/{stage.namespace}": [f"namespace/{stage.namespace}"],
        f"reroll explain {place} deployment/w": ["deployment/web", "deployment/worker"],
        f"reroll history {place} deploy/wo": ["deploy/worker"],
        f"reroll graph {place} cm/a": ["cm/app"],
        f"reroll audit -n {stage.namespace[:8]}": [stage.namespace],
        "reroll audit --context ": contexts(os.environ),
        "reroll audit -o ": ["table", "wide", "json", "yaml", "name"],
    }
    assert dict(zip(expected, tab(*expected), strict=True)) == expected


def test_without_a_cluster_there_are_no_names_and_no_complaints(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", os.devnull)
    assert tab("reroll explain deployment/", "reroll explain --name") == [[], ["--namespace"]]


def test_kubectl_completes_the_plugin(
    stage: Stage, kubectl: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.make(build.deployment("web"), build.deployment("worker"))
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl-reroll").symlink_to(folder / "reroll")
    asked = folder / "kubectl_complete-reroll"
    source = Path(reroll_package.__file__).parents[1]
    code = "from reroll.__main__ import complete_for_kubectl as c; c()"
    settings = f"REROLL_COMPLETION_TIMEOUT=60 PYTHONPATH={source}"
    asked.write_text(f"#!/bin/sh\n{settings} exec {sys.executable} -c '{code}' \"$@\"\n")
    asked.chmod(0o755)

    names = kubectl("__complete", "reroll", "explain", "-n", stage.namespace, "deployment/w")
    commands = kubectl("__complete", "reroll", "aud")

    assert names.splitlines()[:2] == ["deployment/web", "deployment/worker"]
    assert commands.splitlines()[0] == "audit"
    assert kubectl("reroll", "--version").startswith("reroll ")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nospace -o default -o bashdefault -F _python_argcomplete reroll"),
        ("zsh", "compdef _python_argcomplete reroll"),
        ("fish", "complete --command reroll -f -a"),
    ],
)
def test_every_shell_has_a_script(shell: str, line: str) -> None:
    done = reroll("completion", shell)
    assert done.code == 0
    assert line in done.out
    assert "kubectl-reroll" in done.out
