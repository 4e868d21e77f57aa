"""What a machine without the means for a real node is told; no node is needed for that."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from reroll_dev.cluster import DevCluster
from reroll_dev.errors import DevClusterError
from reroll_dev.node import requirements
from reroll_dev.start import Options

NOBODY = 65534 if os.geteuid() == 0 else os.geteuid()
# Imports come first: another user may not read this Python.
AS_NOBODY = f"""
import os, sys
import reroll_dev.cli.dev
from reroll.cli.app import run
os.setuid({NOBODY})
sys.exit(run(sys.argv[1:]))
"""


def test_another_user_than_root_is_told_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    command = [sys.executable, "-c", AS_NOBODY, "dev", "up", "--node", "--folder", tmp_path / "one"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"a real node needs root, and this is the user with the id {NOBODY}" in done.stderr
    assert "run it as root" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "one").exists()


def test_another_system_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    (sentence,) = requirements.missing({})
    assert sentence.startswith("a real node needs Linux, and this is Darwin: use")


def test_root_without_its_rights_is_told_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "status").write_text("Name:\tx\nCapEff:\t00000000a80425fb\n")
    monkeypatch.setattr(requirements, "PROC", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (sentence,) = requirements.missing({})
    assert sentence.startswith("root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN here")
    assert "--privileged" in sentence


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("_no_ip", "the command ip is not on PATH: install iproute2"),
        ("_no_compiler", "runc is not built yet, and building it takes gcc and pkg-config"),
    ],
)
def test_what_is_not_on_path_is_named_with_its_package(
    tmp_path: Path, check: str, sentence: str
) -> None:
    told = getattr(requirements, check)({"PATH": "", "HOME": str(tmp_path)})
    assert told.startswith(sentence)
    assert "apt-get install" in told


@pytest.mark.parametrize(
    ("filesystems", "modules", "is_there"),
    [
        ("nodev\toverlay\n\text4\n", "", True),
        ("\text4\n", "kernel/fs/overlayfs/overlay.ko.xz:\n", True),
        ("\text4\n", "kernel/fs/fuse/fuse.ko.xz:\n", False),
    ],
)
def test_a_kernel_may_have_its_overlay_file_system_as_a_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, filesystems: str, modules: str, is_there: bool
) -> None:
    """It is loaded by the first mount."""
    (tmp_path / "filesystems").write_text(filesystems)
    (tmp_path / platform.release()).mkdir()
    (tmp_path / platform.release() / "modules.dep").write_text(modules)
    monkeypatch.setattr(requirements, "PROC", tmp_path)
    monkeypatch.setattr(requirements, "MODULES", tmp_path)
    told = requirements._no_overlay({})
    assert told.startswith("this kernel has no overlay file system") is not is_there


def test_a_cluster_without_a_node_says_how_to_get_one(
    cluster: DevCluster, control_plane: dict[str, Path]
) -> None:
    with pytest.raises(DevClusterError, match=r"has no real node; end it, .*reroll dev down"):
        _ = cluster.node
    with pytest.raises(DevClusterError, match=r"is up already, without a real node; end it, "):
        cluster.up(control_plane, Options(node=True))
