"""An API server that keeps ConfigMaps in an etcd of their own: versions tell no order there."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.scenarios.test_other_writers import edit_template, next_second
from tests.support import build, session
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll_dev import components
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.layout import Layout

NAMESPACE = "shop"


@pytest.fixture
def second_etcd(control_plane: dict[str, Path], tmp_path: Path) -> Iterator[str]:
    """Its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = components.etcd(control_plane["etcd"], Layout(tmp_path / "etcd"), port)
    with (tmp_path / "etcd.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


@pytest.fixture
def parted(
    control_plane: dict[str, Path],
    second_etcd: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DevCluster]:
    usual = components.apiserver

    def apiserver(*args: Any, **more: Any) -> list[str]:
        return [*usual(*args, **more), f"--etcd-servers-overrides=/configmaps#{second_etcd}"]

    monkeypatch.setattr(components, "apiserver", apiserver)
    cluster = DevCluster(tmp_path / "cluster", progress=session.quiet())
    cluster.up(control_plane)
    yield cluster
    cluster.down()


def test_a_change_is_not_lost_to_versions_of_another_store(
    parted: DevCluster, tmp_path: Path
) -> None:
    with parted.api() as api:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        api.create(namespace)
        api.wait_for(path_to("ServiceAccount", "default", NAMESPACE), bool)
        stage = Stage(api, NAMESPACE)
        web = build.deployment("web", replicas=0, uses="configmap/app", annotations=ENABLED)
        stage.make(build.configmap("app"), web)
        admin = kubeconfig_of(parted, "admin")
        flags = ("--leader-election", "false")
        one = Controller(admin, NAMESPACE, tmp_path / "reroll.log", flags)
        try:
            one.start(wait="watching")
            stage.adopted(web)
            edit_template(stage, web, "new")  # Watched: its version is known exactly, and high.
            stage.settled(web)
            next_second()
            number = stage.record(web)["n"]
            changed = stage.change("ConfigMap", "app", key="new")["metadata"]["resourceVersion"]
            template = stage.get(web)["metadata"]["resourceVersion"]
            assert int(changed) < int(template), "the stores are not apart"

            assert stage.rolled(web, since=number)["by"] == ["configmap/app"]
        finally:
            one.end()
        assert [line["resources"] for line in one.lines() if "several stores" in line["msg"]] == [
            "configmaps"
        ]
        found = reroll("doctor", "--kubeconfig", admin, "-o", "json")
        assert "configmaps are in another store than Deployments" in found.out
