"""From the release before to this one and back, by Helm, while changes go on."""

from collections.abc import Callable
from pathlib import Path

from tests.node.installation.installed import Installation
from tests.node.installation.pages import Editor, page, web
from tests.node.serving import DRAIN, Client, ServingStage
from tests.scenarios.stage import ENABLED
from tests.support import build, release_before
from tests.support.templates import Templates

from reroll_dev.images.made import name_of


def images(installed: Installation) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in installed.pods().values()}


def test_an_upgrade_and_a_rollback_lose_no_change_and_fail_no_request(
    installation: Installation, before: Path, stage: ServingStage, client: Callable[..., Client]
) -> None:
    one = web(annotations=ENABLED, replicas=2, drain=DRAIN["WEB_DRAIN"])
    still = build.deployment("still", replicas=0, annotations=ENABLED, uses="configmap/other")
    stage.make(page("edition 0"), build.configmap("other"), one, still)
    installation.apply("install", {}, chart=before, image=release_before.NAME)
    for each in (one, still):
        stage.adopted(each)
    stage.settled(one)
    visitor = client(one)
    with Templates(stage.api, stage.namespace, "Deployment") as templates:
        with Editor(stage) as editor:
            installation.apply("upgrade", {})
            assert images(installation) == {name_of("reroll")}
            editor.goes_on()
            installation.helm("rollback", "--wait")
            installation.settled()
            assert images(installation) == {release_before.NAME}
            editor.goes_on()
            installation.apply("upgrade", {})
        stage.all_answer(one, "/", editor.text)
        stage.settled(one)
        visitor.goes_on()

        templates.check(one, editor.versions)
        assert len(templates.of(still)) == 1
    assert visitor.failures == []
    assert installation.restarts() == 0
