"""The command line of every component: what is started, and with which files.

Pure but for `write_configs`. Everything listens on 127.0.0.1; controller manager and scheduler
serve nothing, which saves two ports and the keys they would make at start.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reroll_dev.access import KUBELET, KUBELETS_CLIENT, PROXY
from reroll_dev.layout import STAGES, Layout
from reroll_dev.node.configs import RUNS_CONTAINERS
from reroll_dev.node.network import SERVICES, Network

ETCD, APISERVER = "etcd", "kube-apiserver"
CONTROLLERS, SCHEDULER, KWOK = "kube-controller-manager", "kube-scheduler", "kwok"
ROLLOUTS = "rollouts-controller"
NEEDED = (ETCD, APISERVER, CONTROLLERS, SCHEDULER, KWOK)

# The components' own reads are left out: they are most of the traffic, and no test counts them.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},
        {
            "level": "None",
            "users": [
                "system:kube-controller-manager",
                "system:kube-scheduler",
                "kwok",
                KUBELET.username,
                PROXY.username,
            ],
            "verbs": ["get", "list", "watch"],
        },
        {
            "level": "None",
            "users": ["kwok", KUBELET.username],
            "resources": [{"group": "coordination.k8s.io"}],
        },
        {"level": "Metadata"},
    ],
}


def scheduler_config(layout: Layout) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(layout.kubeconfig(SCHEDULER)),
            "qps": 500,
            "burst": 1000,
        },
    }


KWOK_OPTIONS = {
    "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
    "kind": "KwokConfiguration",
    # A file of options replaces the defaults of all of them.
    "options": {
        "podPlayStageParallelism": 16,
        "nodePlayStageParallelism": 4,
        "nodeLeaseParallelism": 4,
        "podsOnNodeSyncParallelism": 1,
        "enablePodsOnNodeSyncListPager": True,
    },
}


def write_configs(layout: Layout) -> None:
    """JSON is YAML, so no library is needed to write what the components read as YAML."""
    for name, content in (
        ("audit.yaml", AUDIT_POLICY),
        ("scheduler.yaml", scheduler_config(layout)),
        ("kwok.yaml", KWOK_OPTIONS),
    ):
        (layout.config / name).write_text(json.dumps(content, indent=2))


def etcd(binary: Path, layout: Layout, port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{port}", "http://127.0.0.1:0"
    return [
        str(binary),
        f"--data-dir={layout.data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        "--name=dev",
        f"--initial-cluster=dev={peer}",
        # It is alone and elects itself: no need to wait a second for others.
        "--heartbeat-interval=20",
        "--election-timeout=200",
        "--unsafe-no-fsync",  # the data lives no longer than the processes
        "--log-level=warn",
    ]


def apiserver(
    binary: Path, layout: Layout, port: int, *, etcd_port: int, network: Network | None = None
) -> list[str]:
    """With a network, it listens where pods can reach it, and calls kubelets."""
    pki = layout.pki
    return [
        str(binary),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        *(_on_loopback() if network is None else _on_network(layout, network)),
        f"--secure-port={port}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={layout.ca}",
        f"--token-auth-file={pki / 'tokens.csv'}",
        f"--service-cluster-ip-range={SERVICES}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'service-accounts.pub'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        "--allow-privileged=true",
        f"--audit-policy-file={layout.config / 'audit.yaml'}",
        f"--audit-log-path={layout.audit}",
        "--audit-log-maxsize=1024",
        "--audit-log-maxbackup=1",
        "--profiling=false",
    ]


def _on_loopback() -> tuple[str, ...]:
    return (
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        # A loopback address is not a valid endpoint of the `kubernetes` Service.
        "--endpoint-reconciler-type=none",
        "--authorization-mode=RBAC",
    )


def _on_network(layout: Layout, network: Network) -> tuple[str, ...]:
    client = layout.pki / KUBELETS_CLIENT.name
    return (
        f"--bind-address={network.host}",
        f"--advertise-address={network.host}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={layout.ca}",
        f"--kubelet-client-certificate={client}.crt",
        f"--kubelet-client-key={client}.key",
        # No kube-proxy translates addresses of Services out here: call webhooks at their pods.
        "--enable-aggregator-routing=true",
    )


def controller_manager(binary: Path, layout: Layout) -> list[str]:
    return [
        str(binary),
        f"--kubeconfig={layout.kubeconfig(CONTROLLERS)}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        f"--service-account-private-key-file={layout.pki / 'service-accounts.key'}",
        f"--root-ca-file={layout.ca}",
        f"--cluster-signing-cert-file={layout.ca}",
        f"--cluster-signing-key-file={layout.pki / 'ca.key'}",
        # A busy machine may keep KWOK from renewing a lease for a while; its nodes are not lost.
        "--node-monitor-grace-period=5m",
    ]


def scheduler(binary: Path, layout: Layout) -> list[str]:
    return [str(binary), f"--config={layout.config / 'scheduler.yaml'}", "--secure-port=0"]


def kwok(binary: Path, layout: Layout, *, network: Network | None = None) -> list[str]:
    """With a network there is a node that a kubelet manages."""
    managed = f"nodes-with-label-selector=!{RUNS_CONTAINERS}" if network else "all-nodes=true"
    configs = [layout.config / "kwok.yaml", *sorted(STAGES.glob("*.yaml"))]
    return [
        str(binary),
        f"--kubeconfig={layout.kubeconfig(KWOK)}",
        *(f"--config={path}" for path in configs),
        f"--manage-{managed}",
        "--node-ip=127.0.0.1",
        "--cidr=10.244.0.0/16",
        # Without leases the controller manager finds the nodes NotReady every minute.
        "--node-lease-duration-seconds=40",
        "--v=WARN",
    ]


def rollouts(binary: Path, layout: Layout, port: int) -> list[str]:
    return [
        str(binary),
        f"--kubeconfig={layout.kubeconfig(ROLLOUTS)}",
        "--leader-elect=false",
        f"--healthzPort={port}",
        "--metricsPort=0",
        "--qps=500",
        "--burst=1000",
        "--loglevel=warn",
    ]


def node(name: str) -> Mapping[str, Any]:
    size = {"cpu": "64", "memory": "256Gi", "pods": "5000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "status": {
            "allocatable": size,
            "capacity": size,
            "addresses": [
                {"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": name},
            ],
        },
    }
