"""What people see in a terminal of 80 and of 120 columns: each answer, against a stored picture.

`SNAPSHOTS=write` in the environment writes the pictures again; look at the difference before you
commit it. The clock of the commands is three hours ahead, so that every age is `3h ago`.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scenarios.rolling import a_web
from tests.scenarios.stage import ENABLED, Stage
from tests.support import build
from tests.support.command import reroll
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll import __version__
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

FOLDER = Path(__file__).parent / "snapshots"
NAMESPACE = "snapshots"
LATER = ("-m", "tests.support.skewed", "10800")
COMMANDS = {
    "status": ("status",),
    "status-everywhere": ("status", "-A", "-l", "scene=snapshots"),
    "plan": ("plan", "--all"),
    "explain": ("explain", "deployment/web"),
    "audit": ("audit",),
    "history": ("history",),
    "doctor": ("doctor",),
}
OF_THE_NAMESPACE = (
    "CHECK",
    "Deployment",
    "Lease",
    "rights",
    "digest key",
    "metrics",
    "annotations",
    "workloads",
)
"""Checks of doctor that do not look at what other tests may have installed at the moment."""
SCENE = {"scene": "snapshots"}
SECOND = 1.1
"""Kubernetes tells whole seconds."""


@pytest.fixture
def scene(api: Api, cluster: DevCluster) -> Iterator[tuple[str, ...]]:
    """Workloads in several situations; the flags that say where they are."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    api.wait_for(path_to("ServiceAccount", "default", NAMESPACE), bool)
    stage = Stage(api, NAMESPACE)
    where = ("--kubeconfig", str(kubeconfig_of(cluster, "admin")))
    _play(stage, ("-n", NAMESPACE, "--controller-namespace", NAMESPACE, *where))
    yield where
    api.delete(path_to("Namespace", NAMESPACE))


def _play(stage: Stage, where: tuple[str, ...]) -> None:
    held = {**ENABLED, "reroll.dev/hold": "until 2036-11-17T08:00:00Z incident 42"}
    stage.make(
        build.configmap("app", {"LOG_LEVEL": "info"}), build.configmap("flags", {"beta": "no"})
    )
    web = a_web(replicas=2, labels=SCENE)
    works = [
        web,
        build.deployment("checkout", uses=["configmap/app"], annotations=held, labels=SCENE),
        build.statefulset(
            "orders-database", uses=["configmap/flags"], annotations=dict(ENABLED), labels=SCENE
        ),
        build.deployment("not-opted-in", uses=["configmap/app"], labels=SCENE),
    ]
    stage.make(*works)
    for work in works:
        stage.settled(work)
    for name in ("statefulset/orders-database", "deployment/checkout", "deployment/web"):
        assert reroll("sync", name, *where).code == 0  # One by one: history shows the order.
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", LOG_LEVEL="debug")
    assert reroll("sync", "deployment/web", "--wait", *where).code == 0
    stage.api.delete(path_to("ConfigMap", "flags", stage.namespace))
    for work in works:
        stage.settled(work)


def _plain(text: str) -> str:
    """Without what is another one each time, or on each machine."""
    text = text.replace(__version__, "VERSION")
    return re.sub(r"\b1\.\d\d(\.\d+)?\b", "1.XX", text)


def _of_the_namespace(text: str) -> str:
    """What doctor says, without what depends on the tests beside this one."""
    findings = re.split(r"(?m)^(?=\S)", text)
    there = re.compile(rf"\w+ +({'|'.join(OF_THE_NAMESPACE)}) ")
    return "".join(one for one in findings if there.match(one))


def _words(text: str) -> set[str]:
    """Without ages; a heading stands before its text where there is no column for it."""
    words = {word.lower().rstrip(":") for word in text.split()}
    return {word for word in words if not re.fullmatch(r"\d+[smh]|-", word)}


def test_every_table_reads_well_in_a_terminal(scene: tuple[str, ...]) -> None:
    wrong = []
    for name, command in COMMANDS.items():
        place = () if "-A" in command else ("-n", NAMESPACE)
        # A controller that another test installed would be told of.
        args = (*command, *place, *scene, "--controller-namespace", NAMESPACE)
        piped = _words(reroll(*args).out.partition("\n")[2])  # A column of nothing may go.
        for columns in (80, 120):
            seen = in_terminal(*args, columns=columns, env={"NO_COLOR": "1"}, program=LATER)
            text, picture = _plain(seen.text), FOLDER / f"{name}-{columns}.txt"
            if name == "doctor":
                text = _of_the_namespace(text)
            if os.environ.get("SNAPSHOTS") == "write":
                picture.parent.mkdir(exist_ok=True)
                picture.write_text(text)
            if text != picture.read_text():
                wrong.append(f"{picture.name}:\n{text}")
            assert seen.widest <= columns, text
            if name != "doctor":  # It has lines of another form in a pipe.
                assert piped <= _words(seen.text), f"{name}: a word is cut\n{text}"
    assert not wrong, "\n".join(["look at these, and see SNAPSHOTS in this file", *wrong])
