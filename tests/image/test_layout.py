"""The image as an OCI layout: every blob is what its name says, and it runs as nobody special."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.support.fixtures_image import Built, script

Json = dict[str, Any]


class Layout:
    """Read back, with everything checked that a digest or a size is said of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        assert json.loads((folder / "oci-layout").read_bytes()) == {"imageLayoutVersion": "1.0.0"}
        (self.descriptor,) = json.loads((folder / "index.json").read_bytes())["manifests"]
        self.manifest: Json = json.loads(self.blob(self.descriptor))
        self.config: Json = json.loads(self.blob(self.manifest["config"]))
        self.layers = [gzip.decompress(self.blob(layer)) for layer in self.manifest["layers"]]

    def blob(self, descriptor: Json) -> bytes:
        algorithm, _, name = descriptor["digest"].partition(":")
        content = (self._folder / "blobs" / algorithm / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == name
        assert len(content) == descriptor["size"]
        return content


@pytest.fixture
def layout(built: Built) -> Layout:
    return Layout(built.layout)


def test_every_blob_is_named_and_every_layer_is_what_the_config_says(
    built: Built, layout: Layout
) -> None:
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layout.layers]
    assert layout.config["rootfs"] == {"type": "layers", "diff_ids": digests}
    named = [layout.descriptor, layout.manifest["config"], *layout.manifest["layers"]]
    there = {path.name for path in (built.layout / "blobs" / "sha256").iterdir()}
    assert there == {each["digest"].partition(":")[2] for each in named}
    assert layout.descriptor["platform"]["os"] == "linux"


def test_it_runs_as_nobody_special_and_says_what_it_is(
    layout: Layout, image_scripts: ModuleType
) -> None:
    told = layout.config["config"]

    assert told["User"] == "65532:65532"
    assert told["Entrypoint"] == ["python3", "-m", "reroll"]
    assert "PYTHONPATH=/opt/reroll/lib" in told["Env"]
    assert told["Labels"]["org.opencontainers.image.version"] == image_scripts.version()
    assert layout.manifest["annotations"] == told["Labels"]


def test_its_files_are_those_of_the_folder_and_only_root_could_write_them(
    built: Built, layout: Layout
) -> None:
    with tarfile.open(fileobj=io.BytesIO(layout.layers[0])) as archive:
        members = archive.getmembers()

    there = {path.relative_to(built.folder).as_posix() for path in built.folder.rglob("*")}
    assert {member.name.removeprefix("opt/reroll/") for member in members[1:]} == there
    assert members[0].name == "opt/reroll"
    assert {(member.uid, member.gid, member.mode & 0o022) for member in members} == {(0, 0, 0)}
    label = layout.config["config"]["Labels"]["dev.reroll.sbom"]
    assert label.removeprefix("/") in {member.name for member in members}


def test_it_stands_on_a_base_and_the_same_sources_give_the_same_image(tmp_path: Path) -> None:
    oci = script("oci")
    python, program = tmp_path / "python", tmp_path / "program"
    for folder in (python, program):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    below = {"Env": ["PATH=/usr/local/bin"], "Cmd": ["python3"]}
    oci.write(python, "usr", tmp_path / "base", config=below, base=None, moment=0)
    told = {"Env": ["PYTHONPATH=/opt"], "User": "1"}

    digests = {
        oci.write(program, "opt", tmp_path / name, config=told, base=tmp_path / "base", moment=7)
        for name in ("one", "two")
    }

    assert len(digests) == 1
    found = Layout(tmp_path / "one")
    assert len(found.layers) == len(found.config["rootfs"]["diff_ids"]) == 2
    assert found.config["config"]["Env"] == ["PATH=/usr/local/bin", "PYTHONPATH=/opt"]
    assert found.config["config"]["Cmd"] == ["python3"]
    assert found.config["created"] == "1970-01-01T00:00:07Z"
