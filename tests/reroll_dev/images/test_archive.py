"""A tar that a container runtime loads, from whatever an image can be made of."""

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from tests.support.layouts import File, Layout

from reroll_dev.errors import DevClusterError
from reroll_dev.images.archive import archive, full_name
from reroll_dev.images.image import Config, architecture

FULL = Config(
    entrypoint=("/serve",),
    cmd=("--fast",),
    env={"COLOUR": "blue"},
    user="65532:65532",
    working_dir="/srv",
    ports=(8080,),
    labels={"team": "shop"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "srv").mkdir(parents=True, mode=0o700)
    (made / "tmp").mkdir()
    (made / "tmp").chmod(0o1777)
    (made / "srv" / "page").write_text("hello")
    (made / "srv" / "page").chmod(0o600)
    os.link(made / "srv" / "page", made / "srv" / "second-name")
    (made / "serve").write_text("#!/bin/sh\n")
    (made / "serve").chmod(0o700)
    (made / "link").symlink_to("srv/page")
    return made


def test_a_folder_becomes_one_layer_that_everybody_can_read(folder: Path, tmp_path: Path) -> None:
    made = Layout(archive(folder, "web:1", FULL, target=tmp_path / "web.tar"))

    assert made.files() == {
        "link": File(tarfile.SYMTYPE, 0o777, (0, 0), b"srv/page"),
        "serve": File(tarfile.REGTYPE, 0o755, (0, 0), b"#!/bin/sh\n"),
        "srv": File(tarfile.DIRTYPE, 0o755, (0, 0), b""),
        "srv/page": File(tarfile.REGTYPE, 0o644, (0, 0), b"hello"),
        "srv/second-name": File(tarfile.REGTYPE, 0o644, (0, 0), b"hello"),
        "tmp": File(tarfile.DIRTYPE, 0o1777, (0, 0), b""),
    }
    named = [made.descriptor, made.manifest["config"], *made.manifest["layers"]]
    assert made.blobs == {one["digest"].partition(":")[2] for one in named}
    assert made.descriptor["platform"] == {"architecture": architecture(), "os": "linux"}


def test_it_says_how_to_start_and_what_it_is_called(folder: Path, tmp_path: Path) -> None:
    made = Layout(archive(folder, "web:1", FULL, target=tmp_path / "web.tar"))

    assert made.config["config"] == {
        "Entrypoint": ["/serve"],
        "Cmd": ["--fast"],
        "Env": ["COLOUR=blue"],
        "User": "65532:65532",
        "WorkingDir": "/srv",
        "ExposedPorts": {"8080/tcp": {}},
        "Labels": {"team": "shop"},
    }
    assert made.descriptor["annotations"] == {
        "io.containerd.image.name": "docker.io/library/web:1",
        "org.opencontainers.image.ref.name": "1",
    }


def test_the_same_files_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    one = archive(folder, "web:1", FULL, target=tmp_path / "one.tar").read_bytes()
    for path in folder.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)

    assert archive(folder, "web:1", FULL, target=tmp_path / "two.tar").read_bytes() == one
    (folder / "serve").chmod(0o644)
    assert archive(folder, "web:1", FULL, target=tmp_path / "two.tar").read_bytes() != one


def test_a_folder_on_a_base_changes_what_it_says_and_leaves_the_rest(
    folder: Path, tmp_path: Path
) -> None:
    base = archive(folder, "base:1", FULL, target=tmp_path / "base.tar")
    own = tmp_path / "own"
    (own / "srv").mkdir(parents=True)
    (own / "srv" / "page").write_text("updated")

    config = Config(entrypoint=("/serve", "own"), env={"COLOUR": "green", "SIZE": "1"})
    made = Layout(archive(own, "own:1", config, base=base, target=tmp_path / "own.tar"))

    assert len(made.layers) == 2
    assert made.files()["srv/page"].content == b"updated"
    assert made.files()["serve"].mode == 0o755
    told = made.config["config"]
    assert told["Env"] == ["COLOUR=green", "SIZE=1"]
    assert (told["User"], told["Entrypoint"]) == ("65532:65532", ["/serve", "own"])
    assert "Cmd" not in told, "the command belonged to the entrypoint of the base"
    assert len(made.config["history"]) == 2


def as_docker_saves(made: Layout, target: Path) -> Path:
    """With the layer that two images share as a link, as old releases write it."""
    files = {
        "config.json": json.dumps(made.config).encode(),
        "a/layer.tar": made.layers[0],
        "manifest.json": json.dumps(
            [{"Config": "config.json", "RepoTags": ["old:1"], "Layers": ["b/layer.tar"]}]
        ).encode(),
    }
    with tarfile.open(target, "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("b/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../a/layer.tar"
        tar.addfile(link)
    return target


def test_whatever_holds_the_image_it_comes_out_the_same(folder: Path, tmp_path: Path) -> None:
    tar = archive(folder, "web:1", FULL, target=tmp_path / "web.tar")
    wanted = Layout(tar)
    layout = tmp_path / "layout"
    with tarfile.open(tar) as opened:
        opened.extractall(layout, filter="data")
    (tmp_path / "web.tar.gz").write_bytes(gzip.compress(tar.read_bytes()))
    docker = as_docker_saves(wanted, tmp_path / "docker.tar")

    for source in (tar, layout, tmp_path / "web.tar.gz", docker):
        again = Layout(archive(source, "other:2", target=tmp_path / "again.tar"))
        assert again.files() == wanted.files(), source
        assert again.config == wanted.config, source
        assert again.descriptor["digest"] == wanted.descriptor["digest"], source
        name = again.descriptor["annotations"]["io.containerd.image.name"]
        assert name == "docker.io/library/other:2"


def test_a_tar_of_a_root_file_system_is_an_image_of_one_layer(folder: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "root.tar", "w") as tar:
        tar.add(folder, ".")

    made = Layout(archive(tmp_path / "root.tar", "root:1", FULL, target=tmp_path / "image.tar"))

    assert made.layers == [(tmp_path / "root.tar").read_bytes()]
    assert made.config["config"]["Entrypoint"] == ["/serve"]


def test_of_several_machines_that_of_this_one_is_taken(folder: Path, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    with tarfile.open(archive(folder, "web:1", FULL, target=tmp_path / "web.tar")) as opened:
        opened.extractall(layout, filter="data")
    index = json.loads((layout / "index.json").read_bytes())
    (ours,) = index["manifests"]
    other = {**ours, "digest": f"sha256:{'0' * 64}"}
    other["platform"] = {"os": "linux", "architecture": "s390x"}
    (layout / "index.json").write_text(json.dumps({**index, "manifests": [other, ours]}))

    assert Layout(archive(layout, "web:1", target=tmp_path / "again.tar")).files()
    (layout / "index.json").write_text(json.dumps({**index, "manifests": [other, other]}))
    with pytest.raises(DevClusterError, match="holds 2 images and none for linux/"):
        archive(layout, "web:1", target=tmp_path / "again.tar")


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("web", "docker.io/library/web:latest"),
        ("web:1", "docker.io/library/web:1"),
        ("shop/web:1", "docker.io/shop/web:1"),
        ("localhost/web:dev", "localhost/web:dev"),
        ("localhost:5000/web", "localhost:5000/web:latest"),
        ("registry.example/shop/web:1.2-rc_1", "registry.example/shop/web:1.2-rc_1"),
    ],
)
def test_a_name_is_written_as_a_kubelet_asks_for_it(short: str, whole: str) -> None:
    assert full_name(short) == whole


@pytest.mark.parametrize("name", ["", "Web:1", "web:", "web 1", "-web", "web@sha256:00", "a//b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(DevClusterError, match="cannot be the name of an image"):
        full_name(name)


def test_what_cannot_be_an_image_is_refused_and_leaves_nothing(
    folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "text").write_text("no tar")
    good = archive(folder, "web:1", target=tmp_path / "good.tar")
    bad = tmp_path / "bad.tar"
    bad.write_bytes(good.read_bytes().replace(b"hello", b"hullo"))
    cases = {
        tmp_path / "nothing": "there is no .*nothing; name a folder",
        tmp_path / "text": "cannot be read as an image",
        bad: "is damaged",
    }

    for source, words in cases.items():
        with pytest.raises(DevClusterError, match=words):
            archive(source, "web:1", target=place / "web.tar")
    with pytest.raises(DevClusterError, match="only a folder can go on top of a base"):
        archive(good, "web:1", base=good, target=place / "web.tar")
    assert list(place.iterdir()) == []
