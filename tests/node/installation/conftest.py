"""Fixtures of the tests that install the product: its own image, by chart or plain manifests.

They have a cluster of their own and use it one at a time: an installation looks at the whole
cluster, and some stop parts of the node.
"""

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.conftest import RUN_FOLDER
from tests.node.installation.installed import PATIENCE, RESTRICTED, Installation
from tests.node.installation.reading import Reader
from tests.scenarios.stage import eventually, program_on_the_path
from tests.support import release_before, session
from tests.support.command import reroll
from tests.support.fixtures_node import WITH_NODE
from tests.support.pages import DOCS, files
from tests.support.tools import Tool, kubeconfig_of

from reroll import __version__
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.images.made import made
from reroll_dev.locks import held

Install = Callable[..., Installation]
ROOT = DOCS.parent
IMAGES = {
    "reroll": f"reroll:{__version__}",
    "python": "python:3.13-alpine",
    "web": "nginx:1.29-alpine",
}
"""What pages build or fetch, by the names that they give."""


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config, node_programs: Mapping[str, Path]) -> DevCluster:
    """A cluster with one real node, which has the product's image and that of a web server."""
    folder = session.node_folder(pytestconfig.stash[RUN_FOLDER], "installed")
    cluster = session.shared_cluster(folder, node_programs, WITH_NODE)
    for name in ("web", "reroll"):
        cluster.node.load_image(made(name, env=os.environ, progress=session.quiet()))
    return cluster


@pytest.fixture(scope="session")
def api(cluster: DevCluster) -> Iterator[Api]:
    with cluster.api() as client:
        yield client


@pytest.fixture(autouse=True)
def _one_at_a_time(pytestconfig: pytest.Config, api: Api) -> Iterator[None]:
    """With nothing left of the test before: an installation looks at every namespace."""
    folder = pytestconfig.stash[RUN_FOLDER]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = folder / "installation.lock"
    with held(lock, purpose="testing an installation", progress=session.quiet()):
        yield
        eventually(lambda: not _ending(api), "namespaces are gone", PATIENCE)


def _ending(api: Api) -> list[str]:
    found = api.list(path_to("Namespace"))
    return [one["metadata"]["name"] for one in found if "deletionTimestamp" in one["metadata"]]


@pytest.fixture
def home(api: Api) -> Iterator[str]:
    """The namespace of an installation; a pod that is not restricted is not let in."""
    name = f"reroll-{uuid.uuid4().hex[:6]}"
    metadata = {"name": name, "labels": RESTRICTED}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    yield name
    api.delete(path_to("Namespace", name))


@pytest.fixture
def installation(api: Api, home: str, helm: Tool, tmp_path: Path) -> Iterator[Installation]:
    """A release that is not installed yet; it goes with the test."""
    one = Installation(api, helm, home, tmp_path / "values.yaml")
    yield one
    one.helm("uninstall", "--ignore-not-found", "--wait")


@pytest.fixture
def install(installation: Installation) -> Install:
    """`install({"replicas": 1})`: the chart, with the product's image, until it is ready."""

    def run(values: Mapping[str, object] | None = None) -> Installation:
        installation.apply("install", values or {})
        return installation

    return run


@pytest.fixture
def before(cluster: DevCluster, tmp_path: Path) -> Path:
    """The chart of the release before; its image is on the node."""
    cluster.node.load_image(release_before.image(os.environ))
    return release_before.chart(tmp_path / "before")


@pytest.fixture
def shell(cluster: DevCluster) -> Callable[..., str]:
    """`shell("doctor")`: a command of ours as an administrator types it; it has to succeed."""

    def run(*args: str) -> str:
        done = reroll(*args, "--kubeconfig", cluster.kubeconfig())
        assert done.code == 0, json.dumps([done.out, done.err])
        return done.out

    return run


@pytest.fixture
def reader(
    tmp_path: Path,
    cluster: DevCluster,
    api: Api,
    control_plane: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], Reader]]:
    """`reader(page)`: one who follows it, in a clone of the repository; nothing is left of it."""
    folder = program_on_the_path(tmp_path, monkeypatch)
    tools = {**control_plane, **session.programs(["helm"], os.environ)}
    for name in ("kubectl", "helm"):
        (folder / name).symlink_to(tools[name])
    (tmp_path / "charts").symlink_to(ROOT / "charts")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_of(cluster, "admin")))
    for name, image in IMAGES.items():
        given = reroll("dev", "image", name, "--tag", image, "--folder", cluster.layout.folder)
        assert given.code == 0, given.err

    def begin(page: str) -> Reader:
        for name, text in files(page).items():
            (tmp_path / name).write_text(text)
        return Reader(tmp_path, api)

    yield begin
    begin("").run("reroll pins uninstall")
    begin("").run("reroll approvals uninstall")
    begin("").run("helm uninstall reroll --namespace reroll --ignore-not-found --wait")
    for name in ("shop", "shop-eu", "reloader", "wave", "reroll"):
        api.delete(path_to("Namespace", name), missing_ok=True)
