"""A canary, and a HorizontalPodAutoscaler that scales its workload by what its pods need."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.measured_pods import PodMetrics
from tests.scenarios.on_canary import a_web, canary, gone, ready
from tests.scenarios.propagating import change, pinned
from tests.scenarios.revised import pin, pinned_anew
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build, session
from tests.support.build import Object
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll_dev import components
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

NAMESPACE = "shop"


@pytest.fixture
def eager(
    control_plane: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DevCluster]:
    """A cluster of its own, whose autoscalers look every second."""
    usual = components.controller_manager

    def controller_manager(*args: Any, **more: Any) -> list[str]:
        return [*usual(*args, **more), "--horizontal-pod-autoscaler-sync-period=1s"]

    monkeypatch.setattr(components, "controller_manager", controller_manager)
    cluster = DevCluster(tmp_path / "cluster", progress=session.quiet())
    cluster.up(control_plane)
    yield cluster
    cluster.down()


@pytest.fixture
def stage(eager: DevCluster) -> Iterator[Stage]:
    with eager.api() as api:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        api.wait_for(path_to("ServiceAccount", "default", NAMESPACE), bool)
        yield Stage(api, NAMESPACE)


@pytest.fixture
def metrics(eager: DevCluster, stage: Stage, tmp_path: Path) -> Iterator[PodMetrics]:
    with eager.api() as api:
        one = PodMetrics(Stage(api, NAMESPACE), tmp_path, load=300)
        for each in one.objects():
            stage.api.create(each)
        yield one
        one.end()


@pytest.fixture
def controller(eager: DevCluster, stage: Stage, tmp_path: Path) -> Iterator[Controller]:
    flags, admin = ("--leader-election", "false"), kubeconfig_of(eager, "admin")
    one = Controller(admin, stage.namespace, tmp_path / "reroll.log", flags)
    try:
        one.start(wait="watching")
        yield one
    finally:
        one.end()


def an_autoscaler() -> Object:
    """100 MiB for each pod, and no waiting."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}}
    at_once = {
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Pods", "value": 100, "periodSeconds": 15}],
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": 1,
            "maxReplicas": 20,
            "metrics": [{"type": "Resource", "resource": memory}],
            "behavior": {"scaleUp": at_once, "scaleDown": at_once},
        },
    }


def looked(stage: Stage, metrics: PodMetrics, beside: int = 0) -> None:
    """Wait until it was told of all pods twice more, so that it has acted on the first."""
    seen, web = len(metrics.asked), a_web()

    def is_told() -> bool:
        told = (metrics.load, replicas(stage, web) + beside)
        return metrics.asked[seen:].count(told) >= 2

    eventually(is_told, "it knows of all pods")


def replicas(stage: Stage, web: Object) -> int:
    return int(stage.get(web)["spec"]["replicas"])


@pytest.mark.slow
@pytest.mark.usefixtures("controller")
def test_an_autoscaler_scales_a_workload_with_a_canary_and_both_are_left_to_each_other(
    stage: Stage, metrics: PodMetrics, eager: DevCluster
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web(**{"canary-pause": "manual"}))
    pinned(stage, [web])
    scaler = stage.make(an_autoscaler())
    looked(stage, metrics)
    assert replicas(stage, web) == 3
    old, spec = pin(stage, web), stage.get(scaler)["spec"]

    # It measures the pod of the canary too, and near its target nothing follows from that.
    change(stage, "second")
    first = ready(stage)["metadata"]["uid"]
    looked(stage, metrics, beside=1)
    assert replicas(stage, web) == 3

    # Up and down: the workload alone, beside the same canary. With it, three pods do as well as
    # four: what it comes to depends on how many of those that go were measured on its way down.
    for load, wanted in ((800, {8}), (400, {3, 4})):
        metrics.load = load
        eventually(lambda wanted=wanted: replicas(stage, web) in wanted, f"there are {wanted}")
        stage.settled(web)
        looked(stage, metrics, beside=1)
        assert replicas(stage, web) in wanted
        there = canary(stage) or {}
        assert (there["metadata"]["uid"], there["spec"]["replicas"]) == (first, 1)

    login = ("--kubeconfig", eager.kubeconfig())
    done = reroll("promote", "-n", NAMESPACE, *login, "deployment/web")
    assert done.code == 0, done.err
    assert pinned_anew(stage, web, old) != old
    gone(stage)
    eventually(lambda: replicas(stage, web) == 4, "without the canary it takes four")
    stage.settled(web)
    assert stage.get(scaler)["spec"] == spec
