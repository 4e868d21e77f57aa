"""The versions of Kubernetes that tests run on: what is left out is named, and the docs say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import version_table, versions
from tests.support.minors import GROUNDS, NEEDS, VARIABLE, Need, ground, told, unmet

from reroll_dev.kubernetes import NAMES

ROOT = Path(__file__).parents[1]
ENV = {name: value for name, value in os.environ.items() if name != VARIABLE}


def collected(env: dict[str, str], *files: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", *files]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_what_is_not_for_every_version_is_a_test_that_there_is_and_runs_where_it_applies() -> None:
    files = sorted({test.partition("::")[0] for test in NEEDS})

    everywhere = collected(ENV, *files)
    oldest = collected({**ENV, VARIABLE: "1.33"}, *files)

    assert NEEDS.keys() <= everywhere
    assert everywhere - oldest == set(unmet(ground({VARIABLE: "1.33"})))
    assert set(files) <= set(versions.CORE)


def test_the_newest_lacks_nothing_and_is_what_a_run_is_on_unless_told_otherwise() -> None:
    newest = ground({})
    assert newest == ground({VARIABLE: "1.36"})
    assert unmet(newest) == {}
    assert told({}) == []


def test_a_run_says_what_did_not_apply_and_why() -> None:
    said = told({VARIABLE: "1.33-switched"})
    assert said[0].startswith("on Kubernetes 1.33.")
    assert said[0].endswith(", streaming lists on, no policies")
    assert len(said) == 1 + len([need for need in NEEDS.values() if need is not Need.STREAMS])
    assert all(line.startswith("did not apply: tests/") for line in said[1:])
    assert said[1].endswith(": no MutatingAdmissionPolicy is in force")
    assert told({VARIABLE: "1.36-switched"})[1].endswith(": there are no streaming lists")


def test_both_kinds_of_lists_and_every_way_to_rewrite_pods_are_tried() -> None:
    tried = {(one.minor.name, one.streams, one.policies) for one in GROUNDS}
    for name in ("1.33", "1.34", "1.35", "1.36"):
        assert {streams for minor, streams, _ in tried if minor == name} == {True, False}
    assert {policies for _, _, policies in tried} == {"", "v1beta1", "v1"}


def test_a_version_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(pytest.UsageError, match=r"REROLL_TEST_KUBERNETES is '1\.32'; there is 1\."):
        ground({VARIABLE: "1.32"})
    with pytest.raises(SystemExit, match=r"there is no 1\.32; there is 1\.33, 1\.33-switched, "):
        versions.chosen(["1.32", "oldest"])


def test_versions_are_chosen_by_name() -> None:
    names = [one.name for one in versions.chosen(["newest", "oldest", "1.34-switched"])]
    assert names == ["1.33", "1.34-switched", "1.36"]
    assert versions.chosen(["all"]) == list(GROUNDS)


def test_every_file_of_the_core_is_there() -> None:
    assert [name for name in versions.CORE if not (ROOT / name).is_file()] == []
    assert len(versions.CORE) == len(set(versions.CORE))


def test_the_table_in_the_guide_is_current() -> None:
    written = version_table.PAGE.read_text(encoding="utf-8")
    assert version_table.table() in written, f"run `{version_table.UPDATE}`"
    assert written == version_table.current()
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"[{NAMES[0]} to {NAMES[-1]}](guides/install-chart.md#older-clusters)" in install
