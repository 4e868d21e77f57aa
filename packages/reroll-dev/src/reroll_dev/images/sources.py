"""What an image is read from: an OCI layout, as a folder or a tar, or what `docker save` writes.

A tar of a root file system (`docker export`) becomes an image of one layer. Blobs stay where they
are: a part of a tar is a place in its file.
"""

import gzip
import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from reroll_dev.errors import DevClusterError
from reroll_dev.images.blob import MEDIA, Blob, Json
from reroll_dev.images.image import Image, architecture, scratch

_GZIP = b"\x1f\x8b"
# What Docker calls the same things.
_MEDIA = {
    "application/vnd.docker.image.rootfs.diff.tar": f"{MEDIA}.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip": f"{MEDIA}.layer.v1.tar+gzip",
}


def read(source: Path, work: Path, machine: str | None = None) -> Image:
    """The image in `source`; what has to be unpacked first goes into the folder `work`.

    Of several, the one for `machine`, an architecture; without it, for this machine.
    """
    try:
        return _read(source, work, machine or architecture())
    except (OSError, ValueError, KeyError, tarfile.TarError, EOFError) as error:
        raise DevClusterError(
            f"{source} cannot be read as an image ({type(error).__name__}: {error}); name a folder,"
            " an OCI layout, or a tar that `docker save`, `docker export` or `buildah push` wrote"
        ) from error


def is_layout(folder: Path) -> bool:
    return (folder / "oci-layout").is_file() and (folder / "index.json").is_file()


def _read(source: Path, work: Path, machine: str) -> Image:
    if source.is_dir():
        return _of_layout(_Folder(source), source, machine)
    plain = _unpacked(source, work)
    files = _Tar(plain)
    if files.has("index.json"):
        return _of_layout(files, source, machine)
    if files.has("manifest.json"):
        return _of_docker(files, source)
    digest = _digest(plain, 0, plain.stat().st_size)
    blob = Blob(f"{MEDIA}.layer.v1.tar", digest, plain.stat().st_size, plain)
    return scratch().with_layer(blob, digest, moment=0, by="reroll dev image")


class _Files(Protocol):
    def has(self, name: str) -> bool: ...

    def place(self, name: str) -> tuple[Path, int, int]:
        """The file that holds it, where in that, and its size."""


@dataclass(frozen=True, slots=True)
class _Folder:
    folder: Path

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def place(self, name: str) -> tuple[Path, int, int]:
        path = self.folder / name
        return path, 0, path.stat().st_size


class _Tar:
    def __init__(self, path: Path) -> None:
        self._path = path
        with tarfile.open(path, mode="r:") as archive:
            self._members = {str(PurePosixPath(one.name)): one for one in archive}

    def has(self, name: str) -> bool:
        return name in self._members

    def place(self, name: str) -> tuple[Path, int, int]:
        member = self._members[name]
        if member.issym() or member.islnk():
            # Old releases of Docker write a layer that two images share once.
            inside = PurePosixPath(name).parent if member.issym() else PurePosixPath()
            return self.place(_normal(inside / member.linkname))
        return self._path, member.offset_data, member.size


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def _of_layout(files: _Files, source: Path, machine: str) -> Image:
    index = _json(files, "index.json")
    manifest = _blob(files, _for_machine(index["manifests"], source, machine)).json()
    if "manifests" in manifest:  # an index of an index, as buildx writes it
        manifest = _blob(files, _for_machine(manifest["manifests"], source, machine)).json()
    layers = tuple(_blob(files, one) for one in manifest["layers"])
    return Image(_blob(files, manifest["config"]).json(), layers)


def _for_machine(manifests: Iterable[Json], source: Path, machine: str) -> Json:
    listed = list(manifests)
    if len(listed) == 1:
        return listed[0]
    wanted = {"os": "linux", "architecture": machine}
    for one in listed:
        if wanted.items() <= (one.get("platform") or {}).items():
            return one
    raise DevClusterError(
        f"{source} holds {len(listed)} images and none for linux/{machine}; "
        "make one for that machine"
    )


def _of_docker(files: _Files, source: Path) -> Image:
    path, offset, size = files.place("manifest.json")
    listed = json.loads(_bytes(path, offset, size))
    if len(listed) != 1:
        raise DevClusterError(f"{source} holds {len(listed)} images; save one alone")
    layers = []
    for name in listed[0]["Layers"]:
        path, offset, size = files.place(name)
        packed = "+gzip" if _bytes(path, offset, 2) == _GZIP else ""
        media = f"{MEDIA}.layer.v1.tar{packed}"
        layers.append(Blob(media, _digest(path, offset, size), size, path, offset))
    return Image(_json(files, listed[0]["Config"]), tuple(layers))


def _blob(files: _Files, descriptor: Json) -> Blob:
    media, digest = descriptor["mediaType"], descriptor["digest"]
    path, offset, size = files.place(f"blobs/{digest.replace(':', '/')}")
    if size != descriptor["size"]:
        raise ValueError(f"{digest} has {size} bytes and should have {descriptor['size']}")
    return Blob(str(_MEDIA.get(media, media)), digest, size, path, offset)


def _json(files: _Files, name: str) -> Json:
    content: Json = json.loads(_bytes(*files.place(name)))
    return content


def _bytes(path: Path, offset: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)


def _digest(path: Path, offset: int, size: int) -> str:
    seen = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(offset)
        while size and (chunk := file.read(min(size, 1 << 20))):
            seen.update(chunk)
            size -= len(chunk)
    return f"sha256:{seen.hexdigest()}"


def _unpacked(source: Path, work: Path) -> Path:
    """A tar as it is, without gzip around it."""
    if _bytes(source, 0, 2) != _GZIP:
        return source
    plain = work / "source.tar"
    with gzip.open(source) as packed, plain.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return plain
