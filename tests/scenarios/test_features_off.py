"""A workload that asks for a feature that is off is told so, and rolls without it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.command import reroll

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

REVISIONS = {**ENABLED, "reroll.dev/revisions": "true"}


@pytest.mark.parametrize(
    ("feature", "asked"),
    [("revisions", REVISIONS), ("evict", {**ENABLED, "reroll.dev/strategy": "evict"})],
)
def test_it_rolls_by_stamp_and_one_event_says_which_value_to_set(
    stage: Stage,
    controller: Callable[..., Controller],
    cluster: DevCluster,
    tmp_path: Path,
    feature: str,
    asked: dict[str, str],
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=asked)
    stage.make(build.configmap("app"), web)
    controller("--features", "reload")
    number = stage.adopted(web)["n"]

    [event] = eventually(lambda: stage.events(web, "FeatureOff"), "an Event tells of it")
    assert f"{feature} is off in this installation" in event["message"]
    assert f"set the chart's value features.{feature} to true" in event["message"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    annotations = stage.template(web)["metadata"]["annotations"]
    assert "reroll.dev/config-hash" in annotations
    assert "reroll.dev/pins" not in annotations
    assert len(stage.events(web, "FeatureOff")) == 1

    config = tmp_path / "reroll.yaml"
    config.write_text("features: [reload]\n")
    place = ("-n", stage.namespace, "--controller-namespace", stage.namespace, "--config", config)
    login = ("--kubeconfig", cluster.kubeconfig("admin"))
    said = reroll("explain", "deployment/web", *place, *login, "-o", "json")
    assert said.code == Exit.OK
    assert f"{feature} is off" in said.json["warnings"][0]


def test_pins_of_a_workload_go_when_the_feature_is_switched_off(
    stage: Stage, controller: Callable[..., Controller]
) -> None:
    named = {**REVISIONS, "reroll.dev/pin": "template"}
    web = build.deployment("web", uses="configmap/app", annotations=named)
    stage.make(build.configmap("app"), web)
    running = controller("--features", "revisions")
    pins = "reroll.dev/pins"
    eventually(lambda: pins in stage.template(web)["metadata"].get("annotations", ()), "its pins")
    running.stop()

    controller("--features", "reload")
    eventually(
        lambda: pins not in stage.template(web)["metadata"].get("annotations", ()), "no pins"
    )
    number = stage.record(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
