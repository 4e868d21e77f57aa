"""What the programs of a node read: pure functions of its network and its cgroup.

Every path is one inside the sandbox.
"""

from typing import Any

from reroll_dev.access import NODE
from reroll_dev.node.network import Network
from reroll_dev.node.sandbox import HOME, PLUGINS

RUNS_CONTAINERS = "dev.reroll.dev/runs-containers"
"""The label that tells a real node from KWOK's."""
PAUSE = "reroll.dev/pause:1"
SOCKET = "/run/containerd/containerd.sock"
CONFIG = f"{HOME}/config"

# The machine's own settings stay as they are: AppArmor gets no profile, /opt and /etc are not
# written. A score below containerd's own cannot be set in a container without CAP_SYS_RESOURCE.
CONTAINERD = f"""\
version = 3
root = "{HOME}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing"]

[grpc]
address = "{SOCKET}"

[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.cri.v1.images"]
snapshotter = "{{snapshotter}}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE}"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{PLUGINS}"]
conf_dir = "{HOME}/cni"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{HOME}/bin/runc"
SystemdCgroup = false
"""


def containerd(filesystem: str) -> str:
    """For a node whose folder is on that kind of file system: an overlay bears no other."""
    return CONTAINERD.format(snapshotter="native" if filesystem == "overlay" else "overlayfs")


def cni(network: Network) -> dict[str, Any]:
    """A bridge for all pods. This machine has a route to them, so nothing is translated."""
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(network.pods)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "nftables"},
        ],
    }


def kubelet(cgroup: str, network: Network) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{CONFIG}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{CONFIG}/kubelet.crt",
        "tlsPrivateKeyFile": f"{CONFIG}/kubelet.key",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "resolvConf": "",
        # Nothing answers for names here. The bridge refuses at once, where an address without a
        # host would have pods wait; without any, the kubelet warns about every pod.
        "clusterDNS": [str(network.pods[1])],
        "clusterDomain": "cluster.local",
        "podLogsDir": f"{HOME}/pod-logs",
        "volumePluginDir": f"{HOME}/volume-plugins",
        "oomScoreAdj": 0,
        # An image that is removed cannot be pulled again: there is no registry.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "64Mi", "nodefs.available": "1%"},
        # How soon a mounted ConfigMap follows a change: the default is a minute.
        "syncFrequency": "5s",
    }


def kube_proxy(network: Network) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": NODE,
        "clientConnection": {"kubeconfig": f"{CONFIG}/kube-proxy.yaml"},
        "clusterCIDR": str(network.pods),
        "detectLocalMode": "ClusterCIDR",
        "oomScoreAdj": 0,
        # Connection tracking is sized by the machine, not by a namespace.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
