"""The images of a node: what containerd has, what it is given, and the one that every pod needs.

There is no registry: an image comes as an archive, a docker-archive or an OCI layout in a tar file.
"""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import go_platform
from reroll_dev.node.configs import PAUSE, SOCKET
from reroll_dev.node.sandbox import Sandbox

CTR = ("ctr", "--address", SOCKET, "--namespace", "k8s.io")


def load(sandbox: Sandbox, archive: Path) -> tuple[str, ...]:
    """Give the images in a tar file to the node; their names."""
    try:
        file = archive.open("rb")
    except OSError as error:
        raise DevClusterError(
            f"cannot read {archive} ({error.strerror}); name a tar file with an image in it"
        ) from error
    with file:
        said = sandbox.run(*CTR, "images", "import", "-", stdin=file)
    return tuple(line.split()[0] for line in said.splitlines() if line.strip())


def names(sandbox: Sandbox) -> tuple[str, ...]:
    """The names of all images on the node."""
    return tuple(sandbox.run(*CTR, "images", "list", "--quiet").split())


def write_pause(program: Path, target: Path) -> None:
    """The image of a pod's first process: one static program."""
    layer = _tar({"pause": (program.read_bytes(), 0o755)})
    system, architecture = go_platform()
    config = {
        "architecture": architecture,
        "os": system,
        "config": {"Entrypoint": ["/pause", "pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [PAUSE], "Layers": ["layer.tar"]}]
    files = {
        "layer.tar": layer,
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    target.write_bytes(_tar({name: (content, 0o644) for name, content in files.items()}))


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
