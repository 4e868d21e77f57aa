"""The real node of a cluster that is up: its address, its images, its processes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from reroll_dev.errors import DevClusterError
from reroll_dev.layout import Layout
from reroll_dev.node import images
from reroll_dev.node.network import Network
from reroll_dev.node.programs import INSIDE
from reroll_dev.node.sandbox import Sandbox
from reroll_dev.node.start import Starter, launch, sandbox_of, wait_for

GRACE = 10.0

Change = Callable[[str], AbstractContextManager[Starter]]
"""Called with a purpose, lets the cluster's processes be changed, with its lock held."""


class Node:
    def __init__(self, layout: Layout, network: Network, change: Change) -> None:
        self._layout = layout
        self._change = change
        self.network = network

    @property
    def address(self) -> str:
        """Where this machine reaches its kubelet, and the node ports of Services."""
        return str(self.network.node)

    @property
    def sandbox(self) -> Sandbox:
        return sandbox_of(self._layout)

    def load_image(self, tar: Path) -> None:
        """Give it the images of a tar file, a docker-archive or an OCI layout."""
        images.load(self.sandbox, tar)

    def images(self) -> tuple[str, ...]:
        """The names of all that it has."""
        return images.names(self.sandbox)

    def stop(self, name: str) -> None:
        """End containerd, kubelet or kube-proxy; containers go on."""
        _check_name(name)
        with self._change(f"stopping {name}") as starter:
            starter.withdraw(name, grace=GRACE)

    def start(self, name: str) -> None:
        """Start again what was stopped."""
        _check_name(name)
        with self._change(f"starting {name}") as starter:
            launch(starter, name, self.network)
            wait_for(starter, name, self.network)


def _check_name(name: str) -> None:
    if name not in INSIDE:
        raise DevClusterError(f"a node has no process {name!r}; it has {', '.join(INSIDE)}")
