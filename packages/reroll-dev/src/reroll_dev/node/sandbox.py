"""The sandbox from outside: programs run in it, and paths as it sees them.

Inside, the node's folder is /run/node and its programs are in /run/bin, wherever they lie on this
machine.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reroll_dev.errors import DevClusterError

HOME = "/run/node"
PROGRAMS = "/run/bin"
PLUGINS = f"{PROGRAMS}/cni"
PATH = f"{PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Sandbox:
    program: Path
    init: int
    """The pid of its first process, as this machine sees it."""

    def command(self, *arguments: str) -> list[str]:
        """What runs a program inside, from outside."""
        return [str(self.program), "join", str(self.init), *arguments]

    def run(self, *arguments: str, stdin: BinaryIO | None = None) -> str:
        """Run a program inside to its end; its output."""
        finished = subprocess.run(
            self.command(*arguments),
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=environment(),
        )
        if finished.returncode:
            words = finished.stderr.decode(errors="replace").strip()[-2000:]
            raise DevClusterError(f"`{' '.join(arguments)}` failed on the node: {words}")
        return finished.stdout.decode(errors="replace")


def environment() -> Mapping[str, str]:
    return {"PATH": PATH, "HOME": HOME, "TMPDIR": f"{HOME}/temporary", "LANG": "C.UTF-8"}


def holder(program: Path, ready: Path, folder: Path, programs: Mapping[str, Path]) -> list[str]:
    """What makes a sandbox and holds it; the pid of its init is in `ready` once it can be used."""
    bound = [f"{name}={path}" for name, path in programs.items()]
    return [str(program), "run", str(ready), str(folder), *bound]
