"""Archives of which the same content gives the same bytes."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path


def of_folder(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    """The files in it, by path, with their modes: what may be run, and what may not."""
    return {
        path.relative_to(folder).as_posix(): (
            0o755 if path.stat().st_mode & 0o100 else 0o644,
            path.read_bytes(),
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


def of_archive(packed: Path) -> Mapping[str, tuple[int, bytes]]:
    """The files of a tar.gz."""
    with tarfile.open(packed, mode="r:gz") as archive:
        members = [one for one in archive if one.isreg()]
        return {one.name: (0o644, _content(archive, one)) for one in members}


def write(files: Mapping[str, tuple[int, bytes]], target: Path, *, moment: int) -> None:
    """A tar.gz, whose entries have an order, a time and an owner of their own."""
    with (
        target.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, mode, content in _sorted(files):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), mode, moment
            archive.addfile(info, io.BytesIO(content))


def _sorted(files: Mapping[str, tuple[int, bytes]]) -> Iterable[tuple[str, int, bytes]]:
    return ((name, *files[name]) for name in sorted(files))


def _content(archive: tarfile.TarFile, one: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(one)
    return file.read() if file else b""
