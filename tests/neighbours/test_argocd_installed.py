"""Argo CD's own manifests through `reroll render --names`: installed from them, it works.

It finds its ConfigMaps and Secrets by names that stand in its code, and fills one that is empty.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.neighbours.argo import SERVER, VERSION
from tests.neighbours.gitops import config, web
from tests.neighbours.looks import custom
from tests.scenarios.stage import Stage, eventually
from tests.support import session
from tests.support.command import reroll
from tests.support.fixtures_neighbours import Running
from tests.support.git_server import BRANCH, Repository
from tests.support.tools import Tool

from reroll_dev import binaries
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.neighbours.table import Place, named

pytestmark = pytest.mark.neighbours
SOURCES = {"ConfigMap", "Secret"}


@pytest.fixture(scope="session")
def manifests() -> str:
    """What Argo CD publishes for an installation in one namespace."""
    file = binaries.asset("argocd-install.yaml", env=os.environ, progress=session.quiet())
    return file.read_text(encoding="utf-8")


def rendered(manifests: str, namespace: str, *flags: str) -> list[dict[str, Any]]:
    done = reroll("render", "-n", namespace, *flags, input=manifests)
    assert done.code == 0, done.err
    return [one for one in yaml.safe_load_all(done.out) if one]


def sources(objects: list[dict[str, Any]]) -> set[str]:
    return {one["metadata"]["name"] for one in objects if one["kind"] in SOURCES}


@pytest.fixture
def installed(
    cluster: DevCluster,
    neighbour: Callable[[str], Running],
    stage: Stage,
    kubectl: Tool,
    manifests: str,
    tmp_path: Path,
) -> Iterator[None]:
    """A second Argo CD, with the settings that stand in this test's namespace."""
    running = neighbour("argocd")
    objects = rendered(manifests, stage.namespace, "--names")
    kubectl(
        *("apply", "--server-side", "--namespace", stage.namespace, "-f", "-"),
        input=yaml.safe_dump_all(objects),
    )
    # As its server does when it starts for the first time.
    key = {"stringData": {"server.secretkey": "of a test cluster"}}
    stage.api.patch(path_to("Secret", "argocd-secret", stage.namespace), key)
    project = {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}]}
    stage.api.create(
        custom(VERSION, "AppProject", "default", spec=project), namespace=stage.namespace
    )
    part = next(one for one in named("argocd").parts if one.name == "argocd-controller")
    place = Place(cluster.kubeconfig("argocd"), running.folder, running.ports)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "controller.log").open("wb") as log:
        process = subprocess.Popen(
            [
                running.programs[part.program],
                *part.arguments(place, port),
                f"--namespace={stage.namespace}",
            ],
            env={**os.environ, **part.settings(place), "KUBECONFIG": str(place.kubeconfig)},
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait(20)


def test_argo_cd_works_when_it_was_installed_with_content_names(
    stage: Stage, repository: Repository, installed: None
) -> None:
    revision = repository.commit(config("blue"), web())
    spec = {
        "project": "default",
        "source": {"repoURL": repository.url, "path": ".", "targetRevision": BRANCH},
        "destination": {"server": SERVER, "namespace": stage.namespace},
        "syncPolicy": {"automated": {}},
    }
    application = custom(VERSION, "Application", "shop", spec=spec)
    stage.api.create(application, namespace=stage.namespace)
    path = path_to("Application", "shop", stage.namespace, version=VERSION)

    def synced() -> bool:
        status = stage.api.get(path).get("status", {}).get("sync", {})
        return bool(status.get("status") == "Synced" and status.get("revision") == revision)

    eventually(synced, "it deploys", 120, lambda: stage.api.get(path).get("status"))
    assert stage.get(config())["data"] == {"COLOUR": "blue"}


def test_what_argo_cd_looks_up_would_be_gone_if_everything_had_a_new_name(manifests: str) -> None:
    looked_up = {"argocd-cm", "argocd-rbac-cm", "argocd-secret"}

    assert looked_up <= sources(rendered(manifests, "argocd", "--names"))
    assert not looked_up & sources(rendered(manifests, "argocd", "--all-names"))
