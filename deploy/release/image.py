"""The image as an OCI layout in a tar: by buildx from the Dockerfile, or without an engine.

Without an engine, an architecture is there if a base with Python is: those of `--base`, and for
this machine the base that is made of its own Python.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from deploy.release.contents import MACHINES, scripts
from deploy.release.plan import Release, run

from reroll_dev.errors import DevClusterError
from reroll_dev.images import sources
from reroll_dev.images.image import Image, architecture, write_tar
from reroll_dev.images.made import made
from reroll_dev.progress import progress_on

ARCHITECTURES = ("amd64", "arm64")


def build(release: Release) -> list[str]:
    """Sentences about what could not be made."""
    target = release.folder / f"reroll-{release.version}-image.tar"
    if release.builder == "buildx":
        _buildx(release, target)
        return []
    images, missing = [], []
    with tempfile.TemporaryDirectory(dir=release.folder.parent) as place:
        for machine in ARCHITECTURES:
            work = Path(place) / machine
            work.mkdir()
            below = _base(release, machine, work)
            if below is None:
                missing.append(_sentence(machine))
            else:
                images.append(_image(release, machine, below, work))
        if not images:
            raise SystemExit("; ".join(missing))
        write_tar(images, f"{release.image}:{release.version}", target)
    return missing


def _buildx(release: Release, target: Path) -> None:
    if not shutil.which("docker"):
        raise SystemExit("docker with buildx is not on PATH; leave out BUILDER=buildx")
    platforms = ",".join(f"linux/{machine}" for machine in ARCHITECTURES)
    command: list[str | Path] = [
        *("docker", "buildx", "build", "--platform", platforms),
        *("--build-arg", f"VERSION={release.version}"),
        *("--tag", f"{release.image}:{release.version}"),
        # Provenance is attested of what is pushed; here it would be one more manifest.
        *("--provenance=false", "--sbom=false"),
        *("--output", f"type=oci,dest={target},rewrite-timestamp=true"),
        ".",
    ]
    run(command, env=release.environment)


def _base(release: Release, machine: str, work: Path) -> Image | None:
    """An image with Python for that architecture, if there is one."""
    if release.base:
        try:
            found = sources.read(release.base, work, machine)
        except DevClusterError:
            if not release.base.exists():
                raise
            return None
        return found if found.config["architecture"] == machine else None
    if machine != architecture():
        return None
    return sources.read(
        made("python", env=os.environ, progress=progress_on(sys.stderr, env=os.environ)), work
    )


def _image(release: Release, machine: str, below: Image, work: Path) -> Image:
    own = machine == architecture()
    build = scripts()
    platform = "" if own else MACHINES["linux", machine]
    build.build(work / "content", installed=release.installed and own, platform=platform)
    found: Image = build.on_top(work / "content", below, work / "layer", moment=release.moment)
    return found


def _sentence(machine: str) -> str:
    return (
        f"linux/{machine} is not in the image: there is no base with Python for it here; "
        "name an OCI layout that has one (BASE=…), or build with docker (BUILDER=buildx)"
    )
