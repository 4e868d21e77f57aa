"""The plain manifests on a real node, by kubectl."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.node.installation.installed import NAME, PATIENCE, amiss
from tests.node.installation.pages import page, rolls, web
from tests.node.serving import ServingStage
from tests.scenarios.stage import ENABLED, eventually
from tests.support.chart import ROOT
from tests.support.tools import Tool

from reroll import __version__
from reroll_dev.api import Api, path_to
from reroll_dev.images.made import name_of

Apply = Callable[..., None]
DEPLOYMENT = f"deployment/{NAME}"


@pytest.fixture
def apply(kubectl: Tool, tmp_path: Path) -> Iterator[Apply]:
    """`apply("reroll.yaml")`: a file of deploy/, with the image of this machine in it."""
    files: list[Path] = []

    def run(name: str, **places: str) -> None:
        text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
        text = text.replace(f'"reroll:{__version__}"', f'"{name_of("reroll")}"')
        for old, new in places.items():
            text = text.replace(f": {old}\n", f": {new}\n").replace(f"- {old}\n", f"- {new}\n")
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        files.append(file)
        kubectl("apply", "--server-side", "--filename", file)
        kubectl("rollout", "status", DEPLOYMENT, "-n", NAME, f"--timeout={PATIENCE:.0f}s")

    yield run
    for file in files:
        kubectl("delete", "--filename", file, "--ignore-not-found")


@pytest.fixture
def another(api: Api, namespace: str) -> Iterator[str]:
    """One more namespace with an application in it."""
    name = f"{namespace}-more"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    api.delete(path_to("Namespace", name))


WHOLE = ("reroll.yaml", "reroll-dashboard.yaml", "reroll-all-features.yaml")


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_cluster(
    apply: Apply, stage: ServingStage, shell: Callable[..., str], kubectl: Tool, name: str
) -> None:
    one = web(annotations=ENABLED)
    stage.make(page("one"), one)
    apply(name)
    stage.adopted(one)
    stage.settled(one)

    rolls(stage, one, "two")

    said = shell("doctor", "-v", "--controller-namespace", NAME)
    assert "2 of 2 replicas are ready" in said
    assert amiss(said) == []
    if "dashboard" in name:
        _a_viewer_sees_it(kubectl, stage, one["metadata"]["name"])


ASK = """
import sys, urllib.request
said = {"Authorization": "Bearer " + sys.argv[1]}
asked = urllib.request.Request("http://localhost:8300/api/v1/search?q=", headers=said)
print(urllib.request.urlopen(asked, timeout=60).read().decode())
"""


def _a_viewer_sees_it(kubectl: Tool, stage: ServingStage, name: str) -> None:
    """With the token of an account that may look into one namespace, and no other."""
    dashboard, here = f"deployment/{NAME}-dashboard", ("-n", stage.namespace)
    kubectl("rollout", "status", dashboard, "-n", NAME, f"--timeout={PATIENCE:.0f}s")
    account = f"--serviceaccount={stage.namespace}:default"
    kubectl("create", "rolebinding", "viewers", "--clusterrole=view", account, *here)
    token = kubectl("create", "token", "default", *here).strip()
    inside = ("exec", "-n", NAME, dashboard, "--", "python3", "-c", ASK, token)
    hits = json.loads(kubectl(*inside))["hits"]
    assert {hit["node"]["namespace"] for hit in hits} == {stage.namespace}
    assert name in {hit["node"]["name"] for hit in hits}


def test_some_namespaces(
    apply: Apply, stage: ServingStage, api: Api, another: str, kubectl: Tool
) -> None:
    one, elsewhere = web(annotations=ENABLED), ServingStage(api, "default", stage.address)
    stage.make(page("one"), one)
    apply("reroll-namespaces.yaml", shop=stage.namespace, billing=another)
    stage.adopted(one)
    stage.settled(one)
    there = ServingStage(api, another, stage.address)
    there.make(page("one"), one)
    there.adopted(one)
    elsewhere.make(page("one"), one)
    try:
        rolls(stage, one, "two")
        rolls(there, one, "three")
        assert elsewhere.record(one) == {}
    finally:
        kubectl("delete", "deployment/web", "configmap/app", "-n", "default")
    eventually(lambda: len(stage.revisions(one)) == 2, "it rolled once")
