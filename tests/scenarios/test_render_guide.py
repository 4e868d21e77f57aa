"""The guide to `reroll render`: its files are used, its commands run, its output compared."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.stage import Stage, program_on_the_path
from tests.support.pages import DOCS, Step, files, transcripts
from tests.support.session import programs
from tests.support.tools import kubeconfig_of

from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "render.md").read_text(encoding="utf-8")
PLAIN = [one for one in transcripts(PAGE) if "-n shop" not in one[0].command]
NAMED, GC = [one for one in transcripts(PAGE) if "-n shop" in one[0].command]
Shell = Callable[[str], str]


@pytest.fixture
def shell(tmp_path: Path, control_plane: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """`shell("reroll render …")` in a folder with the files of the guide; what it prints."""
    for name, text in files(PAGE).items():
        (tmp_path / name).write_text(text)
    tools = {**control_plane, **programs(["kustomize"], os.environ)}
    folder = program_on_the_path(tmp_path, monkeypatch)
    for name in ("kubectl", "kustomize"):
        (folder / name).symlink_to(tools[name])

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=60,
        )
        assert not done.stderr, done.stderr
        return done.stdout

    return run


def unhashed(text: str) -> list[list[str]]:
    """Words by line, with what differs from run to run taken out."""
    plain = re.sub(r"\b(app|web)-[0-9a-z]{5,10}\b", r"\1-#", text)
    return [line.split() for line in plain.splitlines()]


@pytest.mark.parametrize("steps", PLAIN, ids=[steps[0].command for steps in PLAIN])
def test_the_commands_print_what_the_guide_says(shell: Shell, steps: list[Step]) -> None:
    for step in steps:
        assert unhashed(shell(step.command)) == unhashed(step.output), step.command


def test_the_plugin_for_argo_cd_renders(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGOCD_APP_NAMESPACE", "shop")
    generate = yaml.safe_load(files(PAGE)["plugin.yaml"])["spec"]["generate"]
    kustomization = "resources: [shop.yaml]\n"

    made = shell(f"echo '{kustomization}' > kustomization.yaml; {generate['args'][0]}")

    assert generate["command"] == ["bash", "-euo", "pipefail", "-c"]
    assert "checksum.reroll.dev/config" in made


def test_content_names_attach_and_gc_do_what_the_guide_says(
    stage: Stage, cluster: DevCluster, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))

    def here(text: str) -> str:
        return text.replace("-n shop", f"-n {stage.namespace}")

    def said(text: str) -> list[list[str]]:
        return unhashed(text.replace(stage.namespace, "shop"))

    for step in NAMED:
        assert said(shell(here(step.command))) == unhashed(step.output), step.command
    third = shell(here("sed s/info/trace/ shop.yaml | reroll render --names -n shop"))
    unused = next(iter(yaml.safe_load_all(third)))
    stage.make(unused)
    for step in GC:
        assert said(shell(here(step.command))) == unhashed(step.output), step.command
