"""Fixtures of the tests that need pods which run: a cluster with a real node, shared by a run.

A test that uses one of them carries the marker `node`, and runs only with `make test-node`.
"""

import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.conftest import RUN_FOLDER
from tests.support import session
from tests.support.tools import Runner, Tool

from reroll_dev import binaries
from reroll_dev.api import Api, Object, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.images.made import made, name_of
from reroll_dev.node import nft, requirements
from reroll_dev.start import Options

WITH_NODE = Options(nodes=0, node=True)
WEB, PYTHON = name_of("web"), name_of("python")


@pytest.fixture(scope="session")
def node_programs() -> Mapping[str, Path]:
    """What a cluster with a real node consists of; what is missing is a failure that says so."""
    if lacking := requirements.missing(os.environ):
        pytest.fail(f"no real node on this machine: {'; '.join(lacking)}", pytrace=False)
    tool = nft.find(os.environ)
    found = binaries.find(binaries.NODE, env=os.environ)
    if tool is None or None in found.values():
        pytest.fail("the node is not built; run `reroll dev build --node` (minutes, once)", False)
    return {**session.programs((*binaries.CORE, *binaries.NODE), os.environ), **tool}


@pytest.fixture(scope="session")
def node_cluster(pytestconfig: pytest.Config, node_programs: Mapping[str, Path]) -> DevCluster:
    """A cluster whose only node is a real one, with the images `web` and `python` on it."""
    folder = session.node_folder(pytestconfig.stash[RUN_FOLDER])
    cluster = session.shared_cluster(folder, node_programs, WITH_NODE)
    for name in ("web", "python"):
        cluster.node.load_image(made(name, env=os.environ, progress=session.quiet()))
    return cluster


@pytest.fixture(scope="session")
def node_api(node_cluster: DevCluster) -> Iterator[Api]:
    with node_cluster.api() as client:
        yield client


@pytest.fixture
def node_namespace(node_api: Api) -> Iterator[str]:
    """A namespace of this test's own, on the cluster with a real node."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    node_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    node_api.wait_for(path_to("ServiceAccount", "default", name), bool)
    yield name
    node_api.delete(path_to("Namespace", name), missing_ok=True)


@pytest.fixture
def node_kubectl(
    node_cluster: DevCluster, node_programs: Mapping[str, Path], tools_home: Path
) -> Tool:
    return Runner(node_programs["kubectl"], tools_home, lambda: node_cluster)


@dataclass(frozen=True)
class Pods:
    """Makes pods on a real node, and waits for them."""

    api: Api
    namespace: str

    def run(self, name: str, **spec: Any) -> Object:
        """A pod that is Ready; by default it is the web server, with a label of its name."""
        container = {"name": "main", "image": WEB, "imagePullPolicy": "IfNotPresent"}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {"app": name},
                },
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
            }
        )
        return self.api.wait_for(path_to("Pod", name, self.namespace), is_ready)

    def sleeper(self, name: str, **container: Any) -> Object:
        """A pod with Python and a shell, in which commands are executed."""
        command = ["python3", "-c", "import signal; signal.sigwait([signal.SIGTERM])"]
        usual = {"name": "main", "image": PYTHON, "command": command}
        return self.run(name, containers=[{**usual, **container}])

    def service(self, name: str, **spec: Any) -> Object:
        """A Service of the web server's pods with that name."""
        return self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {
                    "selector": {"app": name},
                    "ports": [{"port": 80, "targetPort": 8080}],
                    **spec,
                },
            }
        )


@pytest.fixture
def pods(node_api: Api, node_namespace: str) -> Pods:
    return Pods(node_api, node_namespace)


def is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def get(address: str, path: str = "/healthz") -> str:
    """What a web server on the node says."""
    with urlopen(f"http://{address}{path}", timeout=10) as answer:
        return str(answer.read().decode())
