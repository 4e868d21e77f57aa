"""The example of the article that explains Wave, and what its visitors see of a roll."""

from collections.abc import Callable

import pytest
from tests.node.serving import DRAIN, Client, ServingStage, serving
from tests.scenarios.stage import Controller
from tests.support import build
from tests.support.wave import IN

PAGE = "/www/index.html"


@pytest.mark.usefixtures("every_dialect")
def test_visitors_see_the_new_page_and_not_one_request_fails(
    stage: ServingStage, controller: Callable[..., Controller], client: Callable[..., Client]
) -> None:
    nginx = build.deployment(
        "nginx",
        replicas=3,
        annotations=IN,
        volumes=[{"name": "cfg", "configMap": {"name": "application-config"}}],
        volume_mounts=[{"name": "cfg", "subPath": "index.html", "mountPath": PAGE}],
        **serving(**DRAIN),
    )
    stage.make(build.configmap("application-config", {"index.html": "Hello world"}), nginx)
    controller()
    stage.adopted(nginx)
    stage.settled(nginx)
    visitor = client(nginx)
    visitor.goes_on()
    assert set(visitor.answers) == {"Hello world"}

    stage.change("ConfigMap", "application-config", **{"index.html": "updated"})

    stage.all_answer(nginx, "/", "updated")
    stage.settled(nginx)
    stage.old_ones_end(nginx)
    old = visitor.answers["Hello world"]
    visitor.goes_on()
    visitor.stop()
    assert visitor.failures == []
    assert visitor.answers == {"Hello world": old, "updated": visitor.answers["updated"]}
    assert len(stage.revisions(nginx)) == 2
