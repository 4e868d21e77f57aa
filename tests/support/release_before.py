r"""An earlier state of 0.2.0, chart and image, from which installations are upgraded.

`tests/upgrade/reroll-0.2.0.tar.xz` has what they are made of, without its development cluster, so
that a clone without history has it too:

    git archive 4dd5f22 LICENSE charts/reroll deploy/image src/reroll \
        ':(exclude)src/reroll/devcluster' | xz -9e
"""

import hashlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import move

from tests.support.session import quiet

from reroll_dev.images.archive import archive
from reroll_dev.images.image import Config
from reroll_dev.images.made import made
from reroll_dev.store import Store, cache_folder

VERSION = "0.2.0"
NAME = f"localhost/reroll:{VERSION}"
SOURCES = Path(__file__).parents[1] / "upgrade" / f"reroll-{VERSION}.tar.xz"
CONFIG = Config(
    entrypoint=("python3", "-m", "reroll"),
    cmd=("run",),
    env={"PYTHONPATH": "/opt/reroll/lib", "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"},
    user="65532:65532",
    working_dir="/",
)


def chart(folder: Path) -> Path:
    """Its chart, unpacked into a folder."""
    return _unpacked(folder) / "charts" / "reroll"


def image(env: Mapping[str, str]) -> Path:
    """Its image as a tar, by its own script; kept in the cache."""
    base = made("python", env=env, progress=quiet())
    recipe = " ".join(_digest(each) for each in (SOURCES, base, Path(__file__)))
    store, file = Store(cache_folder(env) / "images"), f"reroll-{VERSION}.tar"
    with store.workshop(quiet()) as work:
        return store.lookup(file, recipe) or store.keep(_made(work, base), file, recipe)


def _made(work: Path, base: Path) -> Path:
    sources, content = _unpacked(work / "sources"), work / "root" / "opt" / "reroll"
    _relax(sources / "deploy" / "image" / "requirements.lock")
    content.parent.mkdir(parents=True)
    script = sources / "deploy" / "image" / "build.py"
    command = [sys.executable, script, work / "content", "--installed"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{script} failed: {done.stderr}")
    move(work / "content", content)
    return archive(work / "root", NAME, CONFIG, target=work / "image.tar", base=base)


def _relax(lock: Path) -> None:
    """Ask for the packages that are installed here, whatever their versions have become."""

    def installed(found: re.Match[str]) -> str:
        try:
            return f"{found[1]}=={version(found[1])}"
        except PackageNotFoundError:
            return found[0]

    text = lock.read_text(encoding="utf-8")
    lock.write_text(re.sub(r"(?m)^([\w.-]+)==[^\s;]+", installed, text), encoding="utf-8")


def _unpacked(folder: Path) -> Path:
    with tarfile.open(SOURCES) as sources:
        sources.extractall(folder, filter="data")
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
