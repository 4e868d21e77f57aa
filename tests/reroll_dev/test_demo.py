"""`reroll demo --node` where no node can be had."""

import os
from pathlib import Path

import pytest
from tests.support.command import reroll


def test_without_root_it_says_so_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    done = reroll("demo", "--node")

    assert done.code == 1
    assert (
        "a real node needs root, and this is the user with the id 1000: run it as root" in done.err
    )
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []
