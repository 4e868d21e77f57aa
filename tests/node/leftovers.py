"""What a node may leave on a machine, as facts that are compared before and after."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from reroll_dev import processes
from reroll_dev.cluster import DevCluster
from reroll_dev.node import cgroups, nft

NAMESPACES = ("ipc", "mnt", "net", "pid", "uts")
# Where the programs of a node write if they are not told otherwise.
PLACES = (
    "/etc/cni",
    "/etc/containerd",
    "/opt/cni",
    "/opt/containerd",
    "/run/containerd",
    "/run/netns",
    "/usr/libexec/kubernetes",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
SETTINGS = (
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


def machine() -> Mapping[str, object]:
    """What the node must never change, while it runs and after."""
    return {
        "places": {place: Path(place).exists() for place in PLACES},
        "settings": {name: Path("/proc/sys", name).read_text() for name in SETTINGS},
        "rules": rules(),
    }


def rules() -> str:
    """The packet filter of this machine."""
    found = nft.find(os.environ) or {}
    root = found.get(nft.ROOT)
    program = root / "usr/sbin/nft" if root else found[nft.NFT]
    folders = sorted({path.parent for path in root.rglob("lib*.so.*")}) if root else []
    env = {"LD_LIBRARY_PATH": ":".join(map(str, folders))}
    command = [program, "list", "ruleset"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def members(init: int) -> set[tuple[int, int | None]]:
    """The processes in the namespaces of a sandbox, each with the time of its start.

    The namespaces themselves cannot be recognized later: the kernel uses their numbers again.
    """
    own = _namespaces(init) - _namespaces(os.getpid())
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {(pid, processes.start_time(pid)) for pid in numbers if _namespaces(pid) & own}


def _namespaces(pid: int) -> set[str]:
    """Those of a process; empty if it is gone."""
    try:
        return {str(Path(f"/proc/{pid}/ns/{name}").readlink()) for name in NAMESPACES}
    except OSError:
        return set()


def of_cluster(cluster: DevCluster, inside: set[tuple[int, int | None]]) -> dict[str, object]:
    """What there is of a cluster on this machine; `inside` were the processes of its sandbox."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    alias = cgroups.name_of(cluster.folder)
    every = {
        "processes": [each.name for each in processes.strays(cluster.folder)],
        "in its sandbox": [pid for pid, start in inside if processes.start_time(pid) == start],
        "mounts": [line for line in mounts if str(cluster.folder) in line],
        "links": [link for link in _links() if link.get("ifalias") == alias],
        "cgroups": cgroups.left(alias),
        "files": sorted(entry.name for entry in cluster.folder.iterdir())
        if cluster.folder.is_dir()
        else [],
    }
    return {name: found for name, found in every.items() if found}


def _links() -> list[dict[str, object]]:
    shown = subprocess.run(["ip", "-json", "link"], capture_output=True, text=True, check=True)
    links: list[dict[str, object]] = json.loads(shown.stdout)
    return links
