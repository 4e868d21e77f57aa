"""The guide to Injections: its manifests are applied, its commands run, their output compared."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.injecting import Injecting, injection, own_rules, source
from tests.scenarios.stage import Stage, program_on_the_path
from tests.support import build
from tests.support.pages import DOCS, files, transcripts
from tests.support.tools import kubeconfig_of

from reroll_dev.cluster import DevCluster

PAGE = (DOCS / "guides" / "injection.md").read_text(encoding="utf-8")
FILES = files(PAGE)
[STEPS] = transcripts(PAGE)


def timeless(text: str) -> list[list[str]]:
    """Words by line; how long ago something was is not the same twice."""
    return [line.split() for line in re.sub(r"\b\d+s\b", "#", text).splitlines()]


def test_the_guide_is_right(
    injecting: Injecting,
    stage: Stage,
    cluster: DevCluster,
    control_plane: dict[str, Path],
    kubeconfig_for: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = program_on_the_path(tmp_path, monkeypatch)
    (folder / "kubectl").symlink_to(control_plane["kubectl"])
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    for name in ("s3.yaml", "harbor.yaml", "injection.yaml"):
        (tmp_path / name).write_text(FILES[name])
    # The role of the guide is all that the controller needs beside its own.
    granted = yaml.safe_load(FILES["role.yaml"])["rules"]
    injecting.run(kubeconfig=kubeconfig_for([*own_rules(), *granted], None))
    for step in STEPS:
        done = subprocess.run(
            ["bash", "-c", step.command.replace("-n registry", f"-n {stage.namespace}")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=60,
            env=dict(os.environ),
        )
        shown = done.stdout.replace(stage.namespace, "registry")
        assert not done.stderr, done.stderr
        assert timeless(shown) == timeless(step.output), step.command


def test_the_template_of_the_guide_makes_what_it_looks_like(
    injecting: Injecting, stage: Stage
) -> None:
    [text] = re.findall(r"```yaml\n(spec:\n  from:.*?)```", PAGE, re.DOTALL)
    spec = yaml.safe_load(text)["spec"]
    harbor = yaml.safe_load(FILES["harbor.yaml"])
    one = injection("one", source("x", "x"), harbor, ".spec.storage.spec.s3.bucket", **spec)
    one["spec"]["from"] = spec["from"]
    stage.make(
        build.secret("db", {"user": "shop", "pass-word": "a b"}),
        build.configmap("app", {"host": "db.local"}),
        harbor, one,
    )  # fmt: skip
    injecting.run()
    place = ("spec", "storage", "spec", "s3", "bucket")
    injecting.holds(harbor, "postgres://shop:a%20b@db.local/shop", *place)
