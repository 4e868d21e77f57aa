"""Argo Rollouts: their own template, and that of a Deployment they refer to."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, STAMP, Controller, Stage, eventually
from tests.support import build

from reroll_dev.api import path_to

Start = Callable[..., Controller]
pytestmark = pytest.mark.usefixtures("rollouts")


def referring(**annotations: str) -> build.Object:
    """A Rollout that runs the template of the Deployment `web`."""
    keys = {f"reroll.dev/{key}": value for key, value in annotations.items()}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "annotations": keys},
        "spec": {
            "replicas": 2,
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {"canary": {"steps": []}},
        },
    }


def template_only(**more: Any) -> build.Object:
    return build.deployment("web", replicas=0, uses="configmap/app", **more)


def uids(pods: list[build.Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def test_a_rollout_goes_through_its_canary_steps_with_the_new_configuration(
    stage: Stage, controller: Start
) -> None:
    steps = [{"setWeight": 50}, {"pause": {}}]
    web = build.rollout(uses="configmap/app", annotations=ENABLED, replicas=2, steps=steps)
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)

    stage.api.wait_for(stage.path(web), lambda seen: seen["status"].get("phase") == "Paused")
    stamps = [pod["metadata"].get("annotations", {}).get(STAMP) for pod in stage.pods(web)]
    assert sorted(stamps, key=str) == sorted([None, stage.stamp(web)], key=str)


def test_the_deployment_that_a_rollout_refers_to_is_stamped_and_the_rollout_rolls(
    stage: Stage, controller: Start
) -> None:
    deployment, web = template_only(), referring(enabled="true")
    stage.make(build.configmap("app"), deployment, web)
    controller()
    number = stage.adopted(deployment)["n"]
    stage.settled(web)
    assert len(stage.revisions(web)) == 1

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(deployment, since=number)

    stamp = stage.stamp(deployment)
    assert stamp
    eventually(
        lambda: (
            [pod["metadata"].get("annotations", {}).get(STAMP) for pod in stage.pods(web)]
            == [stamp] * 2
        ),
        "its pods are new",
    )
    stage.settled(web)
    stage.quiet(deployment)
    assert len(stage.revisions(web)) == 2


def test_a_rollout_that_opts_in_later_adopts_the_template_it_refers_to_and_rolls_nothing(
    stage: Stage, controller: Start
) -> None:
    deployment, web = template_only(), referring()
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), deployment, web, other)
    controller()
    number = stage.adopted(other)["n"]
    time.sleep(1.1)  # Kubernetes tells whole seconds: the change is newer than the pods
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(other, since=number)

    stage.annotate(web, enabled="true")
    number = stage.adopted(deployment)["n"]
    stage.quiet(deployment)
    assert stage.stamp(deployment) is None

    stage.change("ConfigMap", "app", key="newer")
    stage.rolled(deployment, since=number)

    stage.annotate(web, enabled="false")
    # Rollouts and sources come in streams of their own: when it knows this one, it knows that.
    later = build.rollout("later", uses="configmap/app", annotations=ENABLED)
    stage.make(later)
    stage.adopted(later)
    number = stage.record(other)["n"]
    before = stage.record(deployment)["n"]
    stage.change("ConfigMap", "app", key="newest")
    stage.rolled(other, since=number)
    stage.quiet(deployment)
    assert stage.record(deployment)["n"] == before


def test_a_rollout_that_refers_to_a_deployment_can_have_its_pods_evicted(
    stage: Stage, controller: Start
) -> None:
    deployment, web = template_only(), referring(enabled="true", strategy="evict")
    stage.make(build.configmap("app"), deployment, web)
    controller()
    number = stage.adopted(deployment)["n"]
    stage.settled(web)
    old = stage.pods(web)
    assert len(old) == 2

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(deployment, since=number)
    eventually(lambda: "todo" not in stage.record(deployment), "every old pod was evicted")

    stage.settled(web)
    assert uids(stage.pods(web)).isdisjoint(uids(old))
    assert stage.stamp(deployment) is None
    assert len(stage.revisions(web)) == 1


def test_a_paused_rollout_holds_and_goes_on(stage: Stage, controller: Start) -> None:
    web = build.rollout(uses="configmap/app", annotations=ENABLED, spec={"paused": True})
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: stage.events(web, "Paused"), "an Event says that it is held")
    stage.quiet(web)

    stage.api.patch(path_to("Rollout", "web", stage.namespace), {"spec": {"paused": False}})
    stage.rolled(web, since=number)
