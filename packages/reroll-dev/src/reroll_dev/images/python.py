"""A base image with Python, made from the Python of this machine: no registry is asked.

The interpreter keeps its path, so that what was built into it holds; `python3` on the PATH leads to
it. Beside it: its standard library with bytecode, pip, the libraries that it and most packages
need, certificates, time zones, and a shell with a few tools.
"""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reroll_dev.errors import DevClusterError
from reroll_dev.images.image import Config
from reroll_dev.images.machine import Folder, Link, Plan, libraries

CONFIG = Config(
    cmd=("python3",),
    env={
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
    },
    working_dir="/",
)
_FACTS = """
import json, os, ssl, sys, sysconfig
print(json.dumps([
    os.path.realpath(sys.executable), sysconfig.get_path("stdlib"),
    sysconfig.get_path("platstdlib"), sysconfig.get_path("purelib"),
    ssl.get_default_verify_paths().openssl_cafile,
]))
"""
# Of the standard library: what tests it, what needs a screen, what installs pip, what links
# programs; packages; and what says that a distribution looks after them.
_LEFT_OUT = re.compile(
    r"__pycache__|tests?|idle_test|idlelib|tkinter|turtle(demo|\.py)|ensurepip|config-\d.*|"
    r"(site|dist)-packages|EXTERNALLY-MANAGED|(_tkinter|_test\w*|_ctypes_test|xx\w*)\..*so|.*\.a"
)
_ZONES_LEFT_OUT = re.compile(r"posix|right|.*\.(list|tab|zi)|leap.*|localtime|posixrules")
_TOOLS = (
    *("sh", "env", "cat", "sleep", "ls", "rm", "mkdir", "cp", "mv", "ln", "chmod", "id", "date"),
    *("head", "tail", "touch", "true", "false", "echo", "grep", "sed", "hostname"),
)
# Loaded by name when they are first needed, or by packages that were built for any Linux: those may
# count on the parts of the C library that newer ones have in one file, and on that of C++.
_EXPECTED = (
    *("libgcc_s.so.1", "libstdc++.so.6", "libnss_dns.so.2", "libnss_files.so.2"),
    *("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6", "libresolv.so.2"),
)
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_BUNDLE = Path(_BUNDLES[0])
_FILES: dict[str, bytes | Folder] = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n"
    b"nonroot:x:65532:65532:nonroot:/nonexistent:/bin/sh\n"
    b"nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
    "etc/group": b"root:x:0:\nnonroot:x:65532:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    **{name: Folder() for name in ("dev", "proc", "root", "run", "sys", "usr/local/bin")},
    "tmp": Folder(0o1777),
}


@dataclass(frozen=True, slots=True)
class Python:
    """Where the parts of a Python are."""

    program: Path
    stdlib: Path
    platstdlib: Path
    packages: Path
    cafile: Path


def this_python() -> Python:
    """The one that runs this; of a virtual environment, the one that it was made of."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.base_prefix, "bin", version)
    if not program.exists():
        program = Path(sys.executable).resolve()
    command: list[str | Path] = [program, "-I", "-S", "-c", _FACTS]
    done = subprocess.run(command, env={}, text=True, capture_output=True, check=False)
    if done.returncode:
        raise DevClusterError(
            f"{program} does not start by itself: {done.stderr.strip()}; use another Python"
        )
    return Python(*map(Path, json.loads(done.stdout)))


def plan(python: Python) -> Plan:
    found = Plan()
    for folder in {python.stdlib, python.platstdlib}:
        found.add_tree(folder, left_out=_LEFT_OUT)
    tools = [Path(place) for name in _TOOLS if (place := shutil.which(name, path="/bin:/usr/bin"))]
    modules = (python.platstdlib / "lib-dynload").glob("*.so")
    loaded = [python.program, *tools, *(path for path in modules if _is_in(found, path))]
    needed = libraries(loaded)
    beside = {path.parent for path in needed}
    needed += [folder / name for folder in beside for name in _EXPECTED]
    # Where it lies beside the interpreter's own, the loader is told by its cache.
    wanted = [
        python.program,
        *tools,
        *needed,
        Path("/etc/ld.so.cache"),
        Path("/etc/ssl/openssl.cnf"),
    ]
    for path in wanted:
        if path.exists():
            found.add(path)
    _add_pip(found, python.packages)
    _add_data(found, python)
    return found


def carry_out(plan: Plan, python: Python, root: Path) -> None:
    """Make the file system of the image in the new folder `root`."""
    plan.carry_out(root)
    options = ("-qq", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/")
    places = [root / str(place)[1:] for place in (python.stdlib, python.packages)]
    # Sets that are constants have the order of their hashes; a module that is a template for
    # another language cannot be compiled, and is none of ours.
    env = {"PYTHONHASHSEED": "0"}
    command: list[str | Path] = [python.program, "-P", "-m", "compileall", *options, *places]
    subprocess.run(command, env=env, check=False)


def _is_in(plan: Plan, path: Path) -> bool:
    return str(path.resolve())[1:] in plan.entries


def _add_data(plan: Plan, python: Python) -> None:
    for name, content in _FILES.items():
        plan.put(Path("/", name), content)
    for name in ("python", "python3"):
        plan.put(Path("/usr/local/bin", name), Link(str(python.program)))
    zones = Path("/usr/share/zoneinfo")
    if zones.is_dir():
        plan.add_tree(zones, left_out=_ZONES_LEFT_OUT)
    if bundle := next((path for path in map(Path, _BUNDLES) if path.is_file()), None):
        plan.put(_BUNDLE, bundle.read_bytes())
        if python.cafile.exists():
            plan.add(python.cafile)
        else:
            plan.put(python.cafile, Link(str(_BUNDLE)))


def _add_pip(plan: Plan, packages: Path) -> None:
    """That of the environment that runs this. Without it, the image has none."""
    try:
        files = importlib.metadata.distribution("pip").files or ()
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            plan.put(packages / file, Path(str(file.locate())).read_bytes())
