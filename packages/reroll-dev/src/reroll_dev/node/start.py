"""The start of a node, in two halves around that of the control plane.

Before: the sandbox and its link, because the API server listens at this end of it, and containerd,
because it takes its time. After: kubelet and kube-proxy, until the node is Ready.
"""

import json
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from reroll_dev import readiness
from reroll_dev.access import KUBELET, NODE, PROXY
from reroll_dev.api import Api, path_to
from reroll_dev.errors import DevClusterError
from reroll_dev.layout import Layout
from reroll_dev.node import cgroups, configs, images
from reroll_dev.node.network import Network, connect
from reroll_dev.node.programs import CONTAINERD, SANDBOX, bound, command
from reroll_dev.node.sandbox import Sandbox, environment, holder
from reroll_dev.processes import Process

PROBE = {
    "nodeSelector": {"kubernetes.io/hostname": NODE},
    "automountServiceAccountToken": False,
    "containers": [{"name": "pause", "image": configs.PAUSE}],
}
"""A pod that runs on the node with what every node has."""
PORTS = {KUBELET.name: 10250, PROXY.name: 10256}
"""Where they listen once they work."""


class Starter(Protocol):
    """The start of a cluster, as far as a node needs it."""

    @property
    def layout(self) -> Layout: ...

    @property
    def binaries(self) -> Mapping[str, Path]: ...

    def check(self) -> None:
        """Raise if a process died."""

    def spawn(
        self, name: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a process of the cluster."""

    def withdraw(self, name: str, *, grace: float) -> None:
        """End one, so that it is none of the cluster's any more."""


def begin(start: Starter) -> Network:
    """Everything of a node that needs no API server."""
    layout = start.layout
    for name in ("bin", "config", "cni", "temporary"):
        (layout.node / name).mkdir(parents=True, mode=0o700)
    cgroups.make(cgroups.name_of(layout.folder))
    program = start.binaries[SANDBOX]
    (layout.node / "sandbox").symlink_to(program)
    # runc starts from an overlay of its own folder, which does not show what is mounted in it.
    shutil.copy(start.binaries["runc"], layout.node / "bin")
    ready = layout.node / "init.pid"
    start.spawn(SANDBOX, holder(program, ready, layout.node, bound(start.binaries)))
    readiness.until(ready.is_file, what="the start of the node's sandbox", check=start.check)
    sandbox = sandbox_of(layout)
    network = connect(sandbox, layout.folder)
    _write(layout, network)
    images.write_pause(program, layout.node / "pause.tar")
    launch(start, CONTAINERD, network)
    return network


def finish(start: Starter, network: Network, api: Api) -> None:
    """Have the node join the cluster, until pods can run on it."""
    layout = start.layout
    for source in (
        layout.ca,
        *(layout.pki / f"{KUBELET.name}.{kind}" for kind in ("crt", "key")),
        *(layout.kubeconfig(identity.name) for identity in (KUBELET, PROXY)),
    ):
        shutil.copy(source, layout.node / "config")
    wait_for(start, CONTAINERD, network)
    images.load(sandbox_of(layout), layout.node / "pause.tar")
    for name in (KUBELET.name, PROXY.name):
        launch(start, name, network)
    readiness.until(
        lambda: readiness.has(
            api, path_to("Node", NODE), lambda seen: readiness.condition(seen, "Ready")
        ),
        what=f"the node {NODE} becoming Ready",
        check=start.check,
    )


def launch(start: Starter, name: str, network: Network) -> None:
    """Start one of the processes in the sandbox."""
    inside = sandbox_of(start.layout).command(*command(name, network))
    start.spawn(name, inside, env=environment())


def wait_for(start: Starter, name: str, network: Network) -> None:
    """Wait until the process does its work."""
    sandbox = sandbox_of(start.layout)

    def is_ready() -> bool:
        if port := PORTS.get(name):
            return _listens(str(network.node), port)
        return _has_images(sandbox)

    readiness.until(is_ready, what=f"the start of {name}", check=start.check)


def sandbox_of(layout: Layout) -> Sandbox:
    """The sandbox of a cluster that runs."""
    init = int((layout.node / "init.pid").read_text())
    return Sandbox((layout.node / "sandbox").readlink(), init)


def _write(layout: Layout, network: Network) -> None:
    config = layout.node / "config"
    (config / "containerd.toml").write_text(configs.containerd(_filesystem(layout.node)))
    files: dict[Path, Mapping[str, Any]] = {
        layout.node / "cni" / "10-pods.conflist": configs.cni(network),
        config / "kubelet.config": configs.kubelet(cgroups.name_of(layout.folder), network),
        config / "kube-proxy.config": configs.kube_proxy(network),
    }
    for path, content in files.items():
        path.write_text(json.dumps(content, indent=2))


def _filesystem(folder: Path) -> str:
    """Its kind; empty if that cannot be known."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            return fields[fields.index("-") + 1]
    return ""


def _listens(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def _has_images(sandbox: Sandbox) -> bool:
    try:
        images.names(sandbox)
    except DevClusterError:
        return False
    return True
