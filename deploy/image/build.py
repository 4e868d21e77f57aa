"""Everything that an image holds beside Python itself, put into a folder.

    python deploy/image/build.py FOLDER [--installed] [--oci LAYOUT [--base IMAGE]]

What the Dockerfile runs, and what needs no container engine: the locked dependencies with their
hashes checked, the program, bytecode of both, and a list of what is in it. Only the standard
library is used, and pip or uv to fetch packages; a layout is written by what makes the images of
the development cluster, which a checkout has beside this.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import sbom

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCK = HERE / "requirements.lock"
PROGRAM = ROOT / "src" / "reroll"
# What Python writes by itself.
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
PLACE = "opt/reroll"
"""Where the folder is in the image."""


def build(folder: Path, *, installed: bool = False, platform: str = "") -> None:
    """`installed`: take packages from the environment that runs this, instead of fetching them.

    `platform` fetches those of another machine, named as uv names it; bytecode is the same on all.
    """
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; name a new folder, or empty it")
    library = folder / "lib"
    library.mkdir(parents=True)
    if installed:
        take_installed(library)
    else:
        install(library, LOCK, platform)
    shutil.copytree(PROGRAM, library / "reroll", ignore=LEFT_OUT)
    shutil.copy(ROOT / "LICENSE", folder)
    forget_installer(library)
    compile_all(library)
    sbom.write(library, version(), folder / "sbom.cdx.json")


def compile_all(library: Path) -> None:
    """By hash and unchecked: the same bytes each time, and nothing to look at when it starts."""
    unchecked = ("-q", "-j", "0", "--invalidation-mode", "unchecked-hash")
    there: tuple[str | Path, ...] = ("-s", library, "-p", f"/{PLACE}/lib")
    # A set of strings that is a constant has the order of their hashes, which change from run to
    # run unless they are fixed.
    fixed = {**os.environ, "PYTHONHASHSEED": "0"}
    command: list[str | Path] = [sys.executable, "-m", "compileall", *unchecked, *there, library]
    if subprocess.run(command, env=fixed, check=False).returncode:
        raise SystemExit(f"{library}: not everything could be compiled; see above")


def forget_installer(library: Path) -> None:
    """Whether uv or pip put a package here is no part of it, and nothing is uninstalled here."""
    for about in library.glob("*.dist-info"):
        for name in ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json"):
            (about / name).unlink(missing_ok=True)


def install(library: Path, lock: Path, platform: str = "", python: str = "") -> None:
    """The packages of the lock file and no others, as wheels: nothing of theirs is run.

    For another platform or another version of Python it takes uv.
    """
    uv = shutil.which("uv")
    other = [f"--python-platform={platform}"] if platform else []
    other += [f"--python-version={python}"] if python else []
    if other and not uv:
        raise SystemExit("packages of another machine are fetched by uv; run `make setup`")
    if uv:
        tool = [uv, "pip", "install", "--quiet", "--link-mode=copy", f"--python={sys.executable}"]
    else:
        tool = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
    checked = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
    once = {**os.environ, "UV_COMPILE_BYTECODE": "0"}
    command = [*tool, *other, *checked, f"--target={library}", f"--requirement={lock}"]
    subprocess.run(command, check=True, env=once)
    shutil.rmtree(library / "bin", ignore_errors=True)  # programs of packages; ours is `-m reroll`
    (library / ".lock").unlink(missing_ok=True)


def take_installed(library: Path, lock: Path = LOCK) -> None:
    """The same packages, from where they are: for a machine without a network."""
    text = lock.read_text(encoding="utf-8")
    for name, wanted, condition in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)( ;)?", text):
        try:
            one = distribution(name)
        except PackageNotFoundError:
            if condition:
                continue  # not for this Python
            raise SystemExit(f"{name} is not installed here; run `make setup`") from None
        if one.version != wanted:
            raise SystemExit(f"{name} is {one.version}, and locked is {wanted}; run `make setup`")
        for file in one.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = library / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), target)


def version() -> str:
    text = (PROGRAM / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    if not found:
        raise SystemExit(f"{PROGRAM}/__init__.py says no version")
    return found[1]


def labels() -> dict[str, str]:
    """Those of the image; the Dockerfile has the same."""
    prefix = "org.opencontainers.image"
    return {
        f"{prefix}.title": "reroll",
        f"{prefix}.description": "Rolls Kubernetes workloads when their configuration changes",
        f"{prefix}.version": version(),
        f"{prefix}.licenses": "Apache-2.0",
        "dev.reroll.sbom": f"/{PLACE}/sbom.cdx.json",
    }


ENVIRONMENT = {
    "PYTHONPATH": f"/{PLACE}/lib",
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}
ENTRYPOINT = ("python3", "-m", "reroll")
CMD = ("run",)
PORTS = (8080, 8081, 8300)
USER = "65532:65532"


def layout(folder: Path, target: Path, base: Path | None) -> None:
    """The folder as an OCI image layout, on top of another one that brings Python."""
    images = imaging()
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        below = images.sources.read(base, Path(work)) if base else images.image.scratch()
        made = on_top(folder, below, Path(work) / "layer", moment=_moment())
        images.image.write_folder(made, target)


def on_top(folder: Path, below: Any, packed: Path, *, moment: int) -> Any:
    """The folder as one layer, which is written to `packed`, on top of another image."""
    images = imaging()
    config = images.image.Config(
        entrypoint=ENTRYPOINT,
        cmd=CMD,
        env=ENVIRONMENT,
        user=USER,
        working_dir="/",
        ports=PORTS,
        labels=labels(),
    )
    blob, content = images.layer.layer(folder, PLACE, packed, moment=moment, packed=True)
    made = below.with_layer(blob, content, moment=moment, by="deploy/image/build.py")
    return made.with_config(config)


def imaging() -> Any:
    """What makes images. The Dockerfile has no such folder, and asks for no layout."""
    source = str(ROOT / "packages" / "reroll-dev" / "src")
    if source not in sys.path:
        sys.path.append(source)
    from reroll_dev import images
    from reroll_dev.images import image, layer, sources  # noqa: F401  as attributes of `images`

    return images


def _moment() -> int:
    """When it was made, where somebody wants to say so: the same sources give the same bytes."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Put what an image holds into a folder.")
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--oci", type=Path, metavar="LAYOUT", help="make an OCI image layout too")
    parser.add_argument(
        "--base", type=Path, metavar="IMAGE", help="an image that brings Python: a layout or a tar"
    )
    parser.add_argument(
        "--installed", action="store_true", help="fetch nothing: take the packages of this Python"
    )
    args = parser.parse_args()
    build(args.folder, installed=args.installed)
    if args.oci:
        layout(args.folder, args.oci, args.base)


if __name__ == "__main__":
    main()
