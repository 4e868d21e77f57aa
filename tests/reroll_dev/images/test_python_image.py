"""The base with this machine's Python: it starts with nothing of this machine around it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.support import session
from tests.support.layouts import Layout

from reroll_dev.images import python
from reroll_dev.images.machine import Link, Plan, libraries
from reroll_dev.images.made import made

ABOUT = """
import bz2, ctypes, json, lzma, os, sqlite3, ssl, sys, uuid, zoneinfo
import pip, pip._internal
cached = [getattr(module, "__cached__", None) for module in sys.modules.values()]
print(json.dumps({
    "prefix": sys.prefix,
    "certificates": ssl.create_default_context().cert_store_stats()["x509_ca"],
    "zone": str(zoneinfo.ZoneInfo("Europe/Berlin")),
    "uncompiled": [path for path in cached if path and not os.path.exists(path)],
}))
"""


@pytest.fixture(scope="session")
def root(image_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file system, unpacked."""
    folder = tmp_path_factory.mktemp("image") / "root"
    layer = folder.with_name("layer.tar")
    (content,) = Layout(image_of("python")).layers
    layer.write_bytes(content)
    with tarfile.open(layer) as tar:
        tar.extractall(folder, filter="fully_trusted")
    return folder


def inside(root: Path, command: Sequence[str]) -> str:
    """What a command says in there, as user 65532, without any variable but PATH.

    Who is not root may not change the root: the image's own loader starts the program with the
    image's own libraries then, and the paths of this machine stay in view.
    """
    path = "PATH=/usr/local/bin:/usr/bin:/bin"
    if os.geteuid() == 0:
        start = ["chroot", "--userspec=65532:65532", str(root), "/usr/bin/env", "-i", path]
        run = [*start, *command]
        env = {"PATH": f"{os.defpath}:/usr/sbin:/sbin"}
    else:
        program = root / str(python.this_python().program)[1:]
        loader = next(path for path in libraries([program]) if path.name.startswith("ld-"))
        folders = {path.parent for path in root.rglob("*.so*") if path.is_file()}
        paths = ":".join(map(str, sorted(folders)))
        run = [str(root / str(loader)[1:]), "--library-path", paths, str(program), *command[1:]]
        env = {"PYTHONHOME": str(root / sys.base_prefix[1:])}
    done = subprocess.run(run, env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_starts_there_with_its_modules_and_finds_what_it_needs(root: Path) -> None:
    said = json.loads(inside(root, ["python3", "-c", ABOUT]))

    assert said["zone"] == "Europe/Berlin"
    assert said["certificates"] > 0
    assert said["uncompiled"] == []
    assert said["prefix"].endswith(sys.base_prefix)


def test_a_shell_and_its_tools_start_there(root: Path) -> None:
    if os.geteuid() != 0:
        for name in ("sh", "env", "cat", "sleep", "rm"):
            assert list(root.glob(f"usr/bin/{name}")) or list(root.glob(f"bin/{name}"))
        return

    said = inside(root, ["sh", "-c", "id -un; sleep 0; python --version; cat /etc/group"])

    assert said.startswith(f"nonroot\nPython {sys.version.split()[0]}\n")


def test_nobody_but_root_may_write_there_and_everybody_may_read(
    image_of: Callable[[str], Path],
) -> None:
    layout = Layout(image_of("python"))
    files = layout.files()

    assert {one.owner for one in files.values()} == {(0, 0)}
    others = {name for name, one in files.items() if one.kind != tarfile.SYMTYPE and one.mode & 2}
    assert others == {"tmp"}
    assert all(one.mode & 0o004 for one in files.values())
    assert layout.config["config"]["Cmd"] == ["python3"]
    assert files["tmp"].mode == 0o1777


def test_it_has_no_tests_no_windows_no_packages_and_no_installer_of_pip(
    image_of: Callable[[str], Path],
) -> None:
    names = Layout(image_of("python")).files()
    stdlib = str(python.this_python().stdlib)[1:]

    tops = {name.removeprefix(f"{stdlib}/").split("/")[0] for name in names if stdlib in name}
    assert {"os.py", "json", "encodings", "lib-dynload"} <= tops
    assert tops.isdisjoint({"test", "idlelib", "tkinter", "turtledemo", "ensurepip"})
    assert [name for name in names if re.search(r"_tkinter|libX11|pytest|\.a$", name)] == []


def test_it_is_made_once_and_the_same_files_give_the_same_image(
    image_of: Callable[[str], Path], tmp_path: Path
) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    own, quiet = made("python", env=env, progress=session.quiet()), session.quiet()
    before = own.stat()
    after = made("python", env=env, progress=quiet).stat()

    # When it was last used is noted, and it is the same file.
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert own.read_bytes() == image_of("python").read_bytes()


def test_a_file_comes_with_the_folders_and_links_on_the_way(tmp_path: Path) -> None:
    real = tmp_path / "real" / "deep"
    real.mkdir(parents=True)
    (real / "file").write_text("here")
    (tmp_path / "short").symlink_to("real/deep")
    (tmp_path / "real" / "up").symlink_to(f"{tmp_path}/short/../deep/file")
    plan = Plan()

    plan.add(tmp_path / "real" / "up")
    plan.carry_out(tmp_path / "root")

    there = tmp_path / "root" / str(tmp_path)[1:]
    assert (there / "real" / "deep" / "file").read_text() == "here"
    assert (there / "short").readlink() == Path("real/deep")
    assert (there / "real" / "up").is_symlink()


def test_the_key_of_a_plan_changes_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    plan = Plan()
    plan.add(file)
    before = plan.key()

    assert plan.key() == before
    file.write_text("three")
    assert plan.key() != before
    plan.put(tmp_path / "link", Link("file"))
    assert len(plan.entries) == len(tmp_path.parts) + 1


def test_libraries_are_found_with_the_loader_and_not_by_a_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    (libc,) = (path for path in libraries([Path("/bin/sh")]) if path.name.startswith("libc."))
    shutil.copy(libc, tmp_path / libc.name)

    found = libraries([Path("/bin/sh")])

    assert libc in found
    assert any(path.name.startswith("ld-") for path in found)
