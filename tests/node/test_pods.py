"""What runs on a real node: pods, their network, and what people ask a kubelet for."""

from typing import Any

from tests.scenarios.stage import eventually
from tests.support.fixtures_node import PYTHON, Pods, get, is_ready
from tests.support.tools import Tool

from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

CALL = """
import sys, time, urllib.request as u
deadline = time.monotonic() + 30
while True:
    try:
        print(u.urlopen(sys.argv[1], timeout=5).read().decode())
        break
    except OSError:
        if time.monotonic() > deadline:
            raise
"""
ASK = """
import json, os, ssl, urllib.request as u
place = "/var/run/secrets/kubernetes.io/serviceaccount"
host = os.environ["KUBERNETES_SERVICE_HOST"]
token = open(f"{place}/token").read()
request = u.Request(f"https://{host}/version", headers={"Authorization": f"Bearer {token}"})
context = ssl.create_default_context(cafile=f"{place}/ca.crt")
print(json.load(u.urlopen(request, context=context, timeout=10))["gitVersion"])
"""
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def test_the_node_is_ready_and_a_kubelet_s(node_cluster: DevCluster, node_api: Api) -> None:
    def node() -> dict[str, Any]:
        (only,) = node_api.list(path_to("Node"))
        assert is_ready(only)
        return dict(only["status"])

    def runtime() -> str:
        return str(node()["nodeInfo"]["containerRuntimeVersion"])

    # A kubelet that came before its containerd says `Unknown`, until it looks again.
    eventually(lambda: runtime().startswith("containerd://2."), "the kubelet names its containerd")
    addresses = {each["type"]: each["address"] for each in node()["addresses"]}
    assert addresses["InternalIP"] == node_cluster.node.address


def test_a_pod_runs_and_this_machine_reaches_it(node_cluster: DevCluster, pods: Pods) -> None:
    pod = pods.run("web")
    (status,) = pod["status"]["containerStatuses"]
    assert status["containerID"].startswith("containerd://")
    assert get(f"{pod['status']['podIP']}:8080") == "ok\n"
    events = pods.api.list(path_to("Event", "", pods.namespace))
    assert [each["reason"] for each in events if each["type"] == "Warning"] == []


def test_a_node_port_answers_this_machine(node_cluster: DevCluster, pods: Pods) -> None:
    pods.run("web")
    port = pods.service("web", type="NodePort")["spec"]["ports"][0]["nodePort"]
    assert _answer(f"{node_cluster.node.address}:{port}") == "ok\n"


def test_a_pod_reaches_a_service_by_its_address(pods: Pods, node_kubectl: Tool) -> None:
    pods.run("web")
    address = pods.service("web")["spec"]["clusterIP"]
    pods.sleeper("client")
    inside = ("exec", "-n", pods.namespace, "client", "--", "python3", "-c", CALL)
    assert node_kubectl(*inside, f"http://{address}/healthz").strip() == "ok"


def test_a_pod_asks_the_api_server_as_its_service_account(
    pods: Pods, node_kubectl: Tool, node_api: Api
) -> None:
    pods.sleeper("client")
    inside = ("exec", "-n", pods.namespace, "client", "--", "python3", "-c", ASK)
    assert node_kubectl(*inside).strip() == node_api.get("/version")["gitVersion"]


def test_people_read_logs_and_execute_commands(pods: Pods, node_kubectl: Tool) -> None:
    variable = {"name": "COLOUR", "value": "blue"}
    pods.sleeper("shell", command=["python3", "-u", "-c", _speak()], env=[variable])
    place = ("-n", pods.namespace, "shell")
    assert node_kubectl("logs", *place).strip() == "started with blue"
    said = node_kubectl("exec", *place, "--", "/bin/sh", "-c", "echo $COLOUR; hostname || true")
    assert said.splitlines()[0] == "blue"


def test_a_restricted_pod_runs_behind_a_seccomp_filter(
    node_api: Api, pods: Pods, node_kubectl: Tool
) -> None:
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    node_api.patch(path_to("Namespace", pods.namespace), enforce)
    pods.sleeper("strict", securityContext=RESTRICTED)
    status = node_kubectl("exec", "-n", pods.namespace, "strict", "--", "cat", "/proc/1/status")
    assert "Seccomp:\t2" in status
    assert "CapEff:\t0000000000000000" in status


def test_containers_outlive_a_restart_of_the_kubelet_and_of_containerd(
    node_cluster: DevCluster, node_api: Api, pods: Pods
) -> None:
    pod = pods.run("web")
    address = f"{pod['status']['podIP']}:8080"
    for name in ("kubelet", "containerd"):
        node_cluster.node.stop(name)
        assert name not in _running(node_cluster)
        assert get(address) == "ok\n"
        node_cluster.node.start(name)
        assert name in _running(node_cluster)
    pods.run("later")
    after = node_api.get(path_to("Pod", "web", pods.namespace))
    (before,), (now,) = (each["status"]["containerStatuses"] for each in (pod, after))
    assert (now["containerID"], now["restartCount"]) == (before["containerID"], 0)


def test_an_image_is_there_under_its_name(node_cluster: DevCluster) -> None:
    assert PYTHON in node_cluster.node.images()


def _speak() -> str:
    return (
        "import os, signal; print('started with', os.environ['COLOUR']);"
        " signal.sigwait([signal.SIGTERM])"
    )


def _running(cluster: DevCluster) -> set[str]:
    return {row.process.name for row in cluster.status().rows if row.is_running}


def _answer(address: str) -> str:
    """What it says at last: kube-proxy writes its rules a moment after a Service is made."""

    def asked() -> str:
        try:
            return get(address)
        except OSError:
            return ""

    return str(eventually(asked, f"an answer of {address}"))
