"""Jobs and people: two runs at once, a Job that its owner deletes, a feature that is off."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Controller, Stage, again, alone, eventually
from tests.scenarios.test_jobs import LONG, RECREATE, RUNNING, TRIGGER, is_anew, jobs, kept, uid
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Match
from tests.support.tools import Tool, replace

from reroll.cli.errors import Exit
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
    replace(kubectl, stage.namespace, task)
    one.start(wait="watching")
    eventually(lambda: not stage.adopted(task).get("by"), "it is adopted again")
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
    seen = len(one.lines())
    again(one)  # What it waits for is in the cluster, not in its memory.
    one.wait_for(lambda line: line.get("reason") == "JobRunning", since=seen)
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
    assert "recreate is off in this installation" in event["message"]
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
    made = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    eventually(lambda: datetime.now(UTC) - made > timedelta(seconds=1), "times are whole seconds")

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
    eventually(lambda: jobs(stage) == [], "it is gone for good")


SLOW = "example.com/slow"
READING = Match("GET", "/controllerrevisions/")


def lasting(stage: Stage) -> build.Object:
    """A running Job that takes its time to leave: a finalizer holds its pod."""
    task = build.job(annotations=RECREATE, **RUNNING)
    template = copy.deepcopy(task["spec"]["template"])
    template["metadata"]["finalizers"] = [SLOW]
    task["spec"]["template"] = template
    stage.make(build.configmap("app"), task)
    eventually(lambda: stage.pods(task), "its pod is there")
    return task


def let_go(stage: Stage) -> None:
    for pod in stage.api.list(path_to("Pod", "", stage.namespace)):
        path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
        stage.api.patch(path, {"metadata": {"finalizers": None}})


def is_leaving(stage: Stage, job: build.Object) -> bool:
    return "deletionTimestamp" in stage.get(job)["metadata"]


def delayed(stage: Stage, task: build.Object, start: Start, proxy: FaultProxy) -> Controller:
    """A controller that wrote the Job down, and cannot read that yet."""
    one = alone(start)
    stage.adopted(task)
    proxy.inject(Answer(503), READING, times=None)
    stage.change("ConfigMap", "app", key="new")
    proxy.wait_for("Answer", READING)
    assert len(kept(stage)) == 1
    return one


@pytest.mark.parametrize("gone", [False, True], ids=["leaving", "gone"])
def test_a_job_that_another_process_deletes_to_recreate_it_comes_back(
    stage: Stage,
    controller: Start,
    fault_proxy: FaultProxy,
    reroll_kubeconfig: Path,
    gone: bool,
) -> None:
    """The one that wrote it down did not delete it, and must not take that for its owner's wish."""
    task = lasting(stage)
    proxied = partial(controller, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    one = delayed(stage, task, proxied, fault_proxy)
    old = uid(stage, task)
    other = alone(controller)
    eventually(lambda: is_leaving(stage, task), "the other one deletes it")
    other.kill()
    if gone:
        let_go(stage)
        eventually(lambda: not jobs(stage), "it is gone")

    since = len(one.lines())
    fault_proxy.clear()
    if not gone:
        fault_proxy.wait_for("passed", READING, times=2)  # It waits for the pods, as it should.
        let_go(stage)

    eventually(lambda: is_anew(stage, task, old), "it is there anew")
    assert not [line for line in one.lines()[since:] if line["msg"] == "job was deleted by another"]


def test_a_job_that_its_owner_deleted_first_does_not_come_back_after_a_restart(
    stage: Stage, controller: Start, kubectl: Tool, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    """Whose deletion it is stands in the cluster, not in the memory of who wrote it down."""
    task = lasting(stage)
    proxied = partial(controller, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    one = delayed(stage, task, proxied, fault_proxy)
    one.kill()
    kubectl(
        *("delete", "job", task["metadata"]["name"], "--namespace", stage.namespace),
        *("--cascade=foreground", "--wait=false"),
    )
    assert is_leaving(stage, task)
    fault_proxy.clear()
    one.start(wait="watching")

    one.wait_for(lambda line: line["msg"] == "job was deleted by another")
    eventually(lambda: not kept(stage), "nothing is written down any more")
    let_go(stage)
    eventually(lambda: not jobs(stage), "it is gone")


def test_a_command_takes_up_no_job_that_it_was_not_asked_for(
    stage: Stage,
    controller: Start,
    sync: Command,
    fault_proxy: FaultProxy,
    reroll_kubeconfig: Path,
) -> None:
    task = lasting(stage)
    old = uid(stage, task)
    proxied = partial(controller, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    delayed(stage, task, proxied, fault_proxy).kill()

    assert sync("-l", "of=another").code == Exit.OK
    assert (len(kept(stage)), is_leaving(stage, task)) == (1, False)

    let_go(stage)
    assert sync().code == Exit.OK
    assert (kept(stage), is_anew(stage, task, old)) == ([], True)


def test_a_pod_that_was_made_when_its_job_was_deleted_does_not_keep_the_job_from_coming_back(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    """Kubernetes may make one at that moment, and the deletion does not wait for it."""
    task = lasting(stage)
    proxied = partial(controller, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    delayed(stage, task, proxied, fault_proxy)
    old = uid(stage, task)
    other = alone(controller)
    eventually(lambda: is_leaving(stage, task), "the other one deletes it")
    other.kill()
    let_go(stage)
    eventually(lambda: not jobs(stage), "it is gone")
    labels = {"batch.kubernetes.io/controller-uid": old}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "labels": labels}}
    stage.make({**pod, "spec": task["spec"]["template"]["spec"]})
    fault_proxy.clear()

    eventually(lambda: is_anew(stage, task, old), "it is there anew")


def test_a_job_that_an_earlier_release_wrote_down_comes_back(
    stage: Stage, controller: Start, kubectl: Tool, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    """That release put no mark on what it deleted."""
    task = lasting(stage)
    proxied = partial(controller, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    one = delayed(stage, task, proxied, fault_proxy)
    one.kill()
    old = uid(stage, task)
    (written,) = kept(stage)
    name = written["metadata"]["name"]
    stage.api.delete(path_to("ControllerRevision", name, stage.namespace))
    written["metadata"] = {key: written["metadata"][key] for key in ("name", "labels")}
    written["data"].pop("marks")
    stage.make({**written, "apiVersion": "apps/v1", "kind": "ControllerRevision"})
    kubectl(
        *("delete", "job", task["metadata"]["name"], "--namespace", stage.namespace),
        *("--cascade=foreground", "--wait=false"),
    )
    fault_proxy.clear()
    one.start(wait="watching")
    let_go(stage)

    eventually(lambda: is_anew(stage, task, old), "it is there anew")
