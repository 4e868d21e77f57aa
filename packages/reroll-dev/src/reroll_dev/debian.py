"""Programs and libraries that Go cannot build, out of Debian packages, unpacked below our cache.

Nothing is installed: apt is asked what is missing for a package on this machine, and those files
are fetched and unpacked into a folder of their own. A machine without apt gets a sentence.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from reroll_dev.commands import Finished, run
from reroll_dev.errors import DevClusterError
from reroll_dev.failures import failure, writing
from reroll_dev.locks import held
from reroll_dev.progress import Progress
from reroll_dev.store import cache_folder

TOOLS = ("apt-get", "dpkg")


def is_available(env: Mapping[str, str]) -> bool:
    """Whether this machine has packages to unpack."""
    return all(shutil.which(tool, path=env.get("PATH", "")) for tool in TOOLS)


def place_of(package: str, env: Mapping[str, str]) -> Path:
    """The folder in which a package is unpacked, or would be."""
    return cache_folder(env) / "debian" / package


def unpacked(package: str, *, env: Mapping[str, str], progress: Progress, otherwise: str) -> Path:
    """The folder with the package and what it lacks here; `otherwise` is what a user can do."""
    folder = place_of(package, env)
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{package}.lock")
        with held(lock, purpose=f"unpacking {package}", progress=progress):
            if not folder.is_dir():
                with progress.step(f"fetching the Debian package {package}"):
                    _unpack(package, folder, env, otherwise)
    return folder


def _unpack(package: str, folder: Path, env: Mapping[str, str], otherwise: str) -> None:
    """Unpack beside and rename, so that `folder` is always complete. Call with the lock held."""
    if not is_available(env):
        raise DevClusterError(f"{package} is missing, and this is no Debian; {otherwise}")
    with tempfile.TemporaryDirectory(prefix=f".{package}-", dir=folder.parent) as work:
        apt = _Apt(Path(work), env, f"fetching the Debian package {package}", otherwise)
        names = apt.lacking(package)
        (apt.work / "debs").mkdir()
        apt.must(apt.run("download", *names, folder="debs"))
        target = apt.work / "target"
        for archive in sorted((apt.work / "debs").glob("*.deb")):
            apt.must(run(["dpkg", "-x", archive, target], folder=apt.work, env=env))
        target.rename(folder)


class _Apt:
    def __init__(self, work: Path, env: Mapping[str, str], what: str, otherwise: str) -> None:
        self.work = work
        self._env = {**env, "LC_ALL": "C"}
        self._what, self._otherwise = what, otherwise
        self._options: Sequence[str] = ()

    def lacking(self, package: str) -> list[str]:
        """The package and what it needs, without what is installed."""
        asked = ("--simulate", "--no-install-recommends", "--reinstall", "install", package)
        finished = self.run(*asked)
        if finished.code:
            self._read_lists()
            finished = self.must(self.run(*asked))
        return sorted(set(re.findall(r"^Inst (\S+)", finished.output, re.MULTILINE)))

    def _read_lists(self) -> None:
        """Into a folder of our own: the machine's lists stay as they are, or are not there."""
        lists, cache = self.work / "lists", self.work / "cache"
        for each in (lists, cache):
            (each / "partial").mkdir(parents=True)
        self._options = ("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}")
        self.must(self.run("update"))

    def run(self, *arguments: str, folder: str = ".") -> Finished:
        # As root, apt would fetch as a user who may not write here.
        options = ("-o", "APT::Sandbox::User=root", *self._options)
        return run(["apt-get", *options, *arguments], folder=self.work / folder, env=self._env)

    def must(self, finished: Finished) -> Finished:
        if finished.code:
            raise failure(self._what, self.work, finished, otherwise=self._otherwise)
        return finished
