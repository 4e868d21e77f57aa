"""The cache of images: each content has a file of its own, so two checkouts do not meet."""

from pathlib import Path

import pytest
from tests.reroll_dev.toys import Told

from reroll_dev.images import made


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path)}


def image(key: str, env: dict[str, str], makes: list[str]) -> Path:
    def make(work: Path) -> Path:
        makes.append(key)
        (work / "web.tar").write_text(key)
        return work / "web.tar"

    return made._cached("web", key, make, env, Told())


def test_two_contents_are_two_files_and_neither_is_made_again(env: dict[str, str]) -> None:
    makes: list[str] = []
    paths = [image(key, env, makes) for key in ("here", "there", "here", "there")]
    assert makes == ["here", "there"]
    assert [path.read_text() for path in paths] == ["here", "there", "here", "there"]
    assert paths[0] == paths[2] != paths[1] == paths[3]


def test_what_makes_images_is_a_part_of_their_content(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    makes: list[str] = []
    first = image("here", env, makes)
    (tmp_path / "other.py").write_text("another way to make it")
    monkeypatch.setattr(made, "_HERE", tmp_path / "other.py")
    monkeypatch.setattr(made, "_files", lambda folder: [folder])
    assert image("here", env, makes) != first
    assert first.exists()
