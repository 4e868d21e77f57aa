"""Manifests as people write them, and what becomes of them to the byte."""

import difflib
from pathlib import Path

import pytest
from tests.manifests.golden import FOLDER, MODES, UPDATE, cases, made, outcome
from tests.support.command import reroll

CASES = list(cases())
IDS = [f"{path.name} {mode}" for path, mode in CASES]


@pytest.mark.parametrize(("path", "mode"), CASES, ids=IDS)
def test_the_outcome_is_the_one_in_the_golden_file(path: Path, mode: str) -> None:
    wanted = outcome(path, mode).read_bytes()
    assert made(path, mode) == wanted, f"look at it; if it is right, run `{UPDATE}`"


@pytest.mark.parametrize(("path", "mode"), CASES, ids=IDS)
def test_rendering_the_outcome_again_changes_nothing(path: Path, mode: str) -> None:
    rendered = outcome(path, mode)
    end = reroll("render", "--key-file", FOLDER / "key", *MODES[mode], rendered)
    assert end.out.encode() == rendered.read_bytes()


@pytest.mark.parametrize("path", sorted({path for path, _ in CASES}), ids=lambda path: path.name)
def test_checksums_only_add_lines_or_change_one_within(path: Path) -> None:
    """No line goes away but for one that comes back with a checksum in it."""
    before = path.read_bytes().decode().splitlines(keepends=True)
    after = outcome(path, "checksums").read_bytes().decode().splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new, new_end in matcher.get_opcodes():
        if kind != "equal":
            words = ("checksum", "annotations", "metadata")
            assert all(any(word in line for word in words) for line in after[new:new_end])
            assert end - start <= new_end - new
