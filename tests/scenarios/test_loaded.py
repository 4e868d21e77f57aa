"""What the controller has loaded after its first rolls: memory that it keeps while it runs."""

from pathlib import Path

from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build
from tests.support.loaded import unasked


def test_a_controller_that_rolls_by_its_defaults_has_loaded_nothing_that_nobody_asked_for(
    stage: Stage, namespace: str, reroll_kubeconfig: Path, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded"
    controller = Controller(reroll_kubeconfig, namespace, tmp_path / "reroll.log")
    controller.program = ("-m", "tests.support.loaded", str(loaded))
    app = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    password = build.deployment("db", uses="secret/db#password", annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), app, password)
    controller.start()
    first = stage.adopted(app)
    second = stage.adopted(password)

    stage.change("ConfigMap", "app", key="new")
    stage.change("Secret", "db", password="correct horse")
    stage.rolled(app, since=first["n"])
    stage.rolled(password, since=second["n"])
    assert controller.stop() == 0

    modules = loaded.read_text(encoding="utf-8").split()
    assert "reroll.core.decide.roll" in modules
    assert unasked(modules) == []
