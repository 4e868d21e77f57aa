"""Files of this machine, taken into an image at the paths that they have here.

With a file come the folders and links on the way to it, and with a program the libraries that the
loader would load: so all that was built into a program holds in the image too. A plan is made
first, from which a cache knows whether anything changed, and is then carried out.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reroll_dev.errors import DevClusterError

_LIBRARY = re.compile(r"^\s+(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)
_FOLDER_MODE = 0o755


@dataclass(frozen=True, slots=True)
class Link:
    target: str


@dataclass(frozen=True, slots=True)
class Folder:
    mode: int = _FOLDER_MODE


@dataclass(slots=True)
class Plan:
    """What is to be at which path, without the slash it begins with."""

    entries: dict[str, Path | bytes | Link | Folder] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """The file or folder `path` of this machine; not what is in the folder."""
        place = self._lead_to(path)
        self.entries.setdefault(str(place)[1:], Folder() if place.is_dir() else place)

    def _lead_to(self, path: Path) -> Path:
        """Add the folders and links on the way to `path`; where they lead."""
        at, rest = Path("/"), list(path.parts[1:])
        while rest:
            part = rest.pop(0)
            at = at.parent if part == ".." else at / part
            if at.is_symlink():
                target = at.readlink()
                self.entries[str(at)[1:]] = Link(str(target))
                at = Path("/") if target.is_absolute() else at.parent
                rest = [*target.parts[target.is_absolute() :], *rest]
            elif rest and part != "..":
                self.entries.setdefault(str(at)[1:], Folder())
        return at

    def add_tree(self, folder: Path, *, left_out: re.Pattern[str]) -> None:
        """The folder and all in it, but for names that match `left_out`, and links to them."""
        self.add(folder)
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            path = Path(entry.path)
            if left_out.fullmatch(entry.name) or not path.exists():
                continue
            if entry.is_dir(follow_symlinks=False):
                self.add_tree(path, left_out=left_out)
            else:
                self.add(path)

    def put(self, path: Path, content: bytes | Link | Folder) -> None:
        """Something of its own at `path`, whatever this machine has there."""
        folder = self._lead_to(path.parent)
        self.entries.setdefault(str(folder)[1:], Folder())
        self.entries[str(folder / path.name)[1:]] = content

    def key(self) -> str:
        """Changes when a file does; files of this machine are known by size and time."""
        seen = hashlib.sha256()
        for name, entry in sorted(self.entries.items()):
            what: object = entry
            if isinstance(entry, Path):
                status = entry.stat()
                what = (str(entry), status.st_size, status.st_mtime_ns)
            seen.update(f"{name}\0{what}\0".encode())
        return seen.hexdigest()

    def carry_out(self, root: Path) -> None:
        """Make it all below the new folder `root`."""
        root.mkdir()
        for name, entry in sorted(self.entries.items()):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(entry, Folder):
                path.mkdir(exist_ok=True)
                path.chmod(entry.mode)
            elif isinstance(entry, Link):
                path.symlink_to(entry.target)
            elif isinstance(entry, bytes):
                path.write_bytes(entry)
            else:
                shutil.copy(entry, path)


def libraries(programs: Iterable[Path]) -> list[Path]:
    """The shared libraries of programs and libraries, and the loader."""
    ldd = shutil.which("ldd")
    if not ldd:
        raise DevClusterError(
            "ldd is not on PATH, which says what libraries Python needs; "
            "install it: apt-get install libc-bin"
        )
    # Libraries that only a variable of this shell leads to are not there in a container.
    env = {"PATH": os.defpath, "LC_ALL": "C"}
    command: list[str | Path] = [ldd, *sorted(programs)]
    done = subprocess.run(command, env=env, text=True, capture_output=True, check=False)
    return [Path(path) for path in sorted(set(_LIBRARY.findall(done.stdout)))]
