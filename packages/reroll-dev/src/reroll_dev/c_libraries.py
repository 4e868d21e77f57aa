"""A C library for the one Go program that needs one: this machine's, or out of a Debian package.

The library is linked statically where it comes from a package, so the program runs without it.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from reroll_dev import debian
from reroll_dev.commands import run
from reroll_dev.errors import DevClusterError
from reroll_dev.progress import Progress

TOOLS = ("gcc", "pkg-config")
PACKAGES = {"libseccomp": "libseccomp-dev"}


def missing_tools(env: Mapping[str, str]) -> list[str]:
    return [tool for tool in TOOLS if not shutil.which(tool, path=env.get("PATH", ""))]


def is_installed(library: str, env: Mapping[str, str]) -> bool:
    return run(["pkg-config", "--exists", library], folder=Path("/"), env=env).code == 0


def settings(
    library: str, *, env: Mapping[str, str], progress: Progress, otherwise: str
) -> dict[str, str]:
    """The variables with which Go links against the library; `otherwise` is what a user can do."""
    if missing := missing_tools(env):
        raise DevClusterError(
            f"building against {library} takes {' and '.join(missing)}; install"
            f" {'them' if missing[1:] else 'it'} (on Debian: apt-get install"
            f" {' '.join(missing)}), or {otherwise}"
        )
    enabled = {"CGO_ENABLED": "1"}
    if is_installed(library, env):
        return enabled
    package = PACKAGES[library]
    folder = debian.unpacked(package, env=env, progress=progress, otherwise=otherwise)
    description = next(folder.glob(f"usr/lib/*/pkgconfig/{library}.pc"))
    return {
        **enabled,
        "PKG_CONFIG_PATH": str(description.parent),
        "PKG_CONFIG_SYSROOT_DIR": str(folder),
    }
