"""`python -m deploy.release` as a whole, without a network: what comes out, twice the same.

The base is a small one for this machine alone, so the image of the other architecture is missing
and that is said.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from deploy.release import krew
from tests.support.krew import problems
from tests.support.layouts import Layout

import reroll
from reroll_dev import binaries
from reroll_dev.images.archive import archive
from reroll_dev.images.image import Config, architecture

ROOT = Path(__file__).parents[2]
VERSION = reroll.__version__
IMAGE = "registry.example/team/reroll"
PROJECT = "https://git.example/team/reroll"
pytestmark = [pytest.mark.cluster, pytest.mark.slow]  # helm is built with the control plane


def build(target: Path, base: Path) -> str:
    given = ("--installed", "--image", IMAGE, "--repository", PROJECT, "--base", base)
    command = [sys.executable, "-m", "deploy.release", target, *given]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **_home()},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _home() -> dict[str, str]:
    names = ("HOME", "XDG_CACHE_HOME", "KUBEBUILDER_ASSETS")
    return {name: os.environ[name] for name in names if name in os.environ}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("base")
    (work / "root").mkdir()
    (work / "root" / "python3").write_text("not really")
    return archive(work / "root", "python:1", Config(), target=work / "base.tar")


@pytest.fixture(scope="module")
def printed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("release") / "release"
    return folder, build(folder, base)


@pytest.fixture
def release(printed: tuple[Path, str]) -> Path:
    return printed[0]


def test_everything_that_is_published_is_there_and_nothing_else(release: Path) -> None:
    machine = f"{sys.platform}-{architecture()}"
    assert {path.name for path in release.iterdir()} == {
        f"reroll-{VERSION}-py3-none-any.whl",
        f"reroll-{VERSION}.tar.gz",
        f"reroll_dev-{VERSION}-py3-none-any.whl",
        f"reroll_dev-{VERSION}.tar.gz",
        f"reroll-{VERSION}.tgz",
        f"reroll-{VERSION}.cdx.json",
        f"reroll-{VERSION}-image.tar",
        f"kubectl-reroll-{VERSION}-{machine}.tar.gz",
        *("reroll.yaml", "reroll-namespaces.yaml", "reroll-all-features.yaml"),
        "reroll-dashboard.yaml",
        *("krew-reroll.yaml", "RELEASE-NOTES.md", "SHA256SUMS"),
    }


def test_it_says_what_is_missing_and_that_nothing_was_published(printed: tuple[Path, str]) -> None:
    (other,) = {"amd64", "arm64"} - {architecture()}
    assert f"linux/{other} is not in the image" in printed[1]
    assert "a dry run; nothing was published" in printed[1]


def test_a_second_build_has_the_same_bytes(release: Path, base: Path, tmp_path: Path) -> None:
    build(tmp_path / "again", base)

    differ = [
        path.name
        for path in release.iterdir()
        if path.read_bytes() != (tmp_path / "again" / path.name).read_bytes()
    ]
    assert differ == []


def test_the_checksums_are_those_of_every_file(release: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=release,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    checked = {line.removesuffix(": OK") for line in done.stdout.splitlines()}
    assert checked == {path.name for path in release.iterdir()} - {"SHA256SUMS"}


def helm(*args: str | Path) -> str:
    program = binaries.find(["helm"], env=os.environ)["helm"]
    assert program, "helm is not built; run `make control-plane`"
    done = subprocess.run([program, *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_chart_and_the_manifests_name_the_image_of_the_release(release: Path) -> None:
    chart = release / f"reroll-{VERSION}.tgz"
    rendered = helm("template", "reroll", chart, "--kube-version", "1.36")

    manifests = [path.read_text() for path in release.glob("reroll*.yaml")]
    assert len(manifests) == 4
    for text in (rendered, *manifests):
        images = set(re.findall(r"image: \"?([^\s\"]+)", text))
        assert images == {f"{IMAGE}:{VERSION}"}
    assert yaml.safe_load(helm("show", "chart", chart))["version"] == VERSION


def test_the_bill_of_materials_lists_what_is_locked(release: Path) -> None:
    bill = json.loads((release / f"reroll-{VERSION}.cdx.json").read_text())
    lock = (ROOT / "deploy" / "image" / "requirements.lock").read_text()

    listed = {one["purl"] for one in bill["components"]}
    locked = re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", lock)
    assert listed == {f"pkg:pypi/{name}@{version}" for name, version in locked}
    assert [one["name"] for one in bill["components"] if not one.get("licenses")] == []
    assert bill["metadata"]["component"]["version"] == VERSION


def test_the_plugin_runs_from_its_archive_alone(release: Path, tmp_path: Path) -> None:
    plugin = unpacked(release, tmp_path)
    assert plugin.stat().st_mode & 0o111
    # -S and -E: what is installed here is not seen.
    command = [sys.executable, "-S", "-E", plugin, "--version"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"reroll {VERSION}"), done.stderr


def test_the_plugin_says_which_python_it_needs(release: Path, tmp_path: Path) -> None:
    plugin = unpacked(release, tmp_path)
    text = re.sub(r"(?m)^PYTHONS = .*$", "PYTHONS = ((3, 98), (3, 99))", plugin.read_text())
    plugin.write_text(text)
    done = subprocess.run([sys.executable, plugin], text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "needs Python 3.98, 3.99 on the PATH" in done.stderr


def unpacked(release: Path, folder: Path) -> Path:
    (packed,) = release.glob("kubectl-reroll-*.tar.gz")
    with tarfile.open(packed) as content:
        content.extractall(folder, filter="data")
    return folder / krew.PROGRAM


def test_the_krew_manifest_names_the_archives_with_their_checksums(release: Path) -> None:
    manifest = yaml.safe_load((release / "krew-reroll.yaml").read_text())
    sums = dict(line.split()[::-1] for line in (release / "SHA256SUMS").read_text().splitlines())

    (row,) = manifest["spec"]["platforms"]
    base, _, name = row["uri"].rpartition("/")
    assert base == f"{PROJECT}/releases/download/v{VERSION}"
    assert row["sha256"] == sums[name]
    assert row["bin"] == krew.PROGRAM
    assert manifest["spec"]["version"] == f"v{VERSION}"
    assert problems(manifest, krew.PLUGIN) == []


def test_the_image_is_the_program_on_the_base(release: Path) -> None:
    found = Layout(release / f"reroll-{VERSION}-image.tar")
    files = found.files()
    assert files["python3"].content == b"not really"
    assert "opt/reroll/lib/reroll/__main__.py" in files
    assert found.config["config"]["Entrypoint"] == ["python3", "-m", "reroll"]
    assert found.descriptor["annotations"]["io.containerd.image.name"] == f"{IMAGE}:{VERSION}"


def test_links_of_the_notes_lead_into_the_repository_at_the_tag(release: Path) -> None:
    notes = (release / "RELEASE-NOTES.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", notes)
    assert links
    inside = f"{PROJECT}/blob/v{VERSION}/"
    assert {link[: len(inside)] for link in links if "example" in link} == {inside}
    missing = [
        link
        for link in links
        if link.startswith(inside)
        and not (ROOT / link.removeprefix(inside).partition("#")[0]).exists()
    ]
    assert missing == []
