"""The controller as an image has it, without the image: from the folder that it is made of."""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build
from tests.support.fixtures_image import Built


def files(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        seen = path.stat()
        found[str(path)] = (seen.st_size, seen.st_mtime_ns)
    return found


def test_the_controller_runs_from_it_and_writes_nothing(
    built: Built, image_scripts: ModuleType, stage: Stage, start_from: Callable[..., Controller]
) -> None:
    before = files(built.folder)
    web = build.deployment(uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    # What the Dockerfile sets; there is no home and no place for temporary files.
    told = {**image_scripts.ENVIRONMENT, "PYTHONPATH": str(built.library)}
    running = start_from({**told, "HOME": "/nonexistent", "TMPDIR": "/nonexistent"})
    number = stage.adopted(web)["n"]

    stage.change("Secret", "db", password="new")

    stage.rolled(web, since=number)
    assert running.stop() == 0
    assert files(built.folder) == before
    loaded = next(line for line in running.lines() if line["msg"] == "starting")
    assert loaded["version"] == image_scripts.version()


@pytest.fixture
def start_from(
    reroll_kubeconfig: Path, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Controller]:
    """A controller that knows no more of this machine than these variables."""

    def start(variables: dict[str, str]) -> Controller:
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir("/")
        one = Controller(reroll_kubeconfig, namespace, tmp_path / "reroll.log")
        one.program = ("-S", "-m", "reroll")  # without the packages of this environment
        one.start()
        return one

    return start
