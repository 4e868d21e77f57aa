"""The workflows: their commands are the Makefile's, and what they use is pinned."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.versions import chosen

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE, NIGHTLY = (
    ROOT / ".github" / "workflows" / name for name in ("release.yml", "nightly.yml")
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"(?m)^\.PHONY: (\S+)$", MAKEFILE))


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(path).values():
        yield from job["steps"]


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_is_a_target_of_the_makefile(path: Path) -> None:
    found = [step["run"] for step in steps(path) if "run" in step]
    assert found
    assert [text for text in found if text.removeprefix("make ") not in TARGETS] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_named_by_its_commit_and_says_its_version(path: Path) -> None:
    lines = re.findall(r"(?m)^.*\buses: (.*)$", path.read_text(encoding="utf-8"))
    assert len(lines) == len([step for step in steps(path) if "uses" in step])
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_it_publishes_after_the_tests_and_in_this_order() -> None:
    found = jobs(RELEASE)
    assert commands(found["test"]) == ["make test"]
    assert commands(found["versions"]) == ["make test-versions"]
    assert commands(found["neighbours"]) == ["make test-neighbours"]
    assert found["publish"]["needs"] == ["test", "versions", "neighbours"]
    order = ["release", "release-push", "release-sign", "release-publish"]
    assert commands(found["publish"]) == [f"make {target}" for target in order]


def test_the_tiers_of_every_night_are_those_before_a_release() -> None:
    nightly, release = jobs(NIGHTLY), jobs(RELEASE)
    assert nightly == {name: release[name] for name in ("versions", "neighbours")}


@pytest.mark.parametrize("path", [RELEASE, NIGHTLY], ids=lambda path: path.name)
def test_the_oldest_and_the_newest_kubernetes_are_tried(path: Path) -> None:
    job = jobs(path)["versions"]
    assert job["env"] == {"KUBERNETES": "${{ matrix.kubernetes }}"}
    words = job["strategy"]["matrix"]["kubernetes"]
    assert [[one.name for one in chosen([word])] for word in words] == [["1.33"], ["1.36"]]
    assert re.search(r"(?m)^KUBERNETES \?=", MAKEFILE)


def test_what_it_sets_is_read_by_the_makefile() -> None:
    read = set(re.findall(r"(?m)^(\w+) \?=", MAKEFILE))
    given = set(jobs(RELEASE)["publish"]["env"]) - {"GH_TOKEN"}
    assert {"TAG", "IMAGE", "REPOSITORY", "BUILDER", "CHARTS"} == given
    assert given <= read


def test_it_has_no_rights_but_those_of_its_jobs_and_keeps_no_credentials() -> None:
    whole = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))
    assert whole["permissions"] == {}
    assert yaml.safe_load(NIGHTLY.read_text(encoding="utf-8"))["permissions"] == {}
    for name in ("test", "versions", "neighbours"):
        assert whole["jobs"][name]["permissions"] == {"contents": "read"}
    checkouts = [s for s in steps(RELEASE) if s.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"] for step in checkouts] == [{"persist-credentials": False}] * 4


def test_what_it_attests_is_what_was_built_and_pushed() -> None:
    attested = [s["with"] for s in steps(RELEASE) if "attest-build-provenance" in s.get("uses", "")]
    files, image = attested
    assert files == {"subject-checksums": "dist/release/SHA256SUMS"}
    assert image["subject-digest"] == "${{ steps.push.outputs.digest }}"
    (push,) = [step for step in steps(RELEASE) if step.get("id") == "push"]
    assert push["run"] == "make release-push"
    assert "digest=" in MAKEFILE
