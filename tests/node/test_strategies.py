"""The other ways to new configuration, each as the processes of real pods see it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.node.serving import PATIENCE, ServingStage, serving
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, Controller, eventually
from tests.support import build
from tests.support.settled import has_condition, is_complete

from reroll.cli.errors import Exit
from reroll_dev.api import path_to

Start = Callable[..., Controller]
MODE = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "mode"}}}


def by(strategy: str) -> dict[str, str]:
    return {**ENABLED, "reroll.dev/strategy": strategy}


def adopted(stage: ServingStage, controller: Start, workload: build.Object) -> int:
    """It is there with its ConfigMap, and recorded; the number of its record."""
    stage.make(build.configmap("app", {"mode": "first"}), workload)
    controller()
    return int(stage.adopted(workload)["n"])


@pytest.mark.parametrize("kind", ["statefulset", "daemonset"])
def test_other_kinds_roll(stage: ServingStage, controller: Start, kind: str) -> None:
    builder: Callable[..., build.Object] = getattr(build, kind)
    web = builder(annotations=ENABLED, **serving([MODE]))
    adopted(stage, controller, web)
    stage.settled(web)
    stage.variable_is(web, "MODE", "first")

    stage.change("ConfigMap", "app", mode="second")

    stage.variable_is(web, "MODE", "second")
    stage.settled(web)
    assert len(stage.revisions(web)) == 2


def test_a_stuck_pod_of_a_statefulset_is_replaced_when_sync_goes_back(
    stage: ServingStage, sync: Command
) -> None:
    """By itself Kubernetes waits for ever for a pod that never becomes ready."""
    asked = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    picky = serving([MODE], WEB_REQUIRE="MODE=first")
    db = build.statefulset("db", replicas=2, annotations=asked, **picky)
    stage.make(build.configmap("app", {"mode": "first"}), db)
    assert sync("--wait").code == Exit.OK
    stage.settled(db)
    stage.change("ConfigMap", "app", mode="second")

    done = sync("--wait", "--timeout", "15s", "--rollback-on-failure")

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    stage.settled(db)
    stage.variable_is(db, "MODE", "first")


def test_evictions_heed_a_budget_and_leave_the_template_as_it_is(
    stage: ServingStage, controller: Start
) -> None:
    web = build.deployment(replicas=2, annotations=by("evict"), **serving([MODE]))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    stage.make(budget)
    adopted(stage, controller, web)
    stage.settled(web)
    old = stage.uids(web)

    stage.change("ConfigMap", "app", mode="second")
    [event] = eventually(lambda: stage.events(web, "EvictionRefused"), "an Event says why")[:1]
    assert "disruption budget" in event["message"]
    assert stage.uids(web) == old

    stage.api.patch(stage.path(budget), {"spec": {"minAvailable": 1}})
    stage.variable_is(web, "MODE", "second")
    eventually(lambda: "todo" not in stage.record(web), "all pods are evicted", PATIENCE)
    stage.settled(web)
    assert old.isdisjoint(stage.uids(web))
    assert len(stage.revisions(web)) == 1


def runs(stage: ServingStage) -> list[build.Object]:
    return stage.api.list(path_to("Job", "", stage.namespace))


def show(stage: ServingStage, job: build.Object) -> str:
    """What the process of a Job printed."""
    path = path_to("Pod", "", stage.namespace)
    [pod] = stage.api.list(path, labelSelector=f"job-name={job['metadata']['name']}")
    return stage.log(pod, "main")


def once() -> dict[str, Any]:
    """A process that prints its MODE and ends."""
    template = serving([MODE], WEB_SHOW="MODE")
    container = {
        key: value for key, value in template["container"].items() if key != "readinessProbe"
    }
    return {**template, "container": {**container, "args": ["once"]}}


def test_a_triggered_job_runs_with_the_new_content(stage: ServingStage, controller: Start) -> None:
    task = build.cronjob(annotations=by("trigger"), **once())
    adopted(stage, controller, task)

    stage.change("ConfigMap", "app", mode="second")

    [job] = eventually(lambda: runs(stage), "a Job is started")
    path = path_to("Job", job["metadata"]["name"], stage.namespace)
    stage.api.wait_for(path, is_complete, timeout=PATIENCE)
    assert show(stage, job) == 'once MODE="second"\n'
    assert len(runs(stage)) == 1


def test_a_job_that_runs_is_made_again_with_the_new_content(
    stage: ServingStage, controller: Start
) -> None:
    task = build.job(annotations=by("recreate"), **serving([MODE]))
    adopted(stage, controller, task)
    stage.variable_is(task, "MODE", "first")
    [old] = stage.uids(task)

    stage.change("ConfigMap", "app", mode="second")

    stage.variable_is(task, "MODE", "second")
    assert stage.uids(task).isdisjoint({old})
    assert not has_condition(stage.get(task), "Failed")
