"""What a rollout says about its configuration: failed, stuck for another reason, or nothing yet."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scenarios import custom
from tests.scenarios.propagating import (
    KUBELET,
    Start,
    all_healthy,
    begun,
    change,
    judged,
    new_pods,
    patch_status,
    rolled,
    sick,
    told,
    trial,
    verdict,
    waiting,
    web,
)
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object

from reroll.core.tables.kinds import KINDS, Kind
from reroll_dev.api import path_to

KIND = {kind.name: kind for kind in KINDS}


def took(stage: Stage, one: Object) -> timedelta:
    """From the roll to its verdict."""
    record = stage.record(one)
    return datetime.fromisoformat(record["trial"]["at"]) - datetime.fromisoformat(record["rolled"])


def pair(**more: Any) -> list[Object]:
    """Two, of which the second comes after the first; `more` is for the first."""
    return [web(0, **more), web(1, wave="1")]


# Times


@pytest.mark.slow
def test_a_progress_deadline_that_is_shorter_than_the_soak_time_is_no_failure(
    stage: Stage, controller: Start
) -> None:
    webs = pair(soak="8s", spec={"progressDeadlineSeconds": 6})
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)

    change(stage, "second")
    all_healthy(stage, webs)

    assert took(stage, webs[0]) >= timedelta(seconds=8)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_pods_that_are_ready_count_when_they_are_available(
    stage: Stage, controller: Start, kind: str
) -> None:
    webs = pair(of=KIND[kind], spec={"minReadySeconds": 3})
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)

    change(stage, "second")
    all_healthy(stage, webs)

    assert took(stage, webs[0]) >= timedelta(seconds=2)


@pytest.mark.slow
def test_a_custom_kind_is_judged_by_its_counts_once_its_operator_has_seen_the_change(
    stage: Stage, started: Callable[..., Controller]
) -> None:
    [row] = [one for one in custom.EXAMPLE_KINDS if one.name == "CloneSet.apps.kruise.io"]
    said = {"reroll.dev/wave": "0", "reroll.dev/max-parallel": "one"}
    one = custom.made(row, "web-0", custom.SAMPLES[row.name].spec, **said)
    after = web(1, wave="1")
    data = {"level": "1", "key": "value"}
    stage.make(build.configmap(data=data), build.secret("db"), one, after)
    operate(stage, one)
    process = started(custom.rows("openkruise"))
    stage.adopted(one)
    stage.adopted(after)
    stage.settled(after)

    stage.change("ConfigMap", "app", level="2")
    stage.rolled(one, since=0)
    stage.quiet(after)
    assert verdict(stage, one) == ""

    operate(stage, one, available=0)
    stage.quiet(after)
    assert verdict(stage, one) == ""
    operate(stage, one)
    all_healthy(stage, [one, after])
    assert not process.said("Failing")


def operate(stage: Stage, one: Object, available: int = 1) -> None:
    """What the operator of a CloneSet writes once its pods are new."""
    generation = stage.get(one)["metadata"]["generation"]
    status = {
        "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1,
        "availableReplicas": available,
    }  # fmt: skip
    stage.api.patch(f"{stage.path(one)}/status", {"status": status})


# Scaling


def scale(stage: Stage, one: Object, replicas: int) -> None:
    """As an autoscaler does it."""
    stage.api.patch(f"{stage.path(one)}/scale", {"spec": {"replicas": replicas}})


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize("phase", ["rollout", "soak"])
def test_to_be_scaled_is_no_sickness(
    stage: Stage, controller: Start, kind: str, phase: str
) -> None:
    slow = {"dev.reroll.dev/ready-after": "2s"}
    webs = pair(of=KIND[kind], soak="4s", template_annotations=slow)
    stage.make(build.configmap(), *webs)
    one = begun(stage, controller, webs)
    change(stage, "second")
    eventually(lambda: rolled(stage, webs[:1]), "the first rolls")
    if phase == "soak":
        stage.settled(webs[0])

    scale(stage, webs[0], 3)
    eventually(lambda: len(stage.pods(webs[0])) >= 2, "it is scaled")
    scale(stage, webs[0], 2)

    all_healthy(stage, webs)
    assert not one.said("Failing")
    assert not one.said("Stuck")


@pytest.mark.slow
def test_pods_that_are_wanted_after_the_deadline_have_their_time(
    stage: Stage, controller: Start
) -> None:
    slow = {"dev.reroll.dev/ready-after": "1s"}
    first = web(0, of=KIND["StatefulSet"], replicas=0, deadline="5s", template_annotations=slow)
    second = web(1, wave="1")
    stage.make(build.configmap(), first, second)
    one = begun(stage, controller, [second])
    stage.adopted(first)
    change(stage, "second")
    all_healthy(stage, [second])
    assert verdict(stage, first) == ""
    time.sleep(5)  # Its deadline: there was nothing to be judged by.

    scale(stage, first, 1)

    judged(stage, first, "healthy")
    assert not one.said("Failing")


# Not the fault of the configuration


def stuck(stage: Stage, webs: list[Object], *words: str) -> None:
    """The first is stuck for this reason, nothing was rolled back, and the second is stopped."""
    why = judged(stage, webs[0], "stuck")["why"]
    assert all(word in why for word in words), why
    told(stage, webs[0], "Stuck", *words)
    told(stage, webs[1], "Stopped", "web-0")
    assert rolled(stage, webs[1:]) == []
    stage.quiet(webs[0])
    assert "back" not in trial(stage, webs[0])
    assert not stage.events(webs[0], "RolledBack")


def with_time(stage: Stage, one: Object, seconds: int) -> None:
    if one["kind"] == "Deployment":
        stage.api.patch(stage.path(one), {"spec": {"progressDeadlineSeconds": seconds}})
    else:
        stage.annotate(one, deadline=f"{seconds}s")


KINDS_OF_PODS = pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])


@pytest.mark.thorough
@KINDS_OF_PODS
def test_an_image_that_cannot_be_pulled_holds_and_a_missing_key_is_a_failure_that_is_named(
    stage: Stage, controller: Start, kind: str
) -> None:
    image, key = pair(of=KIND[kind], on_failure="rollback"), "other"
    config = [web("key", of=KIND[kind], uses=[f"configmap/{key}"]),
              web("after", uses=[f"configmap/{key}"], wave="1")]  # fmt: skip
    stage.make(build.configmap(), build.configmap(key), image[1], config[1])
    for first in (image[0], config[0]):
        sick(stage, first, KUBELET)
        with_time(stage, first, 300)
    begun(stage, controller, [*image, *config])

    change(stage, "second")
    change(stage, "second", key)
    missing = f"couldn't find key level in ConfigMap {stage.namespace}/{key}"
    for first, reason, words in (
        (image[0], "ImagePullBackOff", "Back-off pulling image"),
        (config[0], "CreateContainerConfigError", missing),
    ):
        for pod in eventually(lambda first=first: new_pods(stage, first), "its new pods are there"):
            patch_status(stage, pod, waiting(reason, words))
        with_time(stage, first, 2)  # By then its pods were told what they wait for.

    stuck(stage, image, "ImagePullBackOff", "container main")
    assert missing in judged(stage, config[0], "failed")["why"]
    told(stage, config[1], "Stopped", "web-key", "key level")


@pytest.mark.slow
def test_a_quota_holds_and_takes_nothing_back(stage: Stage, controller: Start) -> None:
    webs = pair(on_failure="rollback", spec={"progressDeadlineSeconds": 2})
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}}
    stage.make({**quota, "spec": {"hard": {"pods": "2"}}})
    path = path_to("ResourceQuota", "pods", stage.namespace)
    stage.api.wait_for(path, lambda seen: seen.get("status", {}).get("used", {}).get("pods") == "2")

    change(stage, "second")

    stuck(stage, webs, "exceeded quota")
    # It goes on by itself once there is room.
    stage.api.patch(path, {"spec": {"hard": {"pods": "9"}}})
    all_healthy(stage, webs)


@pytest.fixture
def place(stage: Stage) -> Iterator[str]:
    """A label that one node has."""
    label = f"test.reroll.dev/{stage.namespace}"
    node = stage.api.list("/api/v1/nodes")[0]["metadata"]["name"]
    path = f"/api/v1/nodes/{node}"
    stage.api.patch(path, {"metadata": {"labels": {label: "here"}}})
    yield label
    stage.api.patch(path, {"metadata": {"labels": {label: None}}})


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pods_for_which_there_is_no_node_hold_and_take_nothing_back(
    stage: Stage, controller: Start, place: str, kind: str
) -> None:
    row: Kind = KIND[kind]
    more = {"deadline": "3s"} if kind == "StatefulSet" else {"spec": {"progressDeadlineSeconds": 2}}
    webs = pair(of=row, on_failure="rollback", pod={"nodeSelector": {place: "here"}}, **more)
    stage.make(build.configmap(), *webs)
    begun(stage, controller, webs)
    for node in stage.api.list("/api/v1/nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        stage.api.patch(path, {"metadata": {"labels": {place: None}}})

    change(stage, "second")

    stuck(stage, webs, "Unschedulable")
