"""What a command loads before it does its work: a pipeline renders many small streams.

What the controller loads for its work is held by `tests/scenarios/test_loaded.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.support.loaded import unasked

from reroll.cli import app

STREAM = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, envFrom: [{configMapRef: {name: app}}]}]
"""
LOADED = """
import sys
sys.modules["typing_extensions"] = None  # msgspec loads it where it is, and it is no part of us
before = set(sys.modules)
from reroll.cli.app import run
run(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
SLOW = {"asyncio", "dataclasses", "difflib", "inspect", "json", "logging", "pathlib", "shutil"}
"""Modules of Python that take milliseconds each, and that a render of a pipe can do without."""
NOT_NEEDED = (
    "reroll.core.decide",
    "reroll.core.dialects",
    "reroll.core.observe",
    "reroll.core.policy.policy",
    "reroll.core.propagation",
    "reroll.core.revisions",
    "reroll.core.tables.reasons",
    "reroll.core.write",
    "reroll.engine",
    "reroll.kube",
    "reroll.manifests.content_names",
    "reroll.manifests.krm",
    "reroll.settings",
)
"""Rooms that know of a cluster, and modules for annotations and options that few streams have."""


def loaded_by(*argv: str, stream: str = STREAM) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *argv],
        input=stream,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "checksum.reroll.dev/config" in done.stdout
    return done.stderr.split()


@pytest.mark.parametrize("named", [False, True], ids=["a pipe", "a file"])
def test_a_small_render_loads_few_modules_and_no_slow_ones(named: bool, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(STREAM)

    loaded = loaded_by("render", *([str(path)] if named else []))

    assert SLOW.isdisjoint(loaded)
    assert [name for name in loaded if name.startswith(NOT_NEEDED)] == []
    assert len([name for name in loaded if name.startswith("reroll")]) <= 50
    assert len(loaded) <= 150


def test_json_is_read_without_the_reader_of_yaml() -> None:
    documents = yaml.safe_load_all(STREAM)
    assert "yaml" not in loaded_by("render", stream="\n".join(map(json.dumps, documents)))


def test_the_controller_begins_without_what_nobody_asked_for() -> None:
    script = "import sys; from reroll.cli.app import parser_for; parser_for(['run'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()

    assert unasked(loaded) == []
    assert len([name for name in loaded if name.startswith("reroll")]) <= 235


@pytest.mark.parametrize("argv", [["render"], ["render", "--strict"], ["render", "--help"]])
def test_a_command_that_comes_first_waits_for_the_arguments_of_no_other(argv: list[str]) -> None:
    assert commands_of(argv) == ["render"]


@pytest.mark.parametrize("argv", [[], ["--help"], ["--help", "render"], ["rendr"]])
def test_every_command_is_known_where_none_comes_first(argv: list[str]) -> None:
    assert commands_of(argv) == list(app.COMMANDS)


def commands_of(argv: list[str]) -> list[str]:
    [commands] = app.parser_for(argv)._subparsers._group_actions
    return list(commands.choices)
