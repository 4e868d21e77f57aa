"""The Python distributions: a wheel and a source archive of each."""

import sys
from pathlib import Path

from deploy.release.plan import ROOT, Release, run

PROJECTS = (ROOT, ROOT / "packages" / "reroll-dev")


def build(release: Release) -> None:
    """By the locked build backend, so nothing is fetched."""
    uv = Path(sys.executable).with_name("uv")
    options = ("--no-build-isolation", "--offline", "--python", sys.executable, "--quiet")
    for project in PROJECTS:
        for kind in ("--wheel", "--sdist"):
            command: list[str | Path] = [uv, "build", kind, *options, "-o", release.folder, project]
            run(command, env=release.environment)
    (release.folder / ".gitignore").unlink(missing_ok=True)
