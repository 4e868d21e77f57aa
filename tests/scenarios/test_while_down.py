"""What happened while nobody watched is told from the revisions of a workload."""

import time
from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build

Start = Callable[..., Controller]
SECOND = 1.1
"""Kubernetes tells whole seconds: what must be told apart is this far apart."""


@pytest.mark.parametrize("kind", ["deployment", "statefulset"])
def test_a_deploy_that_was_taken_back_does_not_hide_a_change(
    stage: Stage, controller: Start, kind: str
) -> None:
    web = getattr(build, kind)("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = controller()
    first = stage.adopted(web)
    stage.settled(web)
    one.stop()
    path = ("spec", "template", "spec", "containers", 0, "image")
    image = {"op": "replace", "path": "/" + "/".join(map(str, path))}

    time.sleep(SECOND)
    stage.change("ConfigMap", "app", key="new")
    time.sleep(SECOND)
    for value in ("example.invalid/app:bad", "example.invalid/app:1"):
        stage.api.patch(stage.path(web), [{**image, "value": value}], kind="json")
        stage.settled(web)
    one.start()

    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app"]


def test_a_digest_key_that_was_emptied_is_told_and_lost_nothing(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", uses="secret/db", annotations=ENABLED)
    stage.make(build.secret("db"), web)
    one = controller()
    stage.adopted(web)
    one.stop()
    key = f"/api/v1/namespaces/{stage.namespace}/secrets/reroll-digest-key"
    kept = stage.api.get(key)["data"]

    stage.api.patch(key, {"data": dict.fromkeys(kept)})
    one.start(wait="cannot start yet")
    told = one.wait_for(lambda line: line["msg"] == "cannot start yet")
    stage.api.patch(key, {"data": kept})
    stage.change("Secret", "db", password="new")

    assert "delete it, and a new one is made" in told["problem"]
    assert stage.rolled(web, since=stage.record(web)["n"] - 1)
