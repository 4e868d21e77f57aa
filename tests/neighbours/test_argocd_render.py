"""`reroll render` as a plugin of Argo CD's repository server, as the guide has it."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from tests.neighbours.argo import Application
from tests.neighbours.gitops import config, used, web
from tests.neighbours.looks import templates
from tests.scenarios.stage import Stage, eventually, program_on_the_path
from tests.support.fixtures_neighbours import Running
from tests.support.pages import DOCS, files
from tests.support.session import programs

CHECKSUM = "checksum.reroll.dev/config"
PLUGIN = files((DOCS / "guides" / "render.md").read_text(encoding="utf-8"))["plugin.yaml"]


@pytest.fixture
def plugin(
    neighbour: Callable[[str], Running],
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[str]:
    """The name of the guide's plugin, which runs beside the repository server as a sidecar does.

    A parameter is what it is told beside that.
    """
    running = neighbour("argocd")
    place = program_on_the_path(tmp_path, monkeypatch)
    (place / "kustomize").symlink_to(programs(["kustomize"], os.environ)["kustomize"])
    sockets, settings = running.folder / "plugins", tmp_path / "plugin"
    for folder in (sockets, settings):
        folder.mkdir(exist_ok=True)
    told = f"reroll render {getattr(request, 'param', '')}"
    document = yaml.safe_load(PLUGIN.replace("reroll render", told))
    document["metadata"]["name"] = namespace
    (settings / "plugin.yaml").write_text(yaml.safe_dump(document))
    with (tmp_path / "plugin.log").open("wb") as log:
        process = subprocess.Popen(
            [running.programs["argocd"], "cmp-server", "--config-dir-path", settings],
            env={**os.environ, "ARGOCD_PLUGINSOCKFILEPATH": str(sockets)},
            stdout=log,
            stderr=log,
        )
    socket = sockets / f"{namespace}.sock"
    try:
        eventually(socket.exists, "the plugin listens", 60, (tmp_path / "plugin.log").read_text)
        yield namespace
    finally:
        process.kill()  # When asked to end, it waits for callers that stay.
        process.wait(20)


def checksum(stage: Stage) -> str:
    return str(stage.template(web())["metadata"]["annotations"][CHECKSUM])


def test_rendered_by_the_plugin_of_the_guide_a_commit_of_config_alone_rolls_once(
    stage: Stage, argocd: Application, plugin: str
) -> None:
    repository = argocd.repository
    repository.write("kustomization.yaml", "resources: [configmap-app.yaml, deployment-web.yaml]\n")
    revision = repository.commit(config("blue"), web())
    argocd.make(plugin=plugin)
    argocd.at(revision)
    stage.settled(web())
    first = checksum(stage)
    assert templates(stage, web()) == 1

    revision = repository.commit(config("green"))
    argocd.refresh()

    eventually(lambda: checksum(stage) != first, "it has another checksum")
    argocd.at(revision)
    stage.settled(web())
    argocd.is_calm()
    assert templates(stage, web()) == 2


@pytest.mark.parametrize("plugin", ["--names"], indirect=True)
def test_with_content_names_the_config_of_old_pods_stays_and_argo_cd_is_in_sync(
    stage: Stage, argocd: Application, plugin: str
) -> None:
    """It may not prune the old config, and does not tell that as a difference."""
    repository = argocd.repository
    repository.write("kustomization.yaml", "resources: [configmap-app.yaml, deployment-web.yaml]\n")
    revision = repository.commit(config("blue"), web())
    argocd.make(plugin=plugin)
    argocd.at(revision)
    first = used(stage)

    revision = repository.commit(config("green"))
    argocd.refresh()

    eventually(lambda: used(stage) != first, "it uses another config")
    argocd.at(revision)
    stage.settled(web())
    argocd.is_calm()
    colours = [stage.get(config(name=name))["data"] for name in (first, used(stage))]
    assert colours == [{"COLOUR": "blue"}, {"COLOUR": "green"}]
    assert templates(stage, web()) == 2
