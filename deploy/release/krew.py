"""`kubectl reroll` for krew: an archive for each platform, and the manifest that names them.

An archive holds the program, its packages for several versions of Python side by side, and a
launcher: their compiled parts have the version in their names.
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml
from deploy.release import archives, checksums
from deploy.release.contents import MACHINES, scripts
from deploy.release.plan import ROOT, Release

from reroll_dev.images.image import architecture

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLUGIN = "reroll"
"""What krew knows it by: in its index the manifest is called so too."""
PROGRAM = f"kubectl-{PLUGIN}"
LOCK = Path(__file__).with_name("requirements.lock")
"""Without what the webhook needs: no command does, and not every platform has it."""
LAUNCHER = Path(__file__).with_name("launcher.py")
MANIFEST = "krew-reroll.yaml"

Platform = tuple[str, str]
Files = dict[str, tuple[int, bytes]]


def build(release: Release) -> None:
    rows = []
    for platform in _platforms(release):
        path = release.folder / f"{PROGRAM}-{release.version}-{'-'.join(platform)}.tar.gz"
        archives.write(_files(release, platform), path, moment=release.moment)
        rows.append(platform_row(release, platform, path))
    text = yaml.safe_dump(manifest(release, rows), sort_keys=False, width=100)
    (release.folder / MANIFEST).write_text(text, encoding="utf-8")


def _platforms(release: Release) -> list[Platform]:
    return [(sys.platform, architecture())] if release.installed else [*MACHINES]


def manifest(release: Release, rows: list[dict[str, object]]) -> dict[str, object]:
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "version": release.tag,
            "homepage": release.repository,
            "shortDescription": "Roll workloads when their config changes",
            "description": (
                "Says which workloads run stale configuration and why (explain, audit, plan,\n"
                "history, graph), and rolls them (sync, restart), with a controller or without.\n"
            ),
            "caveats": f"Needs Python on the PATH, one of {', '.join(_pythons(release))}.\n",
            "platforms": rows,
        },
    }


def platform_row(release: Release, platform: Platform, path: Path) -> dict[str, object]:
    system, machine = platform
    return {
        "selector": {"matchLabels": {"os": system, "arch": machine}},
        "uri": f"{release.downloads}/{path.name}",
        "sha256": checksums.digest(path),
        "bin": PROGRAM,
    }


def _pythons(release: Release) -> tuple[str, ...]:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (here,) if release.installed else PYTHONS


def _files(release: Release, platform: Platform) -> Files:
    build = scripts()
    found: Files = {}
    for python in _pythons(release):
        with tempfile.TemporaryDirectory() as place:
            library = Path(place)
            if release.installed:
                build.take_installed(library, LOCK)
            else:
                build.install(library, LOCK, MACHINES[platform], python)
            build.forget_installer(library)
            _merge(found, archives.of_folder(library))
    program = archives.of_folder(ROOT / "src" / "reroll")
    found |= {f"reroll/{name}": file for name, file in program.items() if ".pyc" not in name}
    return {
        **{f"lib/{name}": file for name, file in found.items()},
        "LICENSE": (0o644, (ROOT / "LICENSE").read_bytes()),
        PROGRAM: (0o755, _launcher(_pythons(release)).encode()),
    }


def _merge(found: Files, more: Mapping[str, tuple[int, bytes]]) -> None:
    """Beside each other: a file that two versions of Python need is the same for both."""
    for name, file in more.items():
        if name.endswith(".dist-info/WHEEL"):
            continue  # says which machine it was made for
        if found.setdefault(name, file) != file:
            raise SystemExit(f"{name} is not the same for every version of Python in the archive")


def _launcher(pythons: tuple[str, ...]) -> str:
    rows = ", ".join(f"({text.replace('.', ', ')})" for text in pythons)
    text = LAUNCHER.read_text(encoding="utf-8")
    return re.sub(r"(?m)^PYTHONS = .*$", f"PYTHONS = ({rows},)", text)
