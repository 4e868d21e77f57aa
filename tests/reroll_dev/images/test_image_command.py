"""`reroll dev image`, the real command; and the product's own image, which it makes too."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import RUN_FOLDER
from tests.support.layouts import Layout

import reroll

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def image(pytestconfig: pytest.Config, tmp_path: Path) -> Command:
    env = {**os.environ, "XDG_CACHE_HOME": str(pytestconfig.stash[RUN_FOLDER] / "cache")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reroll", "dev", "image", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=env, text=True, capture_output=True, check=False
        )

    return run


def test_a_folder_on_the_base_is_an_image(image: Command, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text("print('hello')\n")
    start = ("--entrypoint", "python3 /main.py", "--user", "65532:65532", "--workdir", "/tmp")
    more = ("-e", "COLOUR=blue", "--port", "8080", "--to", "app.tar")

    done = image("app", "--tag", "app:1", "--base", "python", *start, *more)

    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/app.tar\n"), done.stderr
    made = Layout(tmp_path / "app.tar")
    assert made.files()["main.py"].content == b"print('hello')\n"
    assert "usr/local/bin/python3" in made.files()
    told = made.config["config"]
    assert (told["Entrypoint"], told["WorkingDir"]) == (["python3", "/main.py"], "/tmp")
    assert told["Env"][-1] == "COLOUR=blue"


@pytest.mark.slow
def test_the_image_of_the_product_is_made_on_the_base(image: Command, tmp_path: Path) -> None:
    done = image("reroll", "--to", "reroll.tar")

    assert done.returncode == 0, done.stderr
    made = Layout(tmp_path / "reroll.tar")
    name = made.descriptor["annotations"]["io.containerd.image.name"]
    assert name == "localhost/reroll:dev"
    told = made.config["config"]
    assert (told["Entrypoint"], told["Cmd"]) == (["python3", "-m", "reroll"], ["run"])
    assert told["Labels"]["org.opencontainers.image.version"] == reroll.__version__
    assert "opt/reroll/lib/reroll/__main__.py" in made.files()
    assert "usr/local/bin/python3" in made.files()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("web.tar", "--to", "x.tar"), "--tag web:1"),
        (("nothing", "--tag", "web:1", "--to", "x.tar"), "there is no nothing"),
        ((".", "--tag", "WEB", "--to", "x.tar"), "cannot be the name of an image"),
        ((".", "--tag", "web:1", "--to", "none/x.tar"), "make it first"),
        ((".", "--tag", "web:1", "-e", "COLOUR", "--to", "x.tar"), "is no NAME=VALUE"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_sentence(
    image: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = image(*arguments)

    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
