"""The manifest for krew, against krew's own rules."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploy.release import krew
from deploy.release.contents import MACHINES
from deploy.release.plan import Release
from tests.support.krew import problems

Manifest = dict[str, Any]


def whole(folder: Path) -> Manifest:
    """As the workflow makes it: for every platform, with archives that are there."""
    release = Release(folder, "registry.example/reroll", "https://git.example/reroll", 0)
    rows = []
    for platform in MACHINES:
        archive = folder / f"{'-'.join(platform)}.tar.gz"
        archive.write_bytes(archive.name.encode())
        rows.append(krew.platform_row(release, platform, archive))
    return krew.manifest(release, rows)


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return whole(tmp_path)


def test_krew_has_nothing_against_the_manifest(manifest: Manifest) -> None:
    assert problems(manifest, krew.PLUGIN) == []
    assert len(manifest["spec"]["platforms"]) == len(MACHINES)
    assert len(manifest["spec"]["shortDescription"]) <= 50


def row(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["platforms"][0]
    return found


SPOILT: dict[str, tuple[Callable[[Manifest], Any], str]] = {
    "kind": (lambda m: m.update(kind="Plugins"), "kind is not Plugin"),
    "api": (lambda m: m.update(apiVersion="krew/v1"), "apiVersion is not"),
    "name": (lambda m: m["metadata"].update(name="roll"), "metadata.name"),
    "version": (lambda m: m["spec"].update(version="0.2.0"), "version is no semantic"),
    "lines": (lambda m: m["spec"].update(shortDescription="a\nb"), "not one line"),
    "typo": (lambda m: m["spec"].update(homePage=""), "no field homePage"),
    "none": (lambda m: m["spec"].update(platforms=[]), "no platform"),
    "sum": (lambda m: row(m).update(sha256="A" * 64), "sha256"),
    "bin": (lambda m: row(m).update(bin=""), "bin is empty"),
    "uri": (lambda m: row(m).pop("uri"), "uri is empty"),
    "label": (lambda m: row(m)["selector"]["matchLabels"].update(libc="musl"), "other labels"),
    "machine": (lambda m: row(m)["selector"]["matchLabels"].update(arch="riscv"), "no machine"),
    "twice": (
        lambda m: m["spec"]["platforms"].append(copy.deepcopy(row(m))),
        "are all for linux/amd64",
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_krew_would_refuse_is_noticed(manifest: Manifest, how: str) -> None:
    spoil, said = SPOILT[how]
    spoil(manifest)

    assert said in " ".join(problems(manifest, krew.PLUGIN))
