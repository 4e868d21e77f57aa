"""Real helm and kubectl on the control plane: what the chart makes is taken, and goes again."""

import base64
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.rendered import EVERYTHING, of_kind, template
from tests.scenarios.stage import eventually
from tests.support import build, chart, minors
from tests.support.tools import Tool

from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

Release = Callable[..., str]
# Those that a release may leave: what the controller made itself, and what a namespace has anyway.
LEFT = ("kube-root-ca.crt", "default", "sh.helm")


def deployment(api: Api, home: str, name: str) -> dict[str, Any]:
    return api.get(path_to("Deployment", name, home))


def name_of(home: str) -> str:
    return f"{home}-reroll"


@pytest.mark.parametrize("version", ["helm", "helm4"])
def test_install_upgrade_and_uninstall(
    request: pytest.FixtureRequest, version: str, api: Api, home: str, release: Release
) -> None:
    helm: Tool = request.getfixturevalue(version)
    name = name_of(home)

    said = release(helm, "install", {}, "--wait", "--timeout", "200s")
    assert "reroll.dev/enabled=true" in said
    # Pods that the namespace would not let in are none.
    place = path_to("Deployment", name, home)
    first = api.wait_for(place, lambda one: one["status"].get("readyReplicas") == 2)

    release(helm, "upgrade", {"service": {"port": 80}})
    assert deployment(api, home, name)["metadata"]["generation"] == first["metadata"]["generation"]

    release(helm, "upgrade", {"settings": {"debounce": "5s"}})
    assert deployment(api, home, name)["spec"]["template"] != first["spec"]["template"]
    config = api.get(path_to("ConfigMap", name, home))
    assert yaml.safe_load(config["data"]["reroll.yaml"])["debounce"] == "5s"

    release(helm, "uninstall")
    for kind in ("Deployment", "ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Service"):
        names = [each["metadata"]["name"] for each in api.list(path_to(kind, "", home))]
        assert [each for each in names if not each.startswith(LEFT)] == [], kind
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        api.wait_gone(path_to(kind, f"{name}-{home}"))


def test_from_the_whole_cluster_to_some_namespaces_and_back(
    api: Api, home: str, release: Release, helm: Tool
) -> None:
    everywhere = path_to("ClusterRole", f"{name_of(home)}-{home}")
    somewhere = path_to("Role", f"{name_of(home)}-{home}", home)

    release(helm, "install", {"settings": {"namespaces": [home]}})
    assert api.get(somewhere)["rules"]
    api.wait_gone(everywhere)
    release(helm, "upgrade", {}, "--reset-values")
    assert api.get(everywhere)["rules"]
    api.wait_gone(somewhere)


@pytest.mark.parametrize("version", ["helm", "helm4"])
def test_an_upgrade_leaves_alone_what_the_controller_wrote_into_the_webhook(
    request: pytest.FixtureRequest,
    version: str,
    api: Api,
    cluster: DevCluster,
    home: str,
    release: Release,
) -> None:
    helm: Tool = request.getfixturevalue(version)
    values = {
        "replicas": 0,
        "features": {"revisions": True},
        "pins": {"mode": "webhook", "namespaceSelector": only(home)},
    }
    assert "keep two replicas" in release(helm, "install", values)
    group = "admissionregistration.k8s.io/v1"
    name = f"{name_of(home)}-{home}-pins"
    path = path_to("MutatingWebhookConfiguration", name, version=group)
    bundle = base64.b64encode(cluster.layout.ca.read_bytes()).decode()
    written = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]
    api.patch(path, written, "json", fieldManager="reroll")

    release(helm, "upgrade", {**values, "commonLabels": {"example.com/team": "platform"}})

    found = api.get(path)
    assert found["metadata"]["labels"]["example.com/team"] == "platform"
    (hook,) = found["webhooks"]
    assert hook["clientConfig"]["caBundle"] == bundle
    assert hook["namespaceSelector"]["matchLabels"] == only(home)["matchLabels"]


def test_the_policy_of_the_chart_has_pods_use_their_copies(
    api: Api, home: str, release: Release, helm: Tool, another: str
) -> None:
    names = {"key": "kubernetes.io/metadata.name", "operator": "In"}
    both = {"matchExpressions": [{**names, "values": [home, another]}]}
    # It takes one of the beta only where that is asked for.
    mode = "auto" if minors.ground(os.environ).minor.has_policies else "policy"
    pins = {"mode": mode, "namespaceSelector": both}
    release(helm, "install", {"replicas": 0, "features": {"revisions": True}, "pins": pins})
    spec = build.pod_template("web", uses="configmap/app")["spec"]
    meta = {"generateName": "web-", "annotations": {"reroll.dev/pins": "configmap/app=app-copy"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, **RESTRICTED_POD}}
    (container,) = pod["spec"]["containers"]
    container["securityContext"] = RESTRICTED_CONTAINER

    def name(namespace: str) -> str:
        made = api.request("POST", path_to("Pod", "", namespace), pod, query={"dryRun": "All"})
        found: str = made["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]
        return found

    eventually(lambda: name(another) == "app-copy", "the policy is in force")
    assert name(home) == "app"  # the controller's own pods wait for nothing of its own


RESTRICTED_POD = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
}
RESTRICTED_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def only(home: str) -> dict[str, Any]:
    """There is one cluster for all tests."""
    return {"matchLabels": {"kubernetes.io/metadata.name": home}}


def test_the_definition_of_injections_stays_when_the_release_goes(helm: Tool) -> None:
    objects = template(helm, {"features": {"injections": True}})

    (definition,) = of_kind(objects, "CustomResourceDefinition")
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    less = template(helm, {"features": {"injections": True}, "crds": {"install": False}})
    assert of_kind(less, "CustomResourceDefinition") == []


def test_the_api_server_knows_every_field(
    helm: Tool, kubectl: Tool, home: str, monitors: None
) -> None:
    without = {"tests": {"enabled": False}, "crds": {"install": False}}
    here = ("--kube-version", minors.ground(os.environ).minor.name)
    objects = template(helm, {**EVERYTHING, **without}, *here, home=home, name=home)
    # An answer of the API server's, of which nothing stays.
    strict = ("--dry-run=server", "--validate=strict", "--output", "name", "--filename", "-")

    said = kubectl("create", *strict, input=yaml.safe_dump_all(objects))

    assert len(said.splitlines()) == len(objects)


@pytest.mark.parametrize("name", chart.INSTALLATIONS)
def test_the_plain_manifests_are_taken(kubectl: Tool, home: str, name: str, tmp_path: Path) -> None:
    text = (chart.ROOT / "deploy" / name).read_text(encoding="utf-8")
    first, *objects = [each for each in yaml.safe_load_all(text) if each]
    # What is in no namespace may be there already, by another test.
    objects = [each for each in objects if "namespace" in each["metadata"]]
    for each in objects:
        each["metadata"]["namespace"] = home
    strict = ("--dry-run=server", "--validate=strict", "--output", "name", "--filename", "-")

    said = kubectl("create", *strict, input=yaml.safe_dump_all(objects))

    assert len(said.splitlines()) == len(objects)
    assert first["kind"] == "Namespace"


def test_helm_test_asks_the_doctor(api: Api, home: str, release: Release, helm: Tool) -> None:
    release(helm, "install", {"replicas": 0})
    path = path_to("Pod", f"{name_of(home)}-test", home)
    said: list[str] = []
    asking = threading.Thread(
        target=lambda: said.append(release(helm, "test", None, "--timeout", "60s"))
    )

    asking.start()
    pod = api.wait_for(path, lambda pod: pod["status"].get("phase") == "Running")
    # No pod of the development cluster runs a program: this one is said to have ended well.
    api.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
    asking.join(60)

    assert "Succeeded" in said[0]
    (container,) = pod["spec"]["containers"]
    assert container["args"][0] == "doctor"
    assert pod["spec"]["serviceAccountName"] == name_of(home)


# Versions whose API is not here to ask: which groups and versions they serve is known.
SERVED_SINCE_1_28 = {
    "v1",
    "apps/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "admissionregistration.k8s.io/v1",
    "monitoring.coreos.com/v1",
}


@pytest.mark.parametrize("minor", range(28, 37))
def test_each_version_of_kubernetes_is_given_what_it_serves(helm: Tool, minor: int) -> None:
    objects = template(helm, EVERYTHING, "--kube-version", f"1.{minor}.0")

    assert {each["apiVersion"] for each in objects} <= SERVED_SINCE_1_28
    assert json.dumps(objects)


def test_a_version_that_is_too_old_is_told(helm: Tool) -> None:
    with pytest.raises(AssertionError) as told:
        template(helm, {}, "--kube-version", "1.27.9")
    assert ">=1.28" in str(told.value)


@pytest.mark.cluster  # helm is built with the control plane
@pytest.mark.parametrize("version", ["helm", "helm4"])
def test_lint_finds_nothing(request: pytest.FixtureRequest, version: str, tmp_path: Path) -> None:
    helm: Tool = request.getfixturevalue(version)
    assert "0 chart(s) failed" in helm("lint", chart.CHART, "--strict", identity=None)
