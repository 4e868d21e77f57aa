"""The images of a node: what containerd has, what it is given, and the one that every pod needs.

There is no registry: an image comes as an archive, a docker-archive or an OCI layout in a tar file.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from reroll_dev.errors import DevClusterError
from reroll_dev.images.archive import archive
from reroll_dev.images.image import Config
from reroll_dev.node.configs import PAUSE, SOCKET
from reroll_dev.node.sandbox import Sandbox

CTR = ("ctr", "--address", SOCKET, "--namespace", "k8s.io")


def load(sandbox: Sandbox, tar: Path) -> None:
    """Give the images in a tar file to the node."""
    try:
        file = tar.open("rb")
    except OSError as error:
        raise DevClusterError(
            f"cannot read {tar} ({error.strerror}); name a tar file with an image in it"
        ) from error
    with file:
        sandbox.run(*CTR, "images", "import", "-", stdin=file)


def names(sandbox: Sandbox) -> tuple[str, ...]:
    """The names of all images on the node."""
    return tuple(sandbox.run(*CTR, "images", "list", "--quiet").split())


def write_pause(program: Path, target: Path) -> None:
    """The image of a pod's first process: the sandbox's own program, and nothing else."""
    with TemporaryDirectory(dir=target.parent) as folder:
        shutil.copy(program, Path(folder) / "pause")
        config = Config(entrypoint=("/pause", "pause"), user="65535:65535")
        archive(Path(folder), PAUSE, config, target=target)
