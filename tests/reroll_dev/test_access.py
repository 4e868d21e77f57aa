"""Who may call a development cluster, with which credentials, and who called."""

import json
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.build import configmap
from tests.support.settled import has_condition
from tests.support.tools import Tool

from reroll_dev import access, pki
from reroll_dev.api import Api, ApiError, path_of, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.errors import DevClusterError

READ_CONFIGMAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


def test_nodes_are_ready_and_roomy(api: Api) -> None:
    nodes = api.list(path_to("Node"))
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1", "node-2"]
    assert all(has_condition(node, "Ready") for node in nodes)
    assert nodes[0]["status"]["allocatable"] == {"cpu": "64", "memory": "256Gi", "pods": "5k"}


def test_what_later_work_needs_is_served(api: Api) -> None:
    served = api.get("/apis/admissionregistration.k8s.io/v1")["resources"]
    assert "mutatingadmissionpolicies" in {resource["name"] for resource in served}


def who(api: Api) -> dict[str, Any]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.post(path_to("SelfSubjectReview", version="authentication.k8s.io/v1"), review)
    info: dict[str, Any] = answer["status"]["userInfo"]
    return info


@pytest.mark.parametrize("name", ["admin", "reroll", "alice"])
def test_an_identity_with_a_token_is_known(cluster: DevCluster, name: str) -> None:
    with cluster.api(name) as api:
        assert who(api)["username"] == name


def test_an_identity_can_be_added_while_the_cluster_runs(
    cluster: DevCluster, namespace: str
) -> None:
    cluster.add_identity(namespace, groups=["builders"])
    with cluster.api(namespace) as api:
        info = who(api)
    assert info["username"] == namespace
    assert "builders" in info["groups"]
    with pytest.raises(DevClusterError, match="not in use"):
        cluster.add_identity(namespace)


def test_a_certificate_of_another_authority_is_no_identity(cluster: DevCluster) -> None:
    pretender = pki.client_certificate(pki.new_authority(), "admin", access.MASTERS)
    context = ssl.create_default_context(cafile=cluster.layout.ca)
    folder = cluster.folder / "pki"
    path = folder / f"pretender-{os.getpid()}.pem"
    pki.write_private(path, pretender.certificate + pretender.key)
    context.load_cert_chain(path)
    with Api(cluster.server, context) as api, pytest.raises(ApiError) as refusal:
        api.get("/version")
    assert refusal.value.status == 401


def test_a_client_that_trusts_another_authority_refuses_the_server(
    cluster: DevCluster, tmp_path: Path
) -> None:
    other = pki.new_authority().certificate
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(access.kubeconfig(cluster.server, other, "admin", {})))
    with Api.from_kubeconfig(path) as api, pytest.raises(ssl.SSLCertVerificationError):
        api.get("/readyz")


def test_an_identity_without_rights_is_denied(cluster: DevCluster) -> None:
    with cluster.api("alice") as api, pytest.raises(ApiError) as refusal:
        api.list(path_to("ConfigMap"))
    assert refusal.value.status == 403


def test_an_unknown_identity_is_refused_with_those_there_are(cluster: DevCluster) -> None:
    with pytest.raises(DevClusterError, match=r"no identity 'bob'; it has: admin, .*reroll"):
        cluster.kubeconfig("bob")


def test_a_granted_identity_has_its_rights_and_no_others(
    kubeconfig_for: Callable[..., Path], api: Api, namespace: str
) -> None:
    api.create(configmap(), namespace)
    with Api.from_kubeconfig(kubeconfig_for([READ_CONFIGMAPS], namespace)) as granted:
        assert granted.list(path_to("ConfigMap", "", namespace))
        for path in (path_to("ConfigMap"), path_to("Secret", "", namespace)):
            with pytest.raises(ApiError, match="Forbidden"):
                granted.list(path)


def test_rights_can_be_granted_in_the_whole_cluster(kubeconfig_for: Callable[..., Path]) -> None:
    with Api.from_kubeconfig(kubeconfig_for([READ_CONFIGMAPS])) as api:
        assert api.list(path_to("ConfigMap"))


def test_the_audit_log_counts_the_calls_of_one_identity(
    audit: Callable[..., list[dict[str, Any]]],
    kubeconfig_for: Callable[..., Path],
    api: Api,
    namespace: str,
) -> None:
    there = path_of(api.create(configmap("there"), namespace))
    mine = kubeconfig_for([READ_CONFIGMAPS], namespace)
    with Api.from_kubeconfig(mine) as granted:
        for _ in range(3):
            granted.list(path_to("ConfigMap", "", namespace))
        granted.get(there)
        with pytest.raises(ApiError):
            granted.create(configmap(), namespace)

    calls = [(call["verb"], call["responseStatus"]["code"]) for call in audit(mine)]

    assert calls == [("list", 200)] * 3 + [("get", 200), ("create", 403)]


def test_kubectl_calls_as_the_identity_it_is_given(kubectl: Tool, namespace: str) -> None:
    assert kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == "admin"
    with pytest.raises(AssertionError, match="forbidden"):
        kubectl("get", "pods", "-n", namespace, identity="alice")


def test_helm_and_kustomize_run_without_a_cluster(
    helm: Tool, kustomize: Tool, tmp_path: Path
) -> None:
    (tmp_path / "kustomization.yaml").write_text("configMapGenerator: [{name: a, literals: [k=v]}]")
    assert "name: a-" in kustomize("build", tmp_path, identity=None)
    assert "v3." in helm("version", "--short", identity=None)
