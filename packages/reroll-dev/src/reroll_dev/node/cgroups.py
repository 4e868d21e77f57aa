"""The cgroups of a node: one parent of its own in every hierarchy, below which the kubelet works.

Version 1, version 2 and both at once. The kernel removes none of them by itself.
"""

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reroll_dev.errors import DevClusterError

MOUNTS = Path("/proc/self/mountinfo")
PATIENCE = 10.0
CONTROLLERS = ("cpu", "cpuset", "hugetlb", "memory", "pids")
"""Those that a kubelet asks for in version 2, where the machine has them."""


def name_of(folder: Path) -> str:
    """Of the parent cgroup of the cluster in this folder."""
    return f"reroll-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"


def hierarchies(mounts: Path = MOUNTS) -> list[Path]:
    """Where cgroups are mounted."""
    lines = [line.split() for line in mounts.read_text().splitlines()]
    points = (
        fields[4] for fields in lines if fields[fields.index("-") + 1] in {"cgroup", "cgroup2"}
    )
    return [Path(point) for point in dict.fromkeys(points)]


def make(name: str) -> None:
    roots = hierarchies()
    for root in roots:
        try:
            if all(map(_is_version_2, roots)):
                _delegate(root)
            folder = root / name
            folder.mkdir(exist_ok=True)
            _inherit(root, folder)
        except OSError as error:
            raise DevClusterError(
                f"cannot make the cgroup {root / name} ({error.strerror}), in which a node has"
                f" its pods; {_advice(error)}"
            ) from error


def _advice(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return (
            "processes are in the topmost cgroup that this container sees, so it can hand nothing"
            " down: move them to one below it, or run it on the machine itself"
        )
    return "run it where cgroups can be written: on the machine itself or in a privileged container"


def left(name: str) -> list[Path]:
    """What there is of it, the innermost first."""
    return [path for root in hierarchies() for path in _below(root / name)]


def remove(name: str) -> None:
    """Remove it everywhere; its processes are gone, or are about to be."""
    deadline = time.monotonic() + PATIENCE
    while folders := left(name):
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()
        if time.monotonic() > deadline:
            raise DevClusterError(
                f"the cgroup {folders[-1]} cannot be removed: a process is still in it or below;"
                " end it (cgroup.procs has its pid) and run `reroll dev down` again"
            )
        time.sleep(0.02)


def _is_version_2(root: Path) -> bool:
    return (root / "cgroup.controllers").exists()


def _delegate(root: Path) -> None:
    """In version 2 a cgroup has the controllers that its parent hands down.

    Beside version 1 it has none that a kubelet asks for.
    """
    there = (root / "cgroup.controllers").read_text().split()
    control = root / "cgroup.subtree_control"
    handed = control.read_text().split()
    for each in CONTROLLERS:
        if each in there and each not in handed:
            control.write_text(f"+{each}")


def _inherit(root: Path, folder: Path) -> None:
    """In version 1 a new cpuset is empty, and takes no process."""
    if _is_version_2(root):
        return
    for file in ("cpuset.cpus", "cpuset.mems"):
        if (folder / file).is_file():
            (folder / file).write_text((root / file).read_text().strip())


def _below(folder: Path) -> Iterator[Path]:
    for path, _, _ in os.walk(folder, topdown=False):
        yield Path(path)
