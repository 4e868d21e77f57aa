"""An OCI layout read back, with everything checked that a digest or a size is said of."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]


class File(NamedTuple):
    kind: bytes
    mode: int
    owner: tuple[int, int]
    content: bytes
    """Of a link, where it leads."""


class Layout:
    """Of a folder, or of a tar of one."""

    def __init__(self, source: Path) -> None:
        self._files = _folder(source) if source.is_dir() else _tar(source)
        assert json.loads(self._files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
        (self.descriptor,) = json.loads(self._files["index.json"])["manifests"]
        self.manifest: Json = json.loads(self.blob(self.descriptor))
        self.config: Json = json.loads(self.blob(self.manifest["config"]))
        packed = [self.blob(layer) for layer in self.manifest["layers"]]
        self.layers = [
            gzip.decompress(each) if each.startswith(b"\x1f\x8b") else each for each in packed
        ]
        digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in self.layers]
        assert self.config["rootfs"] == {"type": "layers", "diff_ids": digests}

    def blob(self, descriptor: Json) -> bytes:
        algorithm, _, name = descriptor["digest"].partition(":")
        content = self._files[f"blobs/{algorithm}/{name}"]
        assert hashlib.sha256(content).hexdigest() == name
        assert len(content) == descriptor["size"]
        return content

    @property
    def blobs(self) -> set[str]:
        return {name.rpartition("/")[2] for name in self._files if name.startswith("blobs/")}

    def files(self, below: str = "") -> dict[str, File]:
        """What a container sees; the last layer that has a path decides."""
        found = {}
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                for one in archive:
                    name = one.name.strip("/")
                    if name.startswith(below):
                        found[name] = _file(archive, one)
        return found


def _file(archive: tarfile.TarFile, one: tarfile.TarInfo) -> File:
    opened = archive.extractfile(one) if one.isreg() else None
    content = opened.read() if opened else one.linkname.encode()
    return File(one.type, one.mode & 0o7777, (one.uid, one.gid), content)


def _folder(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _tar(path: Path) -> dict[str, bytes]:
    with tarfile.open(path, mode="r:") as archive:
        return {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}
