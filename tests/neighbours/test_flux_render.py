"""`reroll render` in the pipeline that publishes an artifact for Flux, as the guide has it."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.neighbours.gitops import config, used, web
from tests.neighbours.kustomizations import OFTEN, SOURCES, Kustomization
from tests.neighbours.looks import custom, templates
from tests.scenarios.stage import Stage, eventually, program_on_the_path
from tests.support.build import Object
from tests.support.oci_server import TAG, Registry
from tests.support.pages import DOCS, commands
from tests.support.session import programs

CHECKSUM = "checksum.reroll.dev/config"
RENDER = next(
    line
    for line in commands((DOCS / "guides" / "render.md").read_text(encoding="utf-8"))
    if "> rendered/" in line
)


@pytest.fixture
def registry() -> Iterator[Registry]:
    one = Registry()
    with one.served():
        yield one


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which the commands of the guide run."""
    place = program_on_the_path(tmp_path, monkeypatch)
    (place / "kustomize").symlink_to(programs(["kustomize"], os.environ)["kustomize"])
    checkout = tmp_path / "checkout"
    (checkout / "rendered").mkdir(parents=True)
    files = "resources: [config.yaml, web.yaml]\n"
    (checkout / "kustomization.yaml").write_text(files)
    return checkout


class Pipeline:
    """What renders and publishes, and the source from which Flux has it."""

    def __init__(self, registry: Registry, checkout: Path, *flags: str) -> None:
        self._registry, self._checkout = registry, checkout
        self._command = RENDER.replace("reroll render", " ".join(("reroll render", *flags)))
        spec = {"url": registry.url, "ref": {"tag": TAG}, "interval": OFTEN, "insecure": True}
        self.source = custom(SOURCES, "OCIRepository", "app", spec=spec)

    def run(self, **manifests: Object) -> str:
        """The digest of what it published."""
        for name, manifest in manifests.items():
            (self._checkout / f"{name}.yaml").write_text(json.dumps(manifest))
        command = ["bash", "-euo", "pipefail", "-c", self._command]
        subprocess.run(command, cwd=self._checkout, check=True)
        return self._registry.push(self._checkout / "rendered")


def checksum(stage: Stage) -> str:
    return str(stage.template(web())["metadata"]["annotations"][CHECKSUM])


def test_rendered_by_the_pipeline_of_the_guide_a_change_of_config_alone_rolls_once(
    stage: Stage, flux: Kustomization, registry: Registry, shell: Path
) -> None:
    pipeline = Pipeline(registry, shell)
    digest = pipeline.run(config=config("blue"), web=web())
    flux.make(pipeline.source)
    flux.at(digest)
    stage.settled(web())
    first = checksum(stage)
    assert templates(stage, web()) == 1

    digest = pipeline.run(config=config("green"))
    flux.refresh()

    flux.at(digest)
    eventually(lambda: checksum(stage) != first, "it has another checksum")
    stage.settled(web())
    flux.is_calm(config(), web())
    assert templates(stage, web()) == 2


def test_with_content_names_flux_leaves_the_config_of_old_pods_where_it_is(
    stage: Stage, flux: Kustomization, registry: Registry, shell: Path
) -> None:
    """It prunes what is not in the artifact any more, but for what says that it stays."""
    pipeline = Pipeline(registry, shell, "--names", "--namespace", stage.namespace)
    digest = pipeline.run(config=config("blue"), web=web())
    flux.make(pipeline.source)
    flux.at(digest)
    first = used(stage)

    digest = pipeline.run(config=config("green"))
    flux.refresh()

    flux.at(digest)
    stage.settled(web())
    flux.is_calm(web())
    colours = [stage.get(config(name=name))["data"] for name in (first, used(stage))]
    assert colours == [{"COLOUR": "blue"}, {"COLOUR": "green"}]
    assert templates(stage, web()) == 2
