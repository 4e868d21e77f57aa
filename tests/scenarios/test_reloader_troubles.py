"""Bad values in Reloader's annotations, and Reloader itself still at work."""

import hashlib
from collections.abc import Callable

import pytest
from tests.scenarios.reloads import AUTO
from tests.scenarios.stage import Controller, Stage, Web, eventually
from tests.support import build

from reroll_dev.api import path_to

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
RELOAD = "configmap.reloader.stakater.com/reload"
PERIOD = "deployment.reloader.stakater.com/pause-period"
SLOW = "(a*)*" * 20 + "b"
BAD = {
    "expression": {RELOAD: "(oops, app"},
    "list": {**AUTO, "configmaps.exclude.reloader.stakater.com/reload": "a*b, other"},
    "duration": {**AUTO, PERIOD: "5 minutes"},
    "boolean": {"reloader.stakater.com/auto": "yes", RELOAD: "app"},
    "search": {"reloader.stakater.com/search": "TRUE", RELOAD: "app"},
}


def test_a_bad_value_is_a_reason_on_its_workload_and_everybody_goes_on(
    stage: Stage, controller: Start, web: Web
) -> None:
    made = [
        build.deployment(name, replicas=0, annotations=annotations, uses="configmap/app")
        for name, annotations in BAD.items()
    ]
    fine = build.deployment("fine", annotations={RELOAD: f"{SLOW}, app"}, uses="configmap/app")
    stage.make(build.configmap("app"), build.configmap("a" * 250), *made, fine)
    running = controller(*web.flags)
    numbers = [stage.adopted(one)["n"] for one in (*made, fine)]

    stage.change("ConfigMap", "app", key="new")

    for one, number in zip((*made, fine), numbers, strict=True):
        stage.rolled(one, since=number)
    for one in made:
        name = one["metadata"]["name"]
        (event,) = eventually(lambda o=one: stage.events(o, "InvalidAnnotation"), name)
        assert "annotation " in event["message"]
        assert running.said("InvalidAnnotation", f"/{name}")
    assert not stage.events(fine, "InvalidAnnotation")
    told = {k: v for k, v in web.metrics().items() if k.startswith("reroll_problems_total")}
    assert sum(told.values()) == len(made)


def as_reloader(stage: Stage, web: build.Object, content: str) -> None:
    """What Reloader does: a strategic merge patch, with a field manager of its own."""
    digest = hashlib.sha1(content.encode()).hexdigest()
    variable = {"name": "STAKATER_APP_CONFIGMAP", "value": digest}
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [variable]}]}}}}
    stage.api.patch(stage.path(web), body, "strategic", fieldManager="Reloader")


def test_reloader_at_work_beside_this_controller_is_told_once_and_not_fought(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", annotations=AUTO, uses="configmap/app")
    stage.make(build.configmap("app", {"key": "1"}), web)
    running = controller("--debounce", "3s")  # Reloader is faster, on a busy machine too.
    stage.adopted(web)

    for value in ("2", "3"):
        stage.settled(web)  # Each template gets a ReplicaSet.
        number = stage.record(web)["n"]
        stage.change("ConfigMap", "app", key=value)
        as_reloader(stage, web, f"key={value}")
        eventually(lambda n=number: stage.record(web)["n"] > n, "it is recorded")
        assert stage.record(web)["why"] == "RolledElsewhere"

    eventually(lambda: stage.events(web, "OtherController"), "it is told")
    stage.settled(web)
    assert len(stage.events(web, "OtherController")) == 1
    assert len(running.said("OtherController")) == 1
    assert len(stage.revisions(web)) == 3


def test_a_cluster_that_reloader_left_is_adopted_without_a_roll_and_goes_on_from_there(
    stage: Stage, controller: Start
) -> None:
    """The variable that Reloader made is of an older content: that is no reason to roll."""
    web = build.deployment(
        "web",
        annotations=AUTO,
        uses="configmap/app",
        env=[{"name": "STAKATER_APP_CONFIGMAP", "value": "0" * 40}, {"name": "B", "value": "b"}],
    )
    stage.make(build.configmap("app"), web)
    before = stage.template(web)
    controller()
    number = stage.adopted(web)["n"]
    stage.quiet(web)
    assert stage.template(web) == before
    assert len(stage.revisions(web)) == 1

    stage.api.patch(path_to("ConfigMap", "app", stage.namespace), {"data": {"key": "new"}})

    stage.rolled(web, since=number)
    assert stage.template(web)["spec"]["containers"][0]["env"] == [
        {"name": "STAKATER_APP_CONFIGMAP", "value": hashlib.sha1(b"key=new").hexdigest()},
        {"name": "B", "value": "b"},
    ]
