"""Chromium for Playwright: that of this machine, else the package of Debian, unpacked in our cache.

Nothing is installed. A machine that has neither is told what to install.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reroll_dev import debian
from reroll_dev.progress import progress_on

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PACKAGE = "chromium"
OTHERWISE = "install Chromium: apt-get install chromium"


class Program(NamedTuple):
    path: Path
    env: Mapping[str, str]


def find(env: Mapping[str, str] = os.environ) -> Program:
    """A `DevClusterError` says what to do where there is none."""
    for name in PROGRAMS:
        if found := shutil.which(name, path=env.get("PATH", "")):
            return Program(Path(found), env)
    progress = progress_on(sys.stderr, env=env)
    folder = debian.unpacked(PACKAGE, env=env, progress=progress, otherwise=OTHERWISE)
    libraries = sorted({str(one.parent) for one in folder.rglob("lib*.so*")})
    shown = {"LD_LIBRARY_PATH": ":".join(libraries)}
    return Program(folder / "usr" / "lib" / "chromium" / "chromium", {**env, **shown})
