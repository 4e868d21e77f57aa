"""One image for several machines: an index that engines and bases are read from."""

import json
import tarfile
from pathlib import Path

import pytest

from reroll_dev.errors import DevClusterError
from reroll_dev.images import sources
from reroll_dev.images.image import Image, scratch, write_tar
from reroll_dev.images.layer import layer


@pytest.fixture
def both(tmp_path: Path) -> Path:
    target = tmp_path / "both.tar"
    images = [made(machine, tmp_path) for machine in ("amd64", "arm64")]
    write_tar(images, "registry.example/reroll:1", target)
    return target


def made(machine: str, work: Path) -> Image:
    folder = work / machine
    folder.mkdir()
    (folder / "machine").write_text(machine)
    blob, content = layer(folder, "", work / f"{machine}.layer", moment=0, packed=False)
    return scratch(machine).with_layer(blob, content, moment=0, by="a test")


def test_a_layout_names_one_thing_which_lists_an_image_for_each_machine(both: Path) -> None:
    with tarfile.open(both) as archive:
        files = {one.name: archive.extractfile(one) for one in archive if one.isreg()}
        content = {name: file.read() for name, file in files.items() if file}
    (named,) = json.loads(content["index.json"])["manifests"]
    assert named["mediaType"].endswith("index.v1+json")
    assert named["annotations"]["org.opencontainers.image.ref.name"] == "1"
    listed = json.loads(content[f"blobs/{named['digest'].replace(':', '/')}"])["manifests"]
    assert [one["platform"]["architecture"] for one in listed] == ["amd64", "arm64"]


@pytest.mark.parametrize("machine", ["amd64", "arm64"])
def test_the_image_of_a_machine_is_read_from_it(both: Path, tmp_path: Path, machine: str) -> None:
    found = sources.read(both, tmp_path, machine)
    (one,) = found.layers
    assert found.config["architecture"] == machine
    assert machine.encode() in b"".join(one.chunks())


def test_a_machine_that_is_not_in_it_is_refused(both: Path, tmp_path: Path) -> None:
    with pytest.raises(DevClusterError, match="none for linux/riscv64"):
        sources.read(both, tmp_path, "riscv64")
