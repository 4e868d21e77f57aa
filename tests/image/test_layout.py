"""The image as an OCI layout: every blob is what its name says, and it runs as nobody special."""

import hashlib
import io
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.fixtures_image import Built
from tests.support.layouts import Layout

from reroll_dev.images.archive import archive
from reroll_dev.images.image import Config


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
    assert told["Cmd"] == ["run"]
    assert told["ExposedPorts"] == {"8080/tcp": {}, "8081/tcp": {}, "8300/tcp": {}}
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


def test_it_stands_on_a_base_and_the_same_sources_give_the_same_image(
    image_scripts: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "7")
    python, program = tmp_path / "python", tmp_path / "program"
    for folder in (python, program):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    below = Config(env={"PATH": "/usr/local/bin", "PYTHONUNBUFFERED": "0"}, cmd=("python3",))
    base = archive(python, "python:1", below, target=tmp_path / "base.tar")

    for name in ("one", "two"):
        image_scripts.layout(program, tmp_path / name, base)

    found, again = Layout(tmp_path / "one"), Layout(tmp_path / "two")
    assert found.descriptor == again.descriptor
    assert len(found.layers) == len(found.config["rootfs"]["diff_ids"]) == 2
    env = found.config["config"]["Env"]
    assert env[:2] == ["PATH=/usr/local/bin", "PYTHONUNBUFFERED=1"]
    assert found.config["config"]["Cmd"] == ["run"]
    assert found.config["created"] == "1970-01-01T00:00:07Z"
