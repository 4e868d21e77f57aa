"""The programs of a node: their names in the sandbox, and how they are started."""

from collections.abc import Mapping
from pathlib import Path

from reroll_dev.access import KUBELET, NODE, PROXY
from reroll_dev.binaries import NODE as NAMES
from reroll_dev.node import nft
from reroll_dev.node.configs import CONFIG, RUNS_CONTAINERS
from reroll_dev.node.network import Network
from reroll_dev.node.sandbox import HOME, PROGRAMS

SANDBOX, CONTAINERD = "node-sandbox", "containerd"
INSIDE = (CONTAINERD, KUBELET.name, PROXY.name)
"""The processes in the sandbox, in the order of their start."""
PROCESSES = (SANDBOX, *INSIDE)
PLUGIN = "cni-"


def bound(binaries: Mapping[str, Path]) -> dict[str, Path]:
    """What the sandbox gets below its folder of programs, plugins in a folder of their own."""
    within = (*NAMES, *nft.NAMES)
    return {
        name.replace(PLUGIN, "cni/", 1): path for name, path in binaries.items() if name in within
    }


def command(name: str, network: Network) -> list[str]:
    """How one of the processes is started inside."""
    options = {
        CONTAINERD: (f"--config={CONFIG}/containerd.toml",),
        KUBELET.name: (
            f"--config={CONFIG}/kubelet.config",
            f"--kubeconfig={CONFIG}/{KUBELET.name}.yaml",
            f"--root-dir={HOME}/kubelet",
            f"--cert-dir={HOME}/kubelet/pki",
            f"--node-ip={network.node}",
            f"--hostname-override={NODE}",
            f"--node-labels={RUNS_CONTAINERS}=true",
        ),
        PROXY.name: (f"--config={CONFIG}/kube-proxy.config",),
    }
    return [f"{PROGRAMS}/{name}", *options[name]]
