"""The Dockerfile: what can be said of it without building it, which `tests/builder` does."""

import fnmatch
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.support.fixtures_image import ROOT


class Step(NamedTuple):
    stage: int
    word: str
    rest: str


def steps(path: Path = ROOT / "Dockerfile") -> Iterator[Step]:
    """Its instructions, each on one line."""
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    stage = -1
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            stage += word == "FROM"
            yield Step(stage, word, " ".join(rest.split()))


def of_image(word: str) -> list[str]:
    """What the last stage says, which is the image."""
    found = list(steps())
    return [step.rest for step in found if step.stage == found[-1].stage and step.word == word]


def pairs(texts: list[str]) -> dict[str, str]:
    return dict(part.split("=", 1) for text in texts for part in shlex.split(text))


def test_it_has_two_stages_of_a_base_that_is_named_with_its_version() -> None:
    bases = [step.rest for step in steps() if step.word == "FROM"]
    (base,) = (step.rest for step in steps() if step.word == "ARG" and step.stage < 0)

    assert bases == ["${BASE} AS build", "${BASE}"]
    assert re.fullmatch(r"BASE=python:3\.\d+-slim", base)


def test_it_sets_what_the_script_sets(image_scripts: ModuleType) -> None:
    assert pairs(of_image("ENV")) == image_scripts.ENVIRONMENT
    assert of_image("USER") == [image_scripts.USER]
    assert tuple(json.loads(of_image("ENTRYPOINT")[0])) == image_scripts.ENTRYPOINT
    assert tuple(json.loads(of_image("CMD")[0])) == image_scripts.CMD
    assert tuple(map(int, of_image("EXPOSE")[0].split())) == image_scripts.PORTS
    assert of_image("ARG") == ["BASE", f"VERSION={image_scripts.version()}"]
    labels = image_scripts.labels() | {
        "org.opencontainers.image.version": "${VERSION}",
        "org.opencontainers.image.base.name": "${BASE}",
    }
    assert pairs(of_image("LABEL")) == labels


def test_it_runs_as_a_number_that_is_not_root_from_the_first_step_after_the_copy() -> None:
    words = [step.word for step in steps() if step.stage == 1]

    assert of_image("USER")[0].split(":")[0].isdecimal()
    assert of_image("USER")[0].split(":")[0] != "0"
    assert words.index("USER") > words.index("COPY")
    assert {"ADD", "VOLUME", "ONBUILD", "MAINTAINER"}.isdisjoint(words)


def test_it_fetches_nothing_but_what_the_lock_names() -> None:
    commands = " ".join(step.rest for step in steps() if step.word == "RUN")

    for program in ("curl", "wget", "apt-get", "apk", "git", "pip install"):
        assert program not in commands
    assert '["python", "deploy/image/build.py", "/image"]' in commands


def test_what_it_copies_is_there_and_is_let_in() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    copied = [
        source
        for step in steps()
        if step.word == "COPY" and "--from" not in step.rest
        for source in step.rest.split()[:-1]
    ]

    assert "*" in rules
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / source).exists() for source in copied)
    assert any(fnmatch.fnmatch("src/reroll/__pycache__", f"*{rule[2:]}") for rule in rules)


def hadolint(text: str) -> str:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, "-"], input=text, text=True, capture_output=True, check=False)
    return done.stdout


def test_the_linter_finds_nothing_and_would_find_something() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert hadolint(text) == ""
    assert "DL3020" in hadolint(text.replace("COPY src", "ADD src"))
