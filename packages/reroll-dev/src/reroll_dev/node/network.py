"""The addresses of a cluster with a node, and the one link between this machine and the sandbox.

A cluster takes a block of a range that is set aside for tests and routed nowhere: a link network
with this machine at one end and the node at the other, and a network for the pods. The link's name
is the number of the block, so the kernel sees to it that no two clusters take the same one.
"""

import ipaddress
import json
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from reroll_dev.errors import DevClusterError
from reroll_dev.node.cgroups import name_of
from reroll_dev.node.sandbox import Sandbox

RANGE = IPv4Network("198.18.0.0/15")
BLOCKS = tuple(RANGE.subnets(new_prefix=23))
LINK = "reroll"
LINKS = Path("/sys/class/net")
INSIDE = "eth0"
SERVICES = IPv4Network("10.96.0.0/16")


@dataclass(frozen=True, slots=True)
class Network:
    number: int
    """Of the block."""

    @property
    def name(self) -> str:
        """Of the link, on this machine."""
        return f"{LINK}{self.number}"

    @property
    def link(self) -> IPv4Network:
        return next(BLOCKS[self.number].subnets(new_prefix=30))

    @property
    def host(self) -> IPv4Address:
        """The machine, as the node and its pods see it."""
        return self.link[1]

    @property
    def node(self) -> IPv4Address:
        return self.link[2]

    @property
    def pods(self) -> IPv4Network:
        return list(BLOCKS[self.number].subnets(new_prefix=24))[1]

    @property
    def server_addresses(self) -> tuple[str, ...]:
        """Where the API server is called: at this end of the link, and as the first Service."""
        return (str(self.host), str(SERVICES[1]))

    @classmethod
    def of_host(cls, address: str) -> "Network | None":
        """The one in which this machine has that address."""
        networks = (cls(number) for number in range(len(BLOCKS)))
        return next((each for each in networks if str(each.host) == address), None)


def connect(sandbox: Sandbox, folder: Path) -> Network:
    """Join the sandbox to this machine, in a block that nothing here uses."""
    for network in _candidates(folder):
        if _add_link(network, sandbox):
            _configure(network, sandbox, name_of(folder))
            return network
    raise DevClusterError(
        f"this machine uses every address of {RANGE}, of which a node needs"
        f" {BLOCKS[0].num_addresses}; end other clusters with `reroll dev down`"
    )


def disconnect(folder: Path) -> None:
    """Remove the link of the cluster in this folder, if it is there.

    It goes with the sandbox anyway, but the kernel takes its time.
    """
    for alias in LINKS.glob(f"{LINK}*/ifalias"):
        with suppress(OSError):
            if alias.read_text().strip() == name_of(folder):
                _run_ip(("link", "delete", alias.parent.name))


def _candidates(folder: Path) -> Iterator[Network]:
    """Blocks that no route leads to; a cluster that starts again gets its old one if it can."""
    used = list(_destinations(_ip("-json", "-4", "route", "show", "table", "all")))
    first = zlib.crc32(str(folder).encode())
    for offset in range(len(BLOCKS)):
        network = Network((first + offset) % len(BLOCKS))
        if not any(BLOCKS[network.number].overlaps(each) for each in used):
            yield network


def _destinations(routes: str) -> Iterator[IPv4Network]:
    for route in json.loads(routes or "[]"):
        if route["dst"] != "default":
            network = ipaddress.ip_network(route["dst"], strict=False)
            if isinstance(network, IPv4Network):
                yield network


def _add_link(network: Network, sandbox: Sandbox) -> bool:
    """Whether the block is ours now: another cluster may have been quicker."""
    ends = ("veth", "peer", "name", INSIDE, "netns", str(sandbox.init))
    finished = _run_ip(("link", "add", network.name, "type", *ends))
    if finished.returncode and "File exists" in finished.stderr:
        return False
    _check(finished)
    return True


def _configure(network: Network, sandbox: Sandbox, alias: str) -> None:
    length = network.link.prefixlen
    _ip("addr", "add", f"{network.host}/{length}", "dev", network.name)
    _ip("link", "set", network.name, "alias", alias, "up")
    sandbox.run("ip", "link", "set", "lo", "up")
    sandbox.run("ip", "addr", "add", f"{network.node}/{length}", "dev", INSIDE)
    sandbox.run("ip", "link", "set", INSIDE, "up")
    sandbox.run("ip", "route", "add", "default", "via", str(network.host))
    _ip("route", "add", str(network.pods), "via", str(network.node), "dev", network.name)


def _ip(*arguments: str) -> str:
    return _check(_run_ip(arguments))


def _run_ip(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)


def _check(finished: subprocess.CompletedProcess[str]) -> str:
    if finished.returncode:
        command = " ".join(map(str, finished.args))
        raise DevClusterError(f"`{command}` failed: {finished.stderr.strip()}")
    return finished.stdout
