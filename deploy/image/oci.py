"""An OCI image layout from a folder, on top of another layout or of nothing. Needs no engine.

https://github.com/opencontainers/image-spec: blobs by digest, a manifest that names a config and
layers, an index that names the manifest. Files belong to root and nobody may write them.
"""

import gzip
import hashlib
import io
import json
import platform
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MEDIA = "application/vnd.oci.image"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
Json = dict[str, Any]


def write(
    folder: Path, place: str, target: Path, *, config: Json, base: Path | None, moment: int
) -> str:
    """Write the layout to a new folder `target`; the digest of its manifest."""
    blobs = target / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    below, layers = _base(base, blobs) if base else ({}, [])
    content = _tar(folder, place, moment)
    packed = gzip.compress(content, mtime=0)
    layers.append(_blob(blobs, packed, f"{MEDIA}.layer.v1.tar+gzip"))
    told = _config(below, config, _digest(content), moment)
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": _blob(blobs, _json(told), f"{MEDIA}.config.v1+json"),
        "layers": layers,
        "annotations": told["config"].get("Labels", {}),
    }
    one = _blob(blobs, _json(manifest), f"{MEDIA}.manifest.v1+json")
    one["platform"] = {"architecture": told["architecture"], "os": told["os"]}
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [one]}
    (target / "index.json").write_bytes(_json(index))
    (target / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    return str(one["digest"])


def _base(base: Path, blobs: Path) -> tuple[Json, list[Json]]:
    """The config and layers of a layout for one machine; its layers are copied."""

    def read(found: Json) -> Json:
        name = found["digest"].partition(":")[2]
        content: Json = json.loads((base / "blobs" / "sha256" / name).read_bytes())
        return content

    (only,) = json.loads((base / "index.json").read_bytes())["manifests"]
    manifest = read(only)
    for layer in manifest["layers"]:
        name = layer["digest"].partition(":")[2]
        shutil.copy(base / "blobs" / "sha256" / name, blobs / name)
    return read(manifest["config"]), list(manifest["layers"])


def _config(below: Json, config: Json, layer: str, moment: int) -> Json:
    made = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    env = [*below.get("config", {}).get("Env", ()), *config.get("Env", ())]
    diffs = [*below.get("rootfs", {}).get("diff_ids", ()), layer]
    step = {"created": made, "created_by": "deploy/image/build.py"}
    machine = platform.machine()
    return {
        "created": made,
        "architecture": below.get("architecture", ARCHITECTURES.get(machine, machine)),
        "os": "linux",
        "config": {**below.get("config", {}), **config, "Env": env},
        "rootfs": {"type": "layers", "diff_ids": diffs},
        "history": [*below.get("history", ()), step],
    }


def _tar(folder: Path, place: str, moment: int) -> bytes:
    """The same files give the same bytes: sorted, of root, of one moment."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = moment
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in [folder, *sorted(folder.rglob("*"))]:
            name = f"{place}/{path.relative_to(folder)}".removesuffix("/.")
            archive.add(path, name, recursive=False, filter=plain)
    return buffer.getvalue()


def _blob(blobs: Path, content: bytes, media: str) -> Json:
    digest = _digest(content)
    (blobs / digest.partition(":")[2]).write_bytes(content)
    return {"mediaType": media, "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(content: Json) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
