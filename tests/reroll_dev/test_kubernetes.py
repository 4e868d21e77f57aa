"""The versions of Kubernetes that a cluster can be of."""

import re
from argparse import Namespace
from pathlib import Path

import pytest
from tests.reroll_dev.toys import Told, script

from reroll.cli.errors import CommandError
from reroll_dev import kubernetes, programs
from reroll_dev.binaries import ALL, ensure, find, of
from reroll_dev.cli.build import _minor, check_version
from reroll_dev.errors import DevClusterError
from reroll_dev.kubernetes import MINORS, Minor, Switches, named

each = pytest.mark.parametrize("minor", MINORS, ids=lambda minor: minor.name)
OLDER = named("1.33")


def test_there_are_the_supported_versions_the_oldest_first() -> None:
    assert kubernetes.NAMES == ("1.33", "1.34", "1.35", "1.36")
    assert [minor.is_newest for minor in MINORS] == [False, False, False, True]


@each
def test_a_version_is_that_of_its_module_and_so_is_every_part_of_it(minor: Minor) -> None:
    version = minor.version
    assert f"{version.major}.{version.minor}" == minor.name
    go_mod = (minor.module.folder / "go.mod").read_text(encoding="utf-8")
    parts = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", go_mod, re.MULTILINE)
    assert len(parts) >= 30
    published = version.text.replace("v1.", "v0.")
    assert [part for part in parts if part[1:] != (part[0], published)] == []
    assert (minor.module.folder / "go.sum").is_file()


@each
def test_a_cluster_of_a_version_has_its_programs_and_shares_the_others(minor: Minor) -> None:
    rows = {row.name: row for row in of(minor)}
    assert list(rows) == [row.name for row in ALL]
    for row in ALL:
        is_own = row.name in programs.VERSIONED
        assert (rows[row.name].module == minor.module) is (is_own or row.module == minor.module)
    assert f"gitVersion={minor.version}" in rows["kube-apiserver"].ldflags


def test_without_a_version_it_is_what_is_there() -> None:
    assert of(None) == ALL


def test_an_unknown_version_is_told_with_those_there_are() -> None:
    with pytest.raises(
        DevClusterError, match=r"no Kubernetes 1\.32 here; there is 1\.33, 1\.34, 1\.35, 1\.36"
    ):
        named("1.32")
    assert _minor("1.34") is named("1.34")


def test_a_real_node_is_of_the_newest_alone() -> None:
    check_version(Namespace(node=True, kubernetes=kubernetes.NEWEST))
    check_version(Namespace(node=True, kubernetes=None))
    check_version(Namespace(node=False, kubernetes=OLDER))
    with pytest.raises(CommandError, match="a kubelet must not be newer than its API server"):
        check_version(Namespace(node=True, kubernetes=OLDER))


def test_the_user_s_folder_counts_for_a_version_that_was_asked_for_only_if_it_has_it(
    tmp_path: Path,
) -> None:
    program = script(tmp_path / "assets/kube-apiserver", "echo Kubernetes v1.36.0")
    env = {"PATH": "/bin", "KUBEBUILDER_ASSETS": str(program.parent), "HOME": str(tmp_path)}

    def found(minor: Minor | None) -> object:
        return find(["kube-apiserver"], env=env, binaries=of(minor))["kube-apiserver"]

    assert found(None) == program
    assert found(OLDER) is None
    script(program, "echo Kubernetes v1.33.1")
    assert found(OLDER) == program
    assert ensure(["kube-apiserver"], env=env, progress=Told(), binaries=of(OLDER)) == {
        "kube-apiserver": program
    }


def test_switches_are_flags_of_the_api_server() -> None:
    assert Switches().flags == ()
    assert named("1.33").switched.flags == ("--feature-gates=WatchList=true",)
    assert named("1.34").switched.flags == named("1.35").switched.flags
    assert named("1.35").switched.flags == (
        "--feature-gates=WatchList=false,MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    )
    assert named("1.36").switched.flags == ("--feature-gates=WatchList=false",)
