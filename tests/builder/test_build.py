"""The Dockerfile, built by buildah on a base that is made here: it gives what `make image` gives.

Left out unless asked for (`make test-image`), because it needs buildah, and a package index.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.support import session
from tests.support.fixtures_image import ROOT, SCRIPTS
from tests.support.layouts import Layout

from reroll_dev.images.made import made, name_of

pytestmark = [pytest.mark.builder, pytest.mark.timeout(900)]

BASE = name_of("python")
BUILT = "localhost/reroll:built"


class Buildah:
    """With a storage of its own."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("buildah")
        if not program:
            pytest.fail(
                "buildah is not on PATH; install it: apt-get install buildah", pytrace=False
            )
        places = ("--root", folder / "root", "--runroot", folder / "run")
        # The driver that needs no rights and leaves no mounts.
        self._command = (program, *places, "--storage-driver", "vfs")

    def __call__(self, *arguments: str | Path) -> str:
        command = [*self._command, *arguments]
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
        if done.returncode:
            pytest.fail(
                f"buildah {arguments[0]} failed:\n{done.stderr}{done.stdout}", pytrace=False
            )
        return done.stdout


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    one = Buildah(tmp_path_factory.mktemp("buildah"))
    yield one
    one("rm", "--all")
    one("rmi", "--all", "--force")


@pytest.fixture(scope="module")
def base() -> Path:
    return made("python", env=os.environ, progress=session.quiet())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[str | Path, ...]:
    """Options that give the build the locked packages, fetched as this machine fetches packages.

    What a container would need to know for that, of proxies, certificates and mirrors, is known
    here already.
    """
    folder = tmp_path_factory.mktemp("index")
    fetch = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder / "wheels")
    locked = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r")
    lock = SCRIPTS / "requirements.lock"
    done = subprocess.run([*fetch, *locked, lock], text=True, capture_output=True, check=False)
    if done.returncode:
        pytest.fail(f"the packages of {lock} cannot be fetched:\n{done.stderr}", pytrace=False)
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    mounts = {folder / "wheels": "/wheels", folder / "pip.conf": "/etc/pip.conf"}
    return tuple(f"--volume={source}:{place}:ro" for source, place in mounts.items())


@pytest.fixture(scope="module")
def from_builder(
    buildah: Buildah,
    base: Path,
    index: tuple[str | Path, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Layout:
    """What the Dockerfile gives."""
    buildah("pull", "--quiet", f"oci-archive:{base}")
    # The isolation that works in a container too.
    options = ("--isolation=chroot", "--network=host", "--pull-never", f"--build-arg=BASE={BASE}")
    buildah("build", *options, *index, f"--tag={BUILT}", ".")
    target = tmp_path_factory.mktemp("built") / "oci"
    buildah("push", "--quiet", BUILT, f"oci:{target}:built")
    return Layout(target)


@pytest.fixture(scope="module")
def from_script(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """What `make image ARGS="--base …"` gives."""
    folder = tmp_path_factory.mktemp("script")
    options = ("--oci", folder / "oci", "--base", base)
    command = [sys.executable, SCRIPTS / "build.py", folder / "image", *options]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return Layout(folder / "oci")


def test_its_files_are_those_of_the_script_to_the_byte(
    from_builder: Layout, from_script: Layout
) -> None:
    ours, theirs = from_script.files("opt/reroll"), from_builder.files("opt/reroll")

    assert theirs.keys() == ours.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert {"opt/reroll/lib/reroll/__main__.py", "opt/reroll/sbom.cdx.json"} < ours.keys()


def test_it_says_what_the_script_says(from_builder: Layout, from_script: Layout) -> None:
    ours, theirs = (dict(one.config["config"]) for one in (from_script, from_builder))
    labels = theirs.pop("Labels")

    assert labels.pop("org.opencontainers.image.base.name") == BASE
    assert labels.pop("io.buildah.version")
    assert labels == ours.pop("Labels")
    assert theirs == ours
    assert theirs["User"] == "65532:65532"


def test_it_has_no_pip_and_all_of_it_is_compiled(buildah: Buildah, from_builder: Layout) -> None:
    container = buildah("from", "--pull-never", BUILT).strip()
    code = (
        "import importlib.util, os, sys, reroll.controller.worker, asyncio, ssl\n"
        "cached = [getattr(one, '__cached__', None) for one in sys.modules.values()]\n"
        "print(importlib.util.find_spec('pip'), os.getuid(),"
        " [path for path in cached if path and not os.path.exists(path)])"
    )

    said = buildah("run", "--isolation=chroot", container, "--", "python3", "-c", code)

    assert said == "None 65532 []\n"


def test_the_program_starts_in_it(
    buildah: Buildah, from_builder: Layout, image_scripts: ModuleType
) -> None:
    container = buildah("from", "--pull-never", BUILT).strip()
    entrypoint = from_builder.config["config"]["Entrypoint"]

    said = buildah("run", "--isolation=chroot", container, "--", *entrypoint, "--version")

    assert image_scripts.version() in said
