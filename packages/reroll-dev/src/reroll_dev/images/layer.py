"""A layer: the files of a folder as a tar. The same files give the same bytes.

Files belong to root, only root may write them, and everybody may read them, whatever they are on
this machine: a user's umask is no part of an image.
"""

import gzip
import hashlib
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from reroll_dev.images.blob import MEDIA, Blob


def layer(folder: Path, place: str, target: Path, *, moment: int, packed: bool) -> tuple[Blob, str]:
    """Write `folder` as the layer's `place` (empty: its root) to the file `target`.

    The blob, and the digest of what is in it when it is unpacked.
    """
    with target.open("wb") as file:
        outer = _Digesting(file)
        with _packing(outer) if packed else _plain(outer) as inner:
            with tarfile.open(
                fileobj=cast("IO[bytes]", inner), mode="w", format=tarfile.PAX_FORMAT
            ) as archive:
                _fill(archive, folder, place, moment)
            content = inner.digest
    media = f"{MEDIA}.layer.v1.tar{'+gzip' if packed else ''}"
    return Blob(media, outer.digest, target.stat().st_size, target), content


def _fill(archive: tarfile.TarFile, folder: Path, place: str, moment: int) -> None:
    for path in [*([folder] if place else []), *sorted(folder.rglob("*"))]:
        name = f"{place}/{path.relative_to(folder)}".removesuffix("/.").removeprefix("/")
        info = archive.gettarinfo(path, name)
        if info.islnk():  # two names of one file are two files
            info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = moment
        info.mode = _mode(info)
        if info.isreg():
            with path.open("rb") as file:
                archive.addfile(info, file)
        else:
            archive.addfile(info)


def _mode(info: tarfile.TarInfo) -> int:
    if info.issym():
        return 0o777
    if info.isdir() and info.mode & stat.S_ISVTX:
        return 0o1777  # a place for temporary files
    return 0o755 if info.isdir() or info.mode & 0o100 else 0o644


class _Digesting:
    """A file to write to that knows the digest of what was written."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self._size = 0

    def write(self, content: bytes) -> int:
        self._sum.update(content)
        self._size += len(content)
        return self._file.write(content)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        self._file.flush()

    @property
    def digest(self) -> str:
        return f"sha256:{self._sum.hexdigest()}"


@contextmanager
def _plain(outer: _Digesting) -> Iterator[_Digesting]:
    yield outer


@contextmanager
def _packing(outer: _Digesting) -> Iterator[_Digesting]:
    file = cast("IO[bytes]", outer)
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packer:
        yield _Digesting(packer)
