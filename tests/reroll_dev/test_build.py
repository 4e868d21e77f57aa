"""Building, with real Go on small modules; where Go only pretends, it says what real Go says."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reroll_dev.toys import LIB, LIB_VERSION, Told, pretended_go, toy

from reroll_dev.binaries import asset, ensure
from reroll_dev.errors import DevClusterError

# Another process that ensures the toy's binary, for what only two processes can show.
ENSURE = """
import json, sys
from dataclasses import replace
from pathlib import Path
from reroll_dev.binaries import ensure
from reroll_dev.progress import PlainProgress
from tests.reroll_dev.toys import Toy
toy, progress = Toy(Path(sys.argv[1]), json.loads(sys.argv[2])), PlainProgress(sys.stderr)
try:
    print(ensure(["hello"], env=toy.env, progress=progress, binaries=[toy.binary()])["hello"])
except KeyboardInterrupt:
    print("interrupted")
"""
FINISH = 'printf "#!/bin/sh\\n" > "$target"; chmod +x "$target"'


def wait_for(path):
    """A shell's words for waiting until `path` is there, or a minute."""
    return f"n=0; while ! [ -e {path} ] && [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done"


def build(made, *names, told=None, env=None):
    rows = [made.binary(name) for name in names or ("hello",)]
    env = {**made.env, **(env or {})}
    return ensure([row.name for row in rows], env=env, progress=told or Told(), binaries=rows)


def in_another_process(made):
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE, made.folder, json.dumps(made.env)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_missing_program_is_fetched_built_stamped_and_kept(tmp_path):
    made, told = toy(tmp_path), Told()
    path = build(made, told=told)["hello"]
    said = subprocess.run([path], capture_output=True, text=True, check=True).stderr
    assert said == LIB_VERSION
    assert path == made.store / "hello"
    assert sorted(entry.name for entry in made.store.iterdir()) == [".ok", "hello"]
    assert told.steps == ["toy: fetching Go modules", "hello (1 of 1)"]
    assert told.counts["toy: fetching Go modules"][-1] == (1, None)


def test_the_bar_counts_the_packages_that_have_to_be_compiled(tmp_path):
    says = "echo a/one >&2; echo '# a/two' >&2; echo 'a/two.go: note' >&2; echo a/two >&2"
    go = pretended_go(tmp_path / "bin", packages="a/one a/two a/three", build=f"{says}; {FINISH}")
    told = Told()
    build(toy(tmp_path, go=go), told=told)
    done = [done for done, _ in told.counts["hello (1 of 1)"]]
    assert {total for _, total in told.counts["hello (1 of 1)"]} == {3}
    assert (done[0], done[-2], done[-1]) == (1, 2, 3)


def test_a_real_go_never_goes_back_and_reaches_its_end(tmp_path):
    made, told = toy(tmp_path), Told()
    build(made, told=told)
    done = [done for done, _ in told.counts["hello (1 of 1)"]]
    assert done == sorted(done)
    assert told.counts["hello (1 of 1)"][-1][1] == done[-1] >= 1


def test_only_what_is_asked_for_and_missing_is_built(tmp_path):
    made = toy(tmp_path, "hello", "other", "third")
    build(made, "hello")
    assert sorted(path.name for path in made.store.iterdir()) == [".ok", "hello"]
    told, before = Told(), (made.store / "hello").stat().st_ino
    build(made, "hello", "other", told=told)
    assert "other (1 of 1)" in told.steps
    assert not any("hello" in step for step in told.steps)
    assert (made.store / "hello").stat().st_ino == before
    again = Told()
    build(made, "hello", "other", told=again)
    assert again == Told()


def test_a_changed_source_is_built_into_a_folder_of_its_own(tmp_path):
    made = toy(tmp_path)
    first = build(made)["hello"]
    (made.module.folder / "hello/main.go").write_text(
        'package main\n\nfunc main() { print("new") }\n'
    )
    second = build(made)["hello"]
    assert first.exists()
    assert first.parent != second.parent
    assert subprocess.run([second], capture_output=True, text=True, check=True).stderr == "new"


def test_a_damaged_program_is_built_again(tmp_path):
    made = toy(tmp_path)
    path = build(made)["hello"]
    path.write_bytes(path.read_bytes()[:1000])
    assert subprocess.run([build(made)["hello"]], capture_output=True, check=True)


def test_code_that_does_not_compile_is_told_in_go_s_words(tmp_path):
    made = toy(tmp_path, main="package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(DevClusterError) as told:
        build(made)
    assert f"building hello (go build ./hello) failed in {made.module.folder}" in str(told.value)
    assert "undefined: nonsense" in str(told.value)
    assert "set KUBEBUILDER_ASSETS to a folder that has hello" in str(told.value)
    assert not list(made.store.iterdir())


@pytest.mark.parametrize(
    "proxy", ["off", "http://127.0.0.1:9"], ids=["switched off", "unreachable"]
)
def test_without_network_the_sentence_says_what_to_do(tmp_path, proxy):
    with pytest.raises(DevClusterError) as told:
        build(toy(tmp_path), env={"GOPROXY": proxy})
    assert "fetching the sources of toy failed" in str(told.value)
    assert "no way to the network" in str(told.value)
    assert "set KUBEBUILDER_ASSETS" in str(told.value)


def test_a_module_that_is_not_what_was_released_is_refused(tmp_path):
    made = toy(tmp_path)
    go_sum = made.module.folder / "go.sum"
    go_sum.write_text(go_sum.read_text().replace(f"{LIB_VERSION} h1:", f"{LIB_VERSION} h1:AAAA"))
    with pytest.raises(DevClusterError, match="a download is not what was released"):
        build(made)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("# k8s.io/x\nwrite /cache/b001/_pkg_.a: no space left on device", "the disk is full"),
        ('go: no such tool "compile"', "the Go installation is incomplete"),
        ("k8s.io/x: /go/pkg/tool/compile: signal: killed", "the memory did not suffice"),
    ],
)
def test_a_build_that_fails_for_want_of_something_says_of_what(tmp_path, words, cause):
    go = pretended_go(tmp_path / "bin", build=f"echo '{words}' >&2; exit 1")
    made = toy(tmp_path, go=go)
    with pytest.raises(DevClusterError, match=cause):
        build(made)
    assert not list(made.store.iterdir())


def test_a_cache_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        DevClusterError, match=r"cannot write .*file.*: Not a directory; .*XDG_CACHE_HOME"
    ):
        build(toy(tmp_path), env={"XDG_CACHE_HOME": str(tmp_path / "file")})


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_no_process_and_no_file(tmp_path, ending):
    go = pretended_go(tmp_path / "bin", build='touch "$target"; sleep 1000')
    made = toy(tmp_path, go=go)
    with in_another_process(made) as ours:
        _wait_for(tmp_path / "bin/builds", "hello")
        ours.send_signal(ending)
        out, err = ours.communicate(timeout=60)
    assert out == "interrupted\n"
    assert "hello (1 of 1): stopped after" in err
    assert not list(made.store.iterdir())
    while _processes_mentioning(str(made.store)):  # the test's timeout is the limit
        os.sched_yield()


def test_two_runs_at_once_build_once_and_the_second_says_for_whom_it_waits(tmp_path):
    go = pretended_go(tmp_path / "bin", build=f"{wait_for(tmp_path / 'go-on')}; {FINISH}")
    made = toy(tmp_path, go=go)
    with in_another_process(made) as first:
        _wait_for(tmp_path / "bin/builds", "hello")
        with in_another_process(made) as second:
            heard = second.stderr.readline()
            (tmp_path / "go-on").touch()
            assert second.communicate(timeout=60)[0] == f"{made.store}/hello\n"
        assert first.communicate(timeout=60)[0] == f"{made.store}/hello\n"
    assert heard.startswith(f"waiting for process {first.pid}, which is building into {made.store}")
    assert len((tmp_path / "bin/builds").read_text().splitlines()) == 1


def test_a_killed_run_is_cleaned_up_by_the_next(tmp_path):
    go = pretended_go(tmp_path / "bin", build=f"{wait_for(tmp_path / 'go-on')}; {FINISH}")
    made = toy(tmp_path, go=go)
    with in_another_process(made) as first:
        _wait_for(tmp_path / "bin/builds", "hello")
        first.kill()
    assert [path.name for path in made.store.iterdir() if path.name.startswith(".work-")]
    (tmp_path / "go-on").touch()
    assert build(made)["hello"].exists()
    assert sorted(path.name for path in made.store.iterdir()) == [".ok", "hello"]


def test_manifests_out_of_a_dependency_become_one_file(tmp_path):
    made, told = toy(tmp_path), Told()
    path = asset("crds.yaml", env=made.env, progress=told, assets=[made.asset()])
    assert path.read_text() == "kind: A\n\n---\nkind: B\n"
    assert told.steps == [f"toy: fetching {LIB}"]
    again = Told()
    assert (
        asset("crds.yaml", env={**made.env, "PATH": ""}, progress=again, assets=[made.asset()])
        == path
    )
    assert again == Told()


def test_manifests_that_cannot_be_fetched_are_a_sentence(tmp_path):
    made = toy(tmp_path)
    with pytest.raises(DevClusterError, match=f"fetching {LIB} failed .*no way to the network"):
        asset(
            "crds.yaml", env={**made.env, "GOPROXY": "off"}, progress=Told(), assets=[made.asset()]
        )


def test_manifests_that_a_release_does_not_have_are_a_sentence(tmp_path):
    made = toy(tmp_path)
    with pytest.raises(DevClusterError, match=f"{LIB} {LIB_VERSION} has no crd"):
        asset("crds.yaml", env=made.env, progress=Told(), assets=[made.asset("crd/*.yaml")])


def _wait_for(path, text):
    command = f"{wait_for(path)}; grep {text} {path}"
    subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL)


def _processes_mentioning(text):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [entry] if text in entry.read_bytes().decode(errors="replace") else []
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_a_dependency_is_built_with_our_files_in_place_of_its_own(tmp_path):
    made = toy(tmp_path)
    ours = made.module.folder / "instead"
    ours.mkdir()
    (ours / "lib.go").write_text('package lib\n\nvar Version = "ours"\n')
    row = replace(made.binary(stamp=()), module=replace(made.module, trims=LIB))
    path = ensure(["hello"], env=made.env, progress=Told(), binaries=[row])["hello"]
    said = subprocess.run([path], capture_output=True, text=True, check=True).stderr
    assert said == "ours"
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".ok", "hello"]
    source = tmp_path / "modules" / f"{LIB}@{LIB_VERSION}" / "lib.go"
    assert "unset" in source.read_text()
