"""Starts and ends of a real node: beside another one, after a kill, and without a trace."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.node.leftovers import machine, members, of_cluster
from tests.scenarios.stage import eventually
from tests.support import session
from tests.support.fixtures_node import WITH_NODE, Pods, get

from reroll_dev import processes
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster, Phase
from reroll_dev.images.made import made
from reroll_dev.node import cgroups
from reroll_dev.node.network import disconnect
from reroll_dev.node.programs import INSIDE, SANDBOX
from reroll_dev.start import Options
from reroll_dev.state import State

ENDED = {"files": ["lock", "logs"]}
"""What `down` leaves."""
MOMENTS = 6


@pytest.fixture
def second(tmp_path: Path) -> Iterator[DevCluster]:
    """A cluster of the test's own, not started yet."""
    cluster = DevCluster(tmp_path / "second", progress=session.quiet())
    yield cluster
    cluster.down()


def test_nothing_is_left_and_the_machine_stays_as_it_is(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    before = machine()
    second.up(node_programs, WITH_NODE)
    inside = _inside(second)
    while_up = of_cluster(second, inside)
    assert {"processes", "in its sandbox", "links", "cgroups"} <= set(while_up)
    assert machine() == before
    second.down()
    assert of_cluster(second, inside) == ENDED
    assert machine() == before


def test_two_clusters_do_not_meet(
    second: DevCluster, node_cluster: DevCluster, node_programs: Mapping[str, Path], pods: Pods
) -> None:
    second.up(node_programs, WITH_NODE)
    second.node.load_image(made("web", env=os.environ, progress=session.quiet()))
    port = 30123
    with second.api() as api:
        for cluster, each in ((node_cluster, pods), (second, Pods(api, "default"))):
            variable = {"name": "OWN", "value": str(cluster.folder)}
            container = {"name": "main", "image": "localhost/web:dev", "env": [variable]}
            each.run("web", containers=[container])
            each.service(
                "web", type="NodePort", ports=[{"port": 80, "targetPort": 8080, "nodePort": port}]
            )
        for cluster in (node_cluster, second):
            address = f"{cluster.node.address}:{port}"
            assert _answer(address, "/env/OWN") == str(cluster.folder)
    second.down()
    assert get(f"{node_cluster.node.address}:{port}") == "ok\n"


def test_kwok_plays_its_nodes_and_leaves_the_real_one_alone(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    second.up(node_programs, Options(nodes=1, node=True))
    with second.api() as api:
        versions = {
            each["metadata"]["name"]: each["status"]["nodeInfo"]["kubeletVersion"]
            for each in api.list(path_to("Node"))
        }
        assert set(versions) == {"node-0", "worker"}
        assert versions["worker"] == api.get("/version")["gitVersion"]
        missing = {"name": "main", "image": "localhost/missing:1", "imagePullPolicy": "Never"}
        played = Pods(api, "default").run(
            "played", containers=[missing], nodeSelector={"kubernetes.io/hostname": "node-0"}
        )
        assert played["status"]["phase"] == "Running"
        stuck = {"nodeSelector": {"kubernetes.io/hostname": "worker"}, "containers": [missing]}
        api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "stuck", "namespace": "default"},
                "spec": stuck,
            }
        )
        seen = api.wait_for(path_to("Pod", "stuck", "default"), _waits)
        assert seen["status"]["phase"] == "Pending"


@pytest.mark.timeout(600)
def test_a_killed_process_is_told_and_the_cluster_recovers(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    for name in (SANDBOX, *INSIDE):
        assert second.up(node_programs, WITH_NODE)
        inside = _inside(second)
        os.kill(_pid(second, name), signal.SIGKILL)
        # Those inside end with it, and may be missed before it is.
        eventually(
            lambda name=name: name in _message(second),
            f"the death of {name}",
        )
        second.down()
        assert of_cluster(second, inside) == ENDED, name
    assert second.up(node_programs, WITH_NODE)


def test_a_restart_of_the_machine_is_told_and_the_cluster_starts_again(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    """Processes, links and cgroups are gone then, and pids are those of others; files stay."""
    second.up(node_programs, WITH_NODE)
    inside = _inside(second)
    for each in processes.strays(second.folder):
        with suppress(ProcessLookupError):  # It ended with another one.
            os.kill(each.pid, signal.SIGKILL)
    eventually(lambda: not processes.strays(second.folder), "nothing of it runs")
    disconnect(second.folder)
    cgroups.remove(cgroups.name_of(second.folder))
    _restarted(second)
    assert "the machine was restarted" in _message(second)

    assert second.up(node_programs, WITH_NODE)
    inside |= _inside(second)
    _restarted(second)
    second.down()
    assert of_cluster(second, inside) == ENDED


def test_the_process_inside_is_the_one_outside(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    second.up(node_programs, WITH_NODE)
    kubelet = _pid(second, "kubelet")
    (child,) = Path(f"/proc/{kubelet}/task/{kubelet}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    status = eventually(lambda: _broken(second), "the death of the kubelet")
    assert status.message == f"kubelet (pid {kubelet}) died"
    assert second.up(node_programs, WITH_NODE)


@pytest.mark.timeout(600)
def test_a_start_that_is_killed_anywhere_leaves_what_down_removes(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    chance = random.Random(16)
    for moment in sorted(chance.uniform(0.3, 7) for _ in range(MOMENTS)):
        _kill_after(moment, second, "up", "--node")
        inside = _inside(second)
        second.status()
        second.down()
        assert of_cluster(second, inside) in (ENDED, {}), moment
    assert second.up(node_programs, WITH_NODE)


@pytest.mark.timeout(600)
def test_an_end_that_is_killed_anywhere_is_finished_by_the_next_command(
    second: DevCluster, node_programs: Mapping[str, Path]
) -> None:
    chance = random.Random(17)
    inside: set[tuple[int, int | None]] = set()
    for moment in sorted(chance.uniform(0.2, 2) for _ in range(MOMENTS // 2)):
        # From the second time on it finds what the kill left, which may be all of it.
        second.up(node_programs, WITH_NODE)
        assert second.status().phase is Phase.UP, moment
        inside |= _inside(second)
        _kill_after(moment, second, "down")
    second.down()
    assert of_cluster(second, inside) == ENDED


def _kill_after(seconds: float, cluster: DevCluster, *command: str) -> None:
    """Begin a command of `reroll dev`, and end it by SIGKILL."""
    program = [sys.executable, "-m", "reroll", "dev", *command, "--folder", str(cluster.folder)]
    begun = subprocess.Popen(program)
    time.sleep(seconds)
    begun.kill()
    begun.wait()


def _inside(cluster: DevCluster) -> set[tuple[int, int | None]]:
    """The processes of its sandbox; none if it has not come so far."""
    try:
        return members(int((cluster.layout.node / "init.pid").read_text()))
    except OSError:
        return set()


def _restarted(cluster: DevCluster) -> None:
    """Its state file is of another boot, in which this process had all the pids."""
    state = State.load(cluster.layout.state)
    assert state is not None
    own = processes.start_time(os.getpid()) or 0
    others = tuple(replace(each, pid=os.getpid(), started=own) for each in state.processes)
    replace(state, boot="another", processes=others).save(cluster.layout.state)


def _pid(cluster: DevCluster, name: str) -> int:
    return next(row.process.pid for row in cluster.status().rows if row.process.name == name)


def _broken(cluster: DevCluster) -> object:
    status = cluster.status()
    return status if status.phase is Phase.BROKEN else None


def _message(cluster: DevCluster) -> str:
    status = cluster.status()
    return status.message if status.phase is Phase.BROKEN else ""


def _waits(pod: Mapping[str, object]) -> bool:
    return "ErrImageNeverPull" in str(pod.get("status"))


def _answer(address: str, path: str) -> str:
    def asked() -> str:
        try:
            return get(address, path)
        except OSError:
            return ""

    return str(eventually(asked, f"an answer of {address}"))
