"""From whatever there is, a tar that `ctr images import` loads and a kubelet knows by its name."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from reroll_dev.errors import DevClusterError
from reroll_dev.images import sources
from reroll_dev.images.image import Config, Image, scratch, write_tar
from reroll_dev.images.layer import layer

_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_HOST = r"[A-Za-z0-9.-]+(?::[0-9]+)?"
_NAME = re.compile(rf"(?:({_HOST})/)?({_PART}(?:/{_PART})*)(?::([\w][\w.-]{{0,127}}))?", re.ASCII)
_AS_IT_IS = Config()


def archive(
    source: Path, name: str, config: Config = _AS_IT_IS, *, target: Path, base: Path | None = None
) -> Path:
    """Write the image `name` to the file `target`, and say where that is.

    `source` is a folder whose files become one layer on top of `base`, or an image as `sources`
    reads one. `config` goes over what the image says.
    """
    whole = full_name(name)
    with TemporaryDirectory(prefix=".image-", dir=target.parent) as folder:
        work = Path(folder)
        found = _image(source, base, work).with_config(config)
        draft = work / "image.tar"
        write_tar(found, whole, draft)
        draft.replace(target)
    return target


def full_name(name: str) -> str:
    """As a kubelet asks for it: `web:1` is `docker.io/library/web:1`."""
    match = _NAME.fullmatch(name)
    if not match:
        raise DevClusterError(
            f"{name!r} cannot be the name of an image; write one as web:1 or shop/web:1, "
            "in small letters"
        )
    host, path, tag = match[1], match[2], match[3] or "latest"
    if host and not (set(".:") & set(host) or host == "localhost"):
        host, path = None, f"{host}/{path}"  # a folder, no host
    if not host:
        host, path = "docker.io", path if "/" in path else f"library/{path}"
    return f"{host}/{path}:{tag}"


def _image(source: Path, base: Path | None, work: Path) -> Image:
    if not source.exists():
        raise DevClusterError(f"there is no {source}; name a folder, an OCI layout or a tar")
    if not source.is_dir() or sources.is_layout(source):
        if base:
            raise DevClusterError(f"{source} is an image; only a folder can go on top of a base")
        return sources.read(source, work)
    below = sources.read(base, work) if base else scratch()
    blob, content = layer(source, "", work / "layer.tar", moment=0, packed=False)
    return below.with_layer(blob, content, moment=0, by="reroll dev image")
