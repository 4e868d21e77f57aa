"""The fixture `built`: what an image holds, made once for a test run, as the Dockerfile does it."""

import fcntl
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "deploy" / "image"


class Built(NamedTuple):
    folder: Path
    layout: Path

    @property
    def library(self) -> Path:
        return self.folder / "lib"


@pytest.fixture(scope="session")
def built(pytestconfig: pytest.Config) -> Built:
    """Without a network: of the packages that are installed here."""
    from tests.conftest import RUN_FOLDER

    run: Path = pytestconfig.stash[RUN_FOLDER]
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    one = Built(run / "image", run / "oci")
    with (run / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (one.layout / "index.json").exists():
            _build(one)
    return one


def _build(one: Built) -> None:
    options = ("--installed", "--oci", one.layout)
    command = [sys.executable, SCRIPTS / "build.py", one.folder, *options]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        shutil.rmtree(one.folder, ignore_errors=True)
        pytest.fail(f"the image cannot be built: {done.stderr}", pytrace=False)


def script(name: str) -> ModuleType:
    """A script of deploy/image, which is no package."""
    spec = spec_from_file_location(f"image_{name}", SCRIPTS / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.path.insert(0, str(SCRIPTS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SCRIPTS))
    return module


@pytest.fixture(scope="session")
def image_scripts() -> ModuleType:
    return script("build")
