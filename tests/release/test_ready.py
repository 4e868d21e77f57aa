"""What has to be so before a tag: versions that agree, a dated changelog, a clean checkout."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from deploy.release import notes, ready, versions

import reroll

ROOT = Path(__file__).parents[2]
VERSION = reroll.__version__
CHANGELOG = """# Changelog

## [2.0.0], not released yet

### Added

- One ([guide](docs/guide.md#a), [web](https://web.example/)).

## [1.0.0] - 2026-01-02

- Two.
"""


def test_every_place_says_the_same_version() -> None:
    assert versions.disagreements(ROOT, VERSION) == []


def copied(folder: Path) -> Path:
    for glob in versions.PLACES:
        for path in ROOT.glob(glob):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return folder


PLACES = [(glob, pattern) for glob, patterns in versions.PLACES.items() for pattern in patterns]


@pytest.mark.parametrize(("glob", "pattern"), PLACES)
def test_another_version_is_noticed_in_every_place(tmp_path: Path, glob: str, pattern: str) -> None:
    root = copied(tmp_path)
    path = min(root.glob(glob))
    text = path.read_text(encoding="utf-8")
    place = re.search(pattern, text)
    assert place
    path.write_text(f"{text[: place.start(1)]}9.8.7{text[place.end(1) :]}", encoding="utf-8")

    name = path.relative_to(root)
    assert f"{name} says 9.8.7, not {VERSION}" in versions.disagreements(root, VERSION)


def test_a_place_that_went_missing_is_noticed(tmp_path: Path) -> None:
    root = copied(tmp_path)
    (root / "integrations" / "helm" / "plugin.yaml").unlink()
    (root / "Dockerfile").write_text("FROM scratch\n")

    said = versions.disagreements(root, VERSION)
    assert f"integrations/helm/plugin.yaml is missing, and should say {VERSION}" in said
    assert len([text for text in said if text.startswith("Dockerfile should say")]) == 2


def test_the_notes_are_the_section_of_the_version() -> None:
    place = "https://git.example/r"
    assert notes.cut(CHANGELOG, "1.0.0", place) == "- Two.\n"
    assert notes.cut(CHANGELOG, "2.0.0", place) == (
        "### Added\n\n"
        "- One ([guide](https://git.example/r/blob/v2.0.0/docs/guide.md#a), "
        "[web](https://web.example/)).\n"
    )
    assert notes.state(CHANGELOG, "1.0.0") == "2026-01-02"
    with pytest.raises(SystemExit, match=r"no section \[3.0.0\]"):
        notes.cut(CHANGELOG, "3.0.0", place)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own whose changelog has a day."""
    root = copied(tmp_path)
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(re.sub(r"(?m)^(## \[[\d.]+\]).*$", r"\1 - 2026-12-01", text, count=1))
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "all")
    return root


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", "-C", root, *args], check=True)


def test_nothing_stands_in_the_way_of_the_right_tag(checkout: Path) -> None:
    assert ready.obstacles(checkout, VERSION, f"v{VERSION}") == []


def test_what_stands_in_the_way_is_said(checkout: Path) -> None:
    (checkout / "stray").touch()
    changelog = checkout / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace(" - 2026-12-01", ", not released yet"))

    tag, day, clean = ready.obstacles(checkout, VERSION, "v9.9.9")
    assert tag == f"the tag is v9.9.9 and the version {VERSION}: the tag should be v{VERSION}"
    assert "write the day" in day
    assert "CHANGELOG.md, stray" in clean
