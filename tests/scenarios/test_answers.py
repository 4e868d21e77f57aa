"""What all commands that only look do with bad input: a sentence, a code, and no traceback."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.stage import Stage
from tests.support import build
from tests.support.command import reroll
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Cut, Fault, Match
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

COMMANDS = {
    "explain": ("explain", "deployment/web"),
    "audit": ("audit",),
    "graph": ("graph",),
    "history": ("history",),
}
each = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


@each
def test_a_context_that_is_not_there_is_told_with_those_that_are(
    command: tuple[str, ...], cluster: DevCluster
) -> None:
    done = reroll(*command, "--context", "nope", "--kubeconfig", kubeconfig_of(cluster, "admin"))
    assert (done.code, done.out) == (2, "")
    assert "context 'nope' is not in " in done.err
    assert "; there are: " in done.err


@each
def test_an_api_server_that_does_not_answer_is_told(
    command: tuple[str, ...], fault_proxy: FaultProxy
) -> None:
    kubeconfig = fault_proxy.kubeconfig()
    fault_proxy.refuse()
    done = reroll(*command, "--kubeconfig", kubeconfig)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("reroll: ")
    assert fault_proxy.url.removeprefix("https://") in done.err


@each
def test_a_token_that_is_not_valid_any_more_is_told(
    command: tuple[str, ...], cluster: DevCluster, tmp_path: Path
) -> None:
    content: dict[str, Any] = yaml.safe_load(kubeconfig_of(cluster, "admin").read_text())
    content["users"][0]["user"] = {"token": "expired-and-secret"}
    file = tmp_path / "old.kubeconfig"
    file.write_text(yaml.safe_dump(content))
    done = reroll(*command, "--kubeconfig", file)
    assert (done.code, done.out) == (1, "")
    assert "credentials" in done.err
    assert "expired-and-secret" not in done.err


@each
def test_without_any_rights_the_answer_says_what_to_grant(
    command: tuple[str, ...], stage: Stage, kubeconfig_for: Callable[..., Path]
) -> None:
    stage.make(build.deployment("web"))
    nobody = kubeconfig_for([], None)
    done = reroll(*command, "-n", stage.namespace, "--kubeconfig", nobody)
    assert "Traceback" not in done.err
    assert "grant `" in done.err


@each
@pytest.mark.parametrize("fault", [Cut(after_bytes=100), Answer(503)], ids=["cut", "unavailable"])
def test_an_api_server_that_goes_away_half_way_is_told(
    command: tuple[str, ...], fault: Fault, stage: Stage, fault_proxy: FaultProxy
) -> None:
    stage.make(build.configmap("app"), build.deployment("web", uses=["configmap/app"]))
    asked = "/deployments" if command[0] != "audit" else "/pods"
    fault_proxy.inject(fault, Match(path=asked), times=None)
    where = ("-n", stage.namespace, "--kubeconfig", str(fault_proxy.kubeconfig()))
    done = subprocess.run(
        [sys.executable, "-m", "reroll", *command, *where],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert asked in done.stderr


def test_a_namespace_that_does_not_exist_is_an_error_of_every_command(cluster: DevCluster) -> None:
    where = ("-n", "nowhere", "--kubeconfig", kubeconfig_of(cluster, "admin"))
    commands = {
        "explain": ("deployment/web",), "status": (), "plan": (), "audit": (), "history": (),
        "graph": (), "sync": ("--dry-run",), "windows": (),
    }  # fmt: skip
    for name, args in commands.items():
        done = reroll(name, *args, *where)
        assert (done.code, done.out) == (Exit.FAILED, ""), name
        assert "namespace nowhere does not exist" in done.err, name
