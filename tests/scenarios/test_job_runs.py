"""Jobs and people: two runs at once, a Job that its owner deletes, a feature that is off."""

import copy
import json
from collections.abc import Callable

import pytest
from tests.scenarios.stage import Controller, Stage, again, alone, eventually
from tests.scenarios.test_jobs import LONG, RECREATE, RUNNING, TRIGGER, jobs, kept, uid
from tests.support import build
from tests.support.tools import Tool

from reroll_dev.api import path_to

Start = Callable[..., Controller]


def names(stage: Stage) -> set[str]:
    return {job["metadata"]["name"] for job in jobs(stage)}


def test_a_cronjob_that_was_replaced_starts_a_job_for_a_change_that_it_had_before(
    stage: Stage, controller: Start, kubectl: Tool
) -> None:
    """Its numbers begin again with the record, and the Jobs of the first time are still there."""
    task = build.cronjob(annotations=TRIGGER, uses="configmap/app")
    stage.make(build.configmap("app", {"key": "a"}), task)
    one = alone(controller)
    first = stage.adopted(task)
    stage.change("ConfigMap", "app", key="b")
    stage.rolled(task, since=first["n"])
    assert len(jobs(stage)) == 1

    one.kill()
    stage.change("ConfigMap", "app", key="a")
    kubectl("replace", "--namespace", stage.namespace, "-f", "-", input=json.dumps(task))
    one.start(wait="watching")
    eventually(lambda: not stage.record(task).get("by"), "it is adopted again")
    before = len(jobs(stage))
    stage.change("ConfigMap", "app", key="b")

    eventually(lambda: stage.record(task).get("by") == ["configmap/app"], "it is rolled")
    assert len(jobs(stage)) == before + 1


def test_a_cronjob_that_forbids_it_runs_no_two_jobs_at_once(
    stage: Stage, controller: Start
) -> None:
    task = build.cronjob(
        annotations=TRIGGER,
        uses="configmap/app",
        template_annotations=LONG,
        spec={"concurrencyPolicy": "Forbid"},
    )
    stage.make(build.configmap("app"), task)
    one = alone(controller)
    number = stage.adopted(task)["n"]
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(task, since=number)["n"]
    [running] = names(stage)

    stage.change("ConfigMap", "app", key="newer")
    [event] = eventually(
        lambda: stage.events(task, "JobRunning"), "an Event says what it waits for"
    )
    assert running in event["message"]
    assert names(stage) == {running}
    again(one)  # What it waits for is in the cluster, not in its memory.
    one.wait_for(lambda line: line.get("reason") == "JobRunning")
    assert names(stage) == {running}

    stage.api.delete(path_to("Job", running, stage.namespace))
    stage.rolled(task, since=number)
    assert len(names(stage) - {running}) == 1


def test_a_job_that_cannot_be_recreated_is_left_alone_and_that_is_told(
    stage: Stage, controller: Start
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    alone(controller, "--features", "evict,reload,trigger")
    stage.adopted(task)
    old = uid(stage, task)

    stage.change("ConfigMap", "app", key="new")

    [event] = eventually(lambda: stage.events(task, "FeatureOff"), "an Event tells of it")
    assert "`recreate` is not among its --features" in event["message"]
    assert (uid(stage, task), kept(stage)) == (old, [])


@pytest.mark.parametrize("policy", ["background", "orphan"])
def test_a_job_that_is_deleted_while_it_is_recreated_does_not_come_back(
    stage: Stage, controller: Start, kubectl: Tool, policy: str
) -> None:
    """Its pods keep it from going, so there is time to delete it once more."""
    task = build.job(annotations=RECREATE, **RUNNING)
    template = copy.deepcopy(task["spec"]["template"])
    template["metadata"]["finalizers"] = ["example.com/slow"]
    task["spec"]["template"] = template
    stage.make(build.configmap("app"), task)
    one = alone(controller)
    stage.adopted(task)
    [pod] = eventually(lambda: stage.pods(task), "its pod is there")

    stage.change("ConfigMap", "app", key="new")
    eventually(
        lambda: stage.get(task)["metadata"].get("deletionTimestamp"), "it is about to be replaced"
    )
    kubectl(
        *("delete", "job", task["metadata"]["name"], "--namespace", stage.namespace),
        *(f"--cascade={policy}", "--wait=false"),
    )

    one.wait_for(lambda line: line["msg"] == "job was deleted by another")
    eventually(lambda: not kept(stage), "nothing is written down any more")
    stage.api.patch(
        path_to("Pod", pod["metadata"]["name"], stage.namespace), {"metadata": {"finalizers": None}}
    )
    assert jobs(stage) == []
