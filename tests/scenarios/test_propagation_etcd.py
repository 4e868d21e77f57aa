"""A change that propagates while another member of etcd becomes its leader."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.scenarios.propagating import change, rolled, verdict, web
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build, session
from tests.support.build import Object
from tests.support.tools import kubeconfig_of

from reroll_dev import components
from reroll_dev.api import ApiError, path_to
from reroll_dev.cluster import DevCluster

NAMESPACE = "shop"
MEMBERS = ("a", "b", "c")


def free_ports(number: int) -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(one.getsockname()[1]) for one in found]
    for one in found:
        one.close()
    return ports


class Etcd:
    """Three members on this machine."""

    def __init__(self, binary: Path, folder: Path) -> None:
        ports = free_ports(2 * len(MEMBERS))
        self.clients = dict(zip(MEMBERS, ports[: len(MEMBERS)], strict=True))
        peers = dict(zip(MEMBERS, ports[len(MEMBERS) :], strict=True))
        together = ",".join(f"{name}=http://127.0.0.1:{port}" for name, port in peers.items())
        self._processes = {}
        for name in MEMBERS:
            client, peer = (
                f"http://127.0.0.1:{self.clients[name]}",
                f"http://127.0.0.1:{peers[name]}",
            )
            command = [
                str(binary), f"--name={name}", f"--data-dir={folder / name}",
                f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster={together}", "--unsafe-no-fsync", "--log-level=warn",
            ]  # fmt: skip
            with (folder / f"{name}.log").open("wb") as log:
                self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log)
        eventually(self.leader, "etcd has a leader")

    def leader(self) -> str:
        """The member that leads, as all that answer say; empty if none does."""
        ids, leaders = {}, set()
        for name, port in self.clients.items():
            if self._processes[name].poll() is None:
                try:
                    found = self._status(port)
                except OSError:
                    return ""
                ids[found["header"]["member_id"]] = name
                leaders.add(found.get("leader", "0"))
        return ids.get(leaders.pop(), "") if len(leaders) == 1 else ""

    def _status(self, port: int) -> dict[str, Any]:
        request = Request(f"http://127.0.0.1:{port}/v3/maintenance/status", data=b"{}")
        with urlopen(request, timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def kill(self, name: str) -> None:
        self._processes[name].kill()
        self._processes[name].wait(20)

    def end(self) -> None:
        for name in MEMBERS:
            self.kill(name)


@pytest.fixture
def etcd(control_plane: dict[str, Path], tmp_path: Path) -> Iterator[Etcd]:
    folder = tmp_path / "etcd"
    folder.mkdir()
    found = Etcd(control_plane["etcd"], folder)
    yield found
    found.end()


@pytest.fixture
def on_three(
    control_plane: dict[str, Path], etcd: Etcd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DevCluster]:
    usual, servers = components.apiserver, etcd.clients.values()

    def apiserver(*args: Any, **more: Any) -> list[str]:
        others = [one for one in usual(*args, **more) if not one.startswith("--etcd-servers=")]
        return [*others, f"--etcd-servers={','.join(f'http://127.0.0.1:{one}' for one in servers)}"]

    monkeypatch.setattr(components, "apiserver", apiserver)
    cluster = DevCluster(tmp_path / "cluster", progress=session.quiet())
    cluster.up(control_plane)
    yield cluster
    cluster.down()


def are_healthy(stage: Stage, webs: list[Object]) -> bool:
    """Though the API server may not answer for a moment."""
    try:
        return all(verdict(stage, each) == "healthy" for each in webs)
    except ApiError:
        return False


@pytest.mark.slow
def test_a_leader_of_etcd_that_dies_makes_no_change_and_no_verdict(
    on_three: DevCluster, etcd: Etcd, tmp_path: Path
) -> None:
    with on_three.api() as api:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        api.wait_for(path_to("ServiceAccount", "default", NAMESPACE), bool)
        stage, late = Stage(api, NAMESPACE), {"dev.reroll.dev/ready-after": "2s"}
        webs = [web(n, wave=str(n), deadline="1m", template_annotations=late) for n in range(3)]
        stage.make(build.configmap(), *webs)
        flags = ("--leader-election", "false")
        admin = kubeconfig_of(on_three, "admin")
        one = Controller(admin, NAMESPACE, tmp_path / "reroll.log", flags)
        try:
            one.start(wait="watching")
            for each in webs:
                stage.adopted(each)
                stage.settled(each)
            change(stage, "second")
            eventually(lambda: rolled(stage, webs[:1]), "the first rolls")

            before = etcd.leader()
            etcd.kill(before)

            eventually(lambda: are_healthy(stage, webs), "all are healthy", timeout=60)
        finally:
            one.end()
        assert etcd.leader() not in {"", before}
        assert rolled(stage, webs) == ["web-0", "web-1", "web-2"]
        assert [len(stage.revisions(each)) for each in webs] == [2, 2, 2]
        for reason in ("Failing", "Stuck", "Stopped", "RolledBack"):
            assert not one.said(reason)
