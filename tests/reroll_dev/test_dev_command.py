"""`reroll dev` as a person uses it: the real command, in processes of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support import session

from reroll_dev import processes
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

CORE = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]


@dataclass(frozen=True)
class Command:
    """`reroll dev …` with a state folder of its own."""

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / "reroll" / "dev" / "default"

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "reroll", "dev", *args],
            env={**os.environ, "XDG_STATE_HOME": str(self.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *args: str, code: int = 0) -> tuple[str, str]:
        """What it wrote to stdout and to stderr; it must end with `code`."""
        with self.start(*args) as process:
            out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        return out, err

    def status(self, *, code: int = 0) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self("status", "-o", "json", code=code)[0])
        return document


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Command]:
    command = Command(tmp_path)
    yield command
    DevCluster(command.folder, progress=session.quiet()).down()


def test_a_cluster_from_its_start_to_its_end(dev: Command, control_plane: dict[str, Path]) -> None:
    """One test for a whole life, because each start takes seconds."""
    # What an earlier crash left is no obstacle.
    dev.folder.mkdir(parents=True)
    (dev.folder / "cluster.json").write_text('{"format": 1, "proc')
    # Two at once: one starts it, the other waits and finds it up.
    ups = [dev.start("up", "--nodes", "2") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in ups]
    assert [process.returncode for process in ups] == [0, 0], said
    endings = sorted("was up already" in err for _, err in said)
    assert endings == [False, True]
    assert "cluster.json cannot be read" in "".join(err for _, err in said)
    assert all(out == "" for out, _ in said)
    next_step = "next: export KUBECONFIG=$(reroll dev kubeconfig --path)"
    assert all(err.splitlines()[-1] == next_step for _, err in said)

    status = dev.status()
    assert status["phase"] == "up"
    assert [process["process"] for process in status["processes"]] == CORE
    assert {process["state"] for process in status["processes"]} == {"running"}
    table = dev("status")[0].splitlines()
    assert table[0].split() == ["process", "pid", "state", "port", "log"]
    assert len(table) == 1 + len(CORE)

    path = Path(dev("kubeconfig", "--path")[0].rstrip("\n"))
    content = dev("kubeconfig", "--identity", "alice")[0]
    assert yaml.safe_load(content)["clusters"][0]["cluster"]["server"] == status["server"]
    assert "alice" in dev("kubeconfig", "--identity", "bob", code=1)[1]
    with Api.from_kubeconfig(path) as api:
        assert len(api.list(path_to("Node"))) == 2
        assert api.list(path_to("Deployment")) == []

    dev("up", "--nodes", "3")
    with Api.from_kubeconfig(path) as api:
        assert len(api.list(path_to("Node"))) == 3
    assert "end it first: reroll dev down" in dev("up", "--port", "1", code=1)[1]
    assert "audit.k8s.io" in dev("logs", "audit", "-n", "1")[0]
    assert "etcd: " in dev("logs")[0]

    check_recovery(dev, status)

    assert "the cluster is down; its logs stay in" in dev("down")[1]
    assert processes.strays(dev.folder) == []
    assert dev.status(code=1)["phase"] == "down"
    assert "nothing to end" in dev("down")[1]
    assert "start it with `reroll dev up`" in dev("kubeconfig", code=1)[1]


def check_recovery(dev: Command, status: dict[str, Any]) -> None:
    """A killed etcd is told, and the next `up` starts anew."""
    etcd = status["processes"][0]["pid"]
    os.kill(etcd, signal.SIGKILL)
    while processes.start_time(etcd):
        time.sleep(0.01)
    broken = dev.status(code=1)
    assert broken["message"] == f"etcd (pid {etcd}) died"
    assert [process["state"] for process in broken["processes"]][:2] == ["died", "running"]

    err = dev("up")[1]

    assert f"etcd (pid {etcd}) died: ending the rest, starting again, empty" in err
    before = {process["pid"] for process in status["processes"]}
    assert before.isdisjoint(process["pid"] for process in dev.status()["processes"])
    assert len(processes.strays(dev.folder)) == len(CORE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_ends_what_was_started_when_it_comes_in_the_middle(
    dev: Command, control_plane: dict[str, Path], number: signal.Signals
) -> None:
    with dev.start("up") as process:
        state = dev.folder / "cluster.json"
        while process.poll() is None and not (
            state.exists() and "kube-apiserver" in state.read_text()
        ):
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert err.endswith("reroll: interrupted\n")
    assert processes.strays(dev.folder) == []
    assert dev.status(code=1)["phase"] == "down"


def test_a_start_that_was_killed_is_cleaned_up_by_down(
    dev: Command, control_plane: dict[str, Path]
) -> None:
    with dev.start("up") as process:
        while process.poll() is None and not processes.strays(dev.folder):
            time.sleep(0.01)
        process.kill()
    assert processes.strays(dev.folder)

    dev("down")

    assert processes.strays(dev.folder) == []


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["up", "--nodes", "0"], "--nodes 0 leaves no node at all; add --node"),
        (["up", "--port", "99999"], "99999 is not between 1 and 65535"),
        (["status", "--name", "../other"], "cannot be a name"),
        (["build", "etdc"], "there is no 'etdc'; there is etcd,"),
        ([], "the following arguments are required: COMMAND"),
    ],
    ids=["no nodes", "no such port", "a name with slashes", "no such program", "nothing"],
)
def test_is_refused_as_bad_usage(dev: Command, args: list[str], sentence: str) -> None:
    assert sentence in dev(*args, code=2)[1]


def test_logs_of_a_cluster_that_never_was_are_an_error_and_not_silence(dev: Command) -> None:
    assert "start a cluster: reroll dev up" in dev("logs", code=1)[1]


def test_build_says_where_each_program_is(dev: Command, control_plane: dict[str, Path]) -> None:
    out, _ = dev("build", "etcd", "kubectl")
    rows = [line.split() for line in out.splitlines()]
    assert rows == [[name, str(control_plane[name])] for name in ("etcd", "kubectl")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reroll dev ", {"up", "down", "status", "kubeconfig", "logs", "build"}),
        ("reroll dev up --ro", {"--rollouts"}),
        ("reroll dev logs kube-a", {"kube-apiserver"}),
    ],
    ids=["a command", "an option", "a process"],
)
def test_is_completed(tmp_path: Path, line: str, words: set[str]) -> None:
    answer = tmp_path / "answer"
    env = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "IFS": "\013",
    }
    subprocess.run([sys.executable, "-m", "reroll"], env=env, check=True, timeout=60)
    completed = {word.strip() for word in answer.read_text().split("\013")}
    assert words <= completed
