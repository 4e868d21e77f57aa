"""An image: a config and layers, on top of another one or of nothing, written as an OCI layout.

https://github.com/opencontainers/image-spec: blobs by digest, a manifest that names a config and
layers, an index that names the manifest. The same parts give the same bytes.
"""

import io
import platform
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from reroll_dev.images.blob import MEDIA, Blob, Json, digest_of, document

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LAYOUT = document({"imageLayoutVersion": "1.0.0"})


@dataclass(frozen=True, slots=True)
class Config:
    """How a container of it starts; None leaves what the image below says."""

    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    working_dir: str | None = None
    ports: tuple[int, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def over(self, below: Json) -> Json:
        """What the config of the image says, as its `config`; variables of one name replace."""
        pairs = (text.partition("=") for text in below.get("Env") or ())
        env = {name: value for name, _, value in pairs} | dict(self.env)
        named: Json = {
            "Entrypoint": None if self.entrypoint is None else list(self.entrypoint),
            # A command is written for one entrypoint: with another it means something else.
            "Cmd": ([] if self.entrypoint is not None else None)
            if self.cmd is None
            else list(self.cmd),
            "User": self.user,
            "WorkingDir": self.working_dir,
            "ExposedPorts": {f"{port}/tcp": {} for port in self.ports} or None,
            "Labels": {**(below.get("Labels") or {}), **self.labels} or None,
        }
        own = {key: value for key, value in named.items() if value is not None}
        merged = {**below, **own, "Env": [f"{name}={value}" for name, value in env.items()]}
        return {key: value for key, value in merged.items() if value or value == ""}


@dataclass(frozen=True, slots=True)
class Image:
    config: Json
    """The whole document: architecture, config, rootfs, history."""
    layers: tuple[Blob, ...] = ()

    def with_config(self, config: Config) -> "Image":
        told = config.over(self.config.get("config") or {})
        return Image({**self.config, "config": told}, self.layers)

    def with_layer(self, blob: Blob, content: str, *, moment: int, by: str) -> "Image":
        """`content` is the digest of the unpacked layer, `by` what made it."""
        made = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        diffs = (self.config.get("rootfs") or {}).get("diff_ids") or ()
        step = {"created": made, "created_by": by}
        told = {
            **self.config,
            "created": made,
            "rootfs": {"type": "layers", "diff_ids": [*diffs, content]},
            "history": [*(self.config.get("history") or ()), step],
        }
        return Image(told, (*self.layers, blob))


def architecture() -> str:
    """Of this machine, as images call it."""
    return ARCHITECTURES.get(platform.machine(), platform.machine())


def scratch(machine: str | None = None) -> Image:
    """For this machine, or for another architecture."""
    return Image({"architecture": machine or architecture(), "os": "linux", "config": {}})


def write_folder(image: Image, target: Path) -> str:
    """Write a layout to a new folder; the digest of its manifest."""
    (target / "blobs" / "sha256").mkdir(parents=True)
    digest, files = _layout(image, None)
    for name, content in files:
        with (target / name).open("wb") as file:
            for chunk in content.chunks() if isinstance(content, Blob) else (content,):
                file.write(chunk)
    return digest


def write_tar(image: Image | Sequence[Image], name: str | None, target: Path) -> str:
    """Write a layout as one file, with the name under which an engine will know it.

    Several images are one for several machines. The digest is that of the manifest, or of the
    index of all manifests.
    """
    digest, files = _layout(image, name)
    with tarfile.open(target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in ("blobs", "blobs/sha256"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(info)
        for path, content in files:
            info = tarfile.TarInfo(path)
            info.size = content.size if isinstance(content, Blob) else len(content)
            with _opened(content) as file:
                archive.addfile(info, file)
    return digest


def _layout(
    image: Image | Sequence[Image], name: str | None
) -> tuple[str, Iterator[tuple[str, bytes | Blob]]]:
    images = [image] if isinstance(image, Image) else image
    configs = [document(each.config) for each in images]
    manifests = [_manifest(*each) for each in zip(images, configs, strict=True)]
    listed = [_platform(*each) for each in zip(images, manifests, strict=True)]
    documents = [*manifests, *configs]
    one = listed[0]
    if len(listed) > 1:  # a layout names one thing, so that is an index of its own
        together = _index(listed)
        documents.append(together)
        one = _descriptor(together, "index")
    if name:
        # The first is read by containerd, the second by everything else.
        tag = name.rpartition(":")[2]
        one["annotations"] = {
            "io.containerd.image.name": name,
            "org.opencontainers.image.ref.name": tag,
        }
    blobs = {layer.name: layer for each in images for layer in each.layers}

    def files() -> Iterator[tuple[str, bytes | Blob]]:
        yield "oci-layout", _LAYOUT
        yield "index.json", _index([one])
        for content in documents:
            yield f"blobs/{digest_of(content).replace(':', '/')}", content
        yield from sorted(blobs.items())

    return str(one["digest"]), files()


def _manifest(image: Image, config: bytes) -> bytes:
    return document(
        {
            "schemaVersion": 2,
            "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": _descriptor(config, "config"),
            "layers": [layer.descriptor for layer in image.layers],
            "annotations": image.config["config"].get("Labels") or {},
        }
    )


def _platform(image: Image, manifest: bytes) -> Json:
    """The descriptor of a manifest, with the machine that it is for."""
    machine = {key: image.config[key] for key in ("architecture", "os")}
    return {**_descriptor(manifest, "manifest"), "platform": machine}


def _index(manifests: list[Json]) -> bytes:
    kind = f"{MEDIA}.index.v1+json"
    return document({"schemaVersion": 2, "mediaType": kind, "manifests": manifests})


def _descriptor(content: bytes, kind: str) -> Json:
    digest = digest_of(content)
    return {"mediaType": f"{MEDIA}.{kind}.v1+json", "digest": digest, "size": len(content)}


@contextmanager
def _opened(content: bytes | Blob) -> Iterator[IO[bytes]]:
    if isinstance(content, bytes):
        yield io.BytesIO(content)
        return
    content.check()
    with content.path.open("rb") as file:
        file.seek(content.offset)
        yield file
