"""The packages that the program needs, for this machine or others: what deploy/image installs."""

import sys
from types import ModuleType

from deploy.release.plan import ROOT

MACHINES = {
    ("linux", "amd64"): "x86_64-manylinux_2_28",
    ("linux", "arm64"): "aarch64-manylinux_2_28",
    ("darwin", "amd64"): "x86_64-apple-darwin",
    ("darwin", "arm64"): "aarch64-apple-darwin",
}
"""System and architecture, as Kubernetes and images name them; and as uv does."""


def scripts() -> ModuleType:
    """deploy/image/build.py, which stands alone: the Dockerfile runs it."""
    folder = str(ROOT / "deploy" / "image")
    if folder not in sys.path:
        sys.path.append(folder)
    import build

    return build
