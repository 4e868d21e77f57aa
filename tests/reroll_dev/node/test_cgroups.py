"""The parent cgroup of a node, on hierarchies that are plain folders here."""

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reroll_dev.errors import DevClusterError
from reroll_dev.node import cgroups

Mounted = Callable[..., list[Path]]
V1, V2 = "cgroup", "cgroup2"


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mounted:
    """`mounted("cgroup", "cgroup2")`: a machine with such hierarchies."""

    def make(*versions: str) -> list[Path]:
        roots = []
        lines = ["20 1 254:0 / / rw - ext4 /dev/vda rw"]
        for number, version in enumerate(versions):
            root = tmp_path / f"{version}-{number}"
            root.mkdir()
            lines.append(f"{30 + number} 20 0:{number} / {root} rw shared:1 - {version} none rw")
            if version == V2:
                (root / "cgroup.controllers").write_text("cpuset cpu io memory pids rdma\n")
                (root / "cgroup.subtree_control").write_text("memory pids\n")
            roots.append(root)
        table = tmp_path / "mountinfo"
        table.write_text("\n".join(lines))
        monkeypatch.setattr(cgroups, "hierarchies", lambda: _hierarchies(table))
        return roots

    _hierarchies = cgroups.hierarchies
    return make


def written(monkeypatch: pytest.MonkeyPatch, error: int = 0) -> list[str]:
    """What is written to files of controllers; the kernel adds up what a plain file would keep."""
    found: list[str] = []

    def write(path: Path, text: str) -> int:
        if error:
            raise OSError(error, "the kernel refuses")
        found.append(f"{path.name}: {text}")
        return len(text)

    monkeypatch.setattr(Path, "write_text", write)
    return found


@pytest.mark.parametrize("versions", [(V1, V1), (V2,), (V1, V2)])
def test_it_is_made_and_removed_in_every_hierarchy(
    mounted: Mounted, versions: Sequence[str]
) -> None:
    roots = mounted(*versions)

    cgroups.make("reroll-x")
    for root in roots:
        (root / "reroll-x/kubepods/pod").mkdir(parents=True)
    left = [path.relative_to(roots[0].parent).parts[1:] for path in cgroups.left("reroll-x")]
    assert left[:3] == [
        ("reroll-x", "kubepods", "pod"),
        ("reroll-x", "kubepods"),
        ("reroll-x",),
    ]

    cgroups.remove("reroll-x")
    assert cgroups.left("reroll-x") == []


def test_version_2_alone_hands_down_what_a_kubelet_asks_for(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(V2)
    said = written(monkeypatch)

    cgroups.make("reroll-x")

    assert said == ["cgroup.subtree_control: +cpu", "cgroup.subtree_control: +cpuset"]


def test_beside_version_1_nothing_of_version_2_is_changed(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(V1, V2)
    said = written(monkeypatch)

    cgroups.make("reroll-x")

    assert said == []


def test_a_new_cpuset_of_version_1_has_the_processors_of_the_machine(mounted: Mounted) -> None:
    [root] = mounted(V1)
    (root / "cpuset.cpus").write_text("0-1\n")
    (root / "cpuset.mems").write_text("0\n")
    (root / "reroll-x").mkdir()
    for name in ("cpuset.cpus", "cpuset.mems"):
        (root / "reroll-x" / name).write_text("\n")

    cgroups.make("reroll-x")

    assert (root / "reroll-x/cpuset.cpus").read_text() == "0-1"
    assert (root / "reroll-x/cpuset.mems").read_text() == "0"


@pytest.mark.parametrize(
    ("error", "advice"),
    [(errno.EBUSY, "move them to one below it"), (errno.EROFS, "in a privileged container")],
)
def test_a_kernel_that_refuses_is_told_with_what_to_do(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch, error: int, advice: str
) -> None:
    mounted(V2)
    written(monkeypatch, error)

    with pytest.raises(DevClusterError, match=advice):
        cgroups.make("reroll-x")
