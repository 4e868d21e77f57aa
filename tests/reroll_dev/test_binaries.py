import os
import subprocess
import sys

import pytest
from tests.reroll_dev.toys import LIB_VERSION, Told, script, toy

from reroll_dev.binaries import ALL, BINARIES, CORE, NODE, PROMETHEUS, asset, ensure, find
from reroll_dev.errors import DevClusterError
from reroll_dev.progress import progress_on
from reroll_dev.store import store_of


@pytest.fixture
def made(tmp_path):
    return toy(tmp_path, go=script(tmp_path / "bin/go", "exit 1"))


def on_path(made, says):
    path = script(made.folder / "path/hello", f"echo '{says}'")
    made.env["PATH"] = f"{path.parent}:{made.env['PATH']}"
    return path


def cached(made):
    store, row = store_of(made.module, made.env), made.binary()
    with store.workshop(Told()) as work:
        return store.keep(script(work / "hello", ""), "hello", row.recipe)


def where(made):
    return find(["hello"], env=made.env, binaries=[made.binary()])["hello"]


def test_what_is_nowhere_is_found_nowhere_and_not_made(made):
    assert where(made) is None
    assert not (made.folder / "cache").exists()


def test_the_user_s_folder_comes_before_path_and_path_before_the_cache(made):
    in_cache = cached(made)
    assert where(made) == in_cache
    in_path = on_path(made, f"hello {LIB_VERSION}")
    assert where(made) == in_path
    made.env["KUBEBUILDER_ASSETS"] = str(made.folder / "assets")
    theirs = script(made.folder / "assets/hello", "echo v0.0.1")
    assert where(made) == theirs
    assert ensure(["hello"], env=made.env, progress=Told(), binaries=[made.binary()]) == {
        "hello": theirs
    }


@pytest.mark.parametrize(
    "says",
    [
        "v1.2.9",
        "hello Version: 1.2.3",
        'version.BuildInfo{Version:"v1.2", GoVersion:"go1.26.8"}',
        'Client Version: version.Info{Major:"1", Minor:"2", GitVersion:"v1.2.0"}',
        "hello version v1.2.3 go1.26.8 (linux/amd64)",
        "{Version:hello/v1.2.7 GitCommit:1}",
    ],
)
def test_a_program_on_path_of_the_same_minor_version_fits(made, says):
    path = on_path(made, says)
    assert where(made) == path


@pytest.mark.parametrize("says", ["v1.1.9", "v1.20.3", "v2.2.3", "v11.2.3", "", "unknown"])
def test_a_program_on_path_of_another_version_does_not_fit(made, says):
    on_path(made, says)
    assert where(made) is None


def test_a_program_on_path_that_cannot_start_does_not_fit(made):
    on_path(made, "").write_text("#!/no/such/interpreter\n")
    assert where(made) is None


@pytest.mark.parametrize("mode", [0o644, None], ids=["not executable", "missing"])
def test_what_the_user_s_folder_lacks_is_looked_for_elsewhere(made, mode):
    made.env["KUBEBUILDER_ASSETS"] = str(made.folder / "assets")
    theirs = script(made.folder / "assets/hello", "")
    if mode:
        theirs.chmod(mode)
    else:
        theirs.unlink()
    path = cached(made)
    assert where(made) == path


def test_a_user_s_folder_that_is_none_is_told_and_does_not_stop_a_look(made):
    made.env["KUBEBUILDER_ASSETS"] = "/no/such/folder"
    assert where(made) is None
    with pytest.raises(
        DevClusterError, match=r"KUBEBUILDER_ASSETS is /no/such/folder, which is no folder"
    ):
        ensure(["hello"], env=made.env, progress=Told(), binaries=[made.binary()])


@pytest.mark.parametrize("ask", [find, lambda names, env: ensure(names, env=env, progress=Told())])
def test_an_unknown_program_is_told_with_those_there_are(ask):
    with pytest.raises(
        DevClusterError, match="there is no podman, docker; there is etcd, kube-apiser"
    ):
        ask(["etcd", "podman", "docker"], env={"PATH": ""})


def test_an_unknown_asset_is_told_with_those_there_are():
    with pytest.raises(DevClusterError, match=r"no asset 'crds'; there is rollouts-crds\.yaml"):
        asset("crds", env={}, progress=Told())


def test_what_a_cluster_needs_is_in_the_table():
    names = [row.name for row in ALL]
    assert set(CORE) < set(names)
    assert {*NODE, *PROMETHEUS}.isdisjoint(row.name for row in BINARIES)
    assert len(names) == len(set(names))


@pytest.mark.cluster
def test_the_real_programs_say_the_versions_that_go_mod_names(capsys):
    env = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    with capsys.disabled():
        progress = progress_on(sys.stderr, env=env)
        paths = ensure([row.name for row in BINARIES], env=env, progress=progress)
    for row in BINARIES:
        command = [paths[row.name], *row.version_arguments]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert row.version.removeprefix("v") in said, row.name
