"""What a machine needs for a real node: each with the sentence for those who lack it.

Only what is asked before anything is built or started: a kernel that lacks something rarer says so
in the log of the program that wanted it.
"""

import os
import platform
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from reroll_dev import binaries, c_libraries, debian
from reroll_dev.errors import DevClusterError
from reroll_dev.node import cgroups, nft

CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21}
PROC = Path("/proc")
MODULES = Path("/lib/modules")

Env = Mapping[str, str]


def missing(env: Env) -> list[str]:
    """What this machine lacks, one sentence each; the first may be the reason of the others."""
    if sentence := _other_system() or _no_rights():
        return [sentence]
    return [sentence for check in CHECKS if (sentence := check(env))]


def require(env: Env) -> None:
    if sentences := missing(env):
        raise DevClusterError("; ".join(sentences))


def _other_system() -> str:
    system = platform.system()
    if system == "Linux":
        return ""
    return f"a real node needs Linux, and this is {system}: use a Linux machine or a virtual one"


def _no_rights() -> str:
    if os.geteuid() != 0:
        return (
            "a real node needs root, and this is the user with the id"
            f" {os.geteuid()}: run it as root (sudo -E), or leave --node out"
        )
    status = (PROC / "self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    lacking = [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]
    if not lacking:
        return ""
    return (
        f"root lacks {', '.join(lacking)} here, which a real node needs: run it on the machine"
        " itself, or in a container with --privileged"
    )


def _no_ip(env: Env) -> str:
    if shutil.which("ip", path=env.get("PATH", "")):
        return ""
    return "the command ip is not on PATH: install iproute2 (on Debian: apt-get install iproute2)"


def _no_nft(env: Env) -> str:
    if nft.on_path(env) or debian.is_available(env):
        return ""
    return f"the command nft is not there, and no apt-get to fetch it: {nft.OTHERWISE}"


def _no_overlay(_env: Env) -> str:
    """Where it is a module, the kernel loads it for the first one who mounts it."""
    modules = MODULES / platform.release() / "modules.dep"
    is_module = modules.is_file() and "/overlay.ko" in modules.read_text()
    if is_module or "overlay" in (PROC / "filesystems").read_text().split():
        return ""
    return (
        "this kernel has no overlay file system: load its module (modprobe overlay), or use a"
        " kernel that has it"
    )


def _no_cgroups(_env: Env) -> str:
    roots = cgroups.hierarchies()
    if roots and all(os.access(root, os.W_OK) for root in roots):
        return ""
    return (
        "/sys/fs/cgroup cannot be written: run it on the machine itself, or in a container with"
        " --privileged"
    )


def _no_compiler(env: Env) -> str:
    tools = c_libraries.missing_tools(env)
    if not tools or binaries.find(["runc"], env=env)["runc"]:
        return ""
    return (
        f"runc is not built yet, and building it takes {' and '.join(tools)}: install"
        f" {'them' if tools[1:] else 'it'} (on Debian: apt-get install {' '.join(tools)})"
    )


CHECKS: tuple[Callable[[Env], str], ...] = (
    _no_ip,
    _no_nft,
    _no_overlay,
    _no_cgroups,
    _no_compiler,
)
