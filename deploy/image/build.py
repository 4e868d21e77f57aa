"""Everything that an image holds beside Python itself, put into a folder.

    python deploy/image/build.py FOLDER [--installed] [--oci LAYOUT [--base LAYOUT]]

What the Dockerfile runs, and what needs no container engine: the locked dependencies with their
hashes checked, the program, bytecode of both, and a list of what is in it. Only the standard
library is used, and pip or uv to fetch packages.
"""

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import oci
import sbom

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCK = HERE / "requirements.lock"
PROGRAM = ROOT / "src" / "reroll"
# What Python writes by itself.
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
PLACE = "opt/reroll"
"""Where the folder is in the image."""


def build(folder: Path, *, installed: bool = False) -> None:
    """`installed`: take packages from the environment that runs this, instead of fetching them."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; name a new folder, or empty it")
    library = folder / "lib"
    library.mkdir(parents=True)
    if installed:
        take_installed(library)
    else:
        install(library, LOCK)
    shutil.copytree(PROGRAM, library / "reroll", ignore=LEFT_OUT)
    shutil.copy(ROOT / "LICENSE", folder)
    # By hash and unchecked: the same bytes each time, and nothing to look at when it starts.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    there = {"stripdir": str(library), "prependdir": f"/{PLACE}/lib"}
    if not compileall.compile_dir(library, quiet=1, workers=0, invalidation_mode=mode, **there):
        raise SystemExit(f"{library}: not everything could be compiled; see above")
    sbom.write(library, version(), folder / "sbom.cdx.json")


def install(library: Path, lock: Path) -> None:
    """The packages of the lock file and no others, as wheels: nothing of theirs is run."""
    uv = shutil.which("uv")
    if uv:
        tool = [uv, "pip", "install", "--quiet", "--link-mode=copy", f"--python={sys.executable}"]
    else:
        tool = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
    checked = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
    once = {**os.environ, "UV_COMPILE_BYTECODE": "0"}
    command = [*tool, *checked, f"--target={library}", f"--requirement={lock}"]
    subprocess.run(command, check=True, env=once)
    shutil.rmtree(library / "bin", ignore_errors=True)  # programs of packages; ours is `-m reroll`
    (library / ".lock").unlink(missing_ok=True)


def take_installed(library: Path) -> None:
    """The same packages, from where they are: for a machine without a network."""
    lock = LOCK.read_text(encoding="utf-8")
    for name, wanted, condition in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)( ;)?", lock):
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
ENTRYPOINT = ["python3", "-m", "reroll"]
USER = "65532:65532"


def layout(folder: Path, target: Path, base: Path | None) -> None:
    """The folder as an OCI image layout, on top of another one that brings Python."""
    told = {
        "Env": [f"{key}={value}" for key, value in ENVIRONMENT.items()],
        "Entrypoint": ENTRYPOINT,
        "User": USER,
        "WorkingDir": "/",
        "Labels": labels(),
    }
    oci.write(folder, PLACE, target, config=told, base=base, moment=_moment())


def _moment() -> int:
    """When it was made, where somebody wants to say so: the same sources give the same bytes."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Put what an image holds into a folder.")
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--oci", type=Path, metavar="LAYOUT", help="make an OCI image layout too")
    parser.add_argument("--base", type=Path, metavar="LAYOUT", help="a layout that brings Python")
    parser.add_argument(
        "--installed", action="store_true", help="fetch nothing: take the packages of this Python"
    )
    args = parser.parse_args()
    build(args.folder, installed=args.installed)
    if args.oci:
        layout(args.folder, args.oci, args.base)


if __name__ == "__main__":
    main()
