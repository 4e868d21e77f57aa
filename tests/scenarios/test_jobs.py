"""Jobs and CronJobs: the next run by default, a run now on request; and no Job is ever lost."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a, again, alone, eventually, for_kinds
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Cut, DropResponse, Fault, Match
from tests.support.impatient import IMPATIENT
from tests.support.settled import has_condition, is_complete

from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]
TRIGGER = {**ENABLED, "reroll.dev/strategy": "trigger"}
RECREATE = {**ENABLED, "reroll.dev/strategy": "recreate"}
LONG = {"dev.reroll.dev/complete-after": "1h"}
RUNNING = {"uses": "configmap/app", "template_annotations": LONG}


def jobs(stage: Stage) -> list[build.Object]:
    return stage.api.list(path_to("Job", "", stage.namespace))


def uid(stage: Stage, job: build.Object) -> str:
    return str(stage.get(job)["metadata"]["uid"])


def is_anew(stage: Stage, job: build.Object, old: str) -> bool:
    """A Job of that name is there, another one than `old`, and nothing is left over."""
    there = {one["metadata"]["name"]: one["metadata"]["uid"] for one in jobs(stage)}
    return (
        list(there) == [job["metadata"]["name"]] and old not in there.values() and not kept(stage)
    )


def running_pods(stage: Stage, job: build.Object) -> list[build.Object]:
    """A kubelet has written their status, and does not write over what a test writes."""
    return [pod for pod in stage.pods(job) if pod["status"].get("phase") == "Running"]


def kept(stage: Stage) -> list[build.Object]:
    """Jobs that are written down because they are being made anew."""
    path = path_to("ControllerRevision", "", stage.namespace)
    return stage.api.list(path, labelSelector="reroll.dev/kept-job")


@for_kinds(Strategy.NEXT_RUN)
def test_by_default_a_change_is_recorded_for_the_next_run_and_starts_or_stops_nothing(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    task = a(kind, "task", annotations=ENABLED, **RUNNING)
    stage.make(build.configmap("app"), task)
    controller()
    first = stage.adopted(task)
    before, made = stage.get(task), jobs(stage)

    stage.change("ConfigMap", "app", key="new")

    assert stage.rolled(task, since=first["n"])["by"] == ["configmap/app"]
    stage.quiet(task)
    after = stage.get(task)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert [job["metadata"]["uid"] for job in jobs(stage)] == [
        job["metadata"]["uid"] for job in made
    ]


def test_trigger_starts_one_job_of_the_cronjob_for_each_change(
    stage: Stage, controller: Start
) -> None:
    task = build.cronjob(annotations=TRIGGER, uses="configmap/app")
    template = task["spec"]["jobTemplate"]
    template["metadata"] = {"labels": {"team": "shop"}, "annotations": {"note": "x"}}
    stage.make(build.configmap("app"), task)
    controller()
    number = stage.adopted(task)["n"]
    assert jobs(stage) == []

    for count, content in enumerate(("two", "three"), start=1):
        stage.change("ConfigMap", "app", key=content)
        number = stage.rolled(task, since=number)["n"]
        assert len(jobs(stage)) == count

    for job in jobs(stage):
        assert job["metadata"]["labels"]["team"] == "shop"
        assert job["metadata"]["annotations"]["note"] == "x"
        assert job["metadata"]["ownerReferences"][0]["uid"] == uid(stage, task)
        stage.api.wait_for(path_to("Job", job["metadata"]["name"], stage.namespace), is_complete)
    stage.quiet(task)
    assert len(jobs(stage)) == 2
    told = {event["message"] for event in stage.events(task, "ConfigChanged")}
    assert told == {
        f"started Job {job['metadata']['name']}: configmap/app changed (key)" for job in jobs(stage)
    }


def test_a_controller_killed_between_starting_the_job_and_recording_it_starts_no_second_one(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    task = build.cronjob(annotations=TRIGGER, uses="configmap/app")
    stage.make(build.configmap("app"), task)
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    first = stage.adopted(task)
    recording = Match("PATCH", "/cronjobs/")
    fault_proxy.inject(Answer(503), recording, times=None)

    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Answer", recording)
    running.kill()
    assert len(jobs(stage)) == 1
    fault_proxy.clear()
    running.start()

    stage.rolled(task, since=first["n"])
    stage.quiet(task)
    assert len(jobs(stage)) == 1


def test_a_change_after_a_kill_starts_a_job_of_its_own(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    task = build.cronjob(annotations=TRIGGER, uses="configmap/app")
    stage.make(build.configmap("app"), task)
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    first = stage.adopted(task)
    recording = Match("PATCH", "/cronjobs/")
    fault_proxy.inject(Answer(503), recording, times=None)
    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Answer", recording)
    running.kill()

    stage.change("ConfigMap", "app", key="newer")
    fault_proxy.clear()
    running.start()

    stage.rolled(task, since=first["n"])
    assert len(jobs(stage)) == 2


def test_a_suspended_cronjob_starts_nothing_until_it_goes_on(
    stage: Stage, controller: Start
) -> None:
    task = build.cronjob(annotations=TRIGGER, uses="configmap/app", spec={"suspend": True})
    stage.make(build.configmap("app"), task)
    controller()
    first = stage.adopted(task)

    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: stage.events(task, "Paused"), "an Event says that it is held")
    stage.quiet(task)
    assert jobs(stage) == []

    stage.api.patch(stage.path(task), {"spec": {"suspend": False}})
    stage.rolled(task, since=first["n"])
    assert len(jobs(stage)) == 1


def test_recreate_makes_a_running_job_anew_with_the_same_name_and_spec(
    stage: Stage, controller: Start
) -> None:
    task = build.job(annotations={**RECREATE, "note": "x"}, labels={"team": "shop"}, **RUNNING)
    stage.make(build.configmap("app"), task)
    controller()
    first = stage.adopted(task)
    before = stage.get(task)

    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: is_anew(stage, task, before["metadata"]["uid"]), "it is there anew")

    after = stage.get(task)
    assert after["metadata"]["labels"]["team"] == "shop"
    assert after["metadata"]["annotations"]["note"] == "x"
    for both in (before, after):
        both["spec"].pop("selector")
        for part in ("batch.kubernetes.io/controller-uid", "controller-uid"):
            both["spec"]["template"]["metadata"]["labels"].pop(part)
    assert after["spec"] == before["spec"]
    record = stage.record(task)
    assert record["n"] > first["n"]
    assert record["by"] == ["configmap/app"]
    event = eventually(lambda: stage.events(task, "ConfigChanged"), "an Event tells of it")[0]
    assert event["involvedObject"]["uid"] == after["metadata"]["uid"]
    stage.quiet(task)
    assert uid(stage, task) == after["metadata"]["uid"]


def test_a_suspended_job_is_not_made_anew_for_what_its_next_pods_have_anyway(
    stage: Stage, controller: Start
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    controller()
    first = stage.adopted(task)
    old = uid(stage, task)

    stage.api.patch(stage.path(task), {"spec": {"suspend": True}})
    # Others have heard of it, so the controller has: sources come to it in another stream.
    stage.api.wait_for(stage.path(task), lambda seen: has_condition(seen, "Suspended"))
    stage.change("ConfigMap", "app", key="new")
    eventually(lambda: stage.record(task)["s"] != first["s"], "it is recorded")
    stage.api.patch(stage.path(task), {"spec": {"suspend": False}})
    stage.quiet(task)
    assert (uid(stage, task), kept(stage)) == (old, [])

    stage.change("ConfigMap", "app", key="newer")
    eventually(lambda: is_anew(stage, task, old), "it is made anew for a change that it missed")


LOST_CREATES: dict[str, Fault] = {
    "refused": Answer(503),
    "cut": Cut(after_bytes=0),
    "done, and the answer lost": DropResponse(),
}


@pytest.mark.parametrize("fault", LOST_CREATES.values(), ids=LOST_CREATES)
def test_a_job_is_not_lost_when_its_creation_fails_after_its_deletion(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path, fault: Fault
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(task)
    old = uid(stage, task)
    creating = Match("POST", "/jobs$")
    fault_proxy.inject(fault, creating, times=3)

    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for(type(fault).__name__, creating)

    eventually(lambda: is_anew(stage, task, old), "it is there anew")
    eventually(lambda: running.said("ConfigChanged", "task"), "a log line tells of it")
    assert stage.record(task)["by"] == ["configmap/app"]


def test_a_controller_killed_between_delete_and_create_finishes_it_when_it_is_back(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(task)
    old = uid(stage, task)
    creating = Match("POST", "/jobs$")
    fault_proxy.inject(Answer(503), creating, times=None)

    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Answer", creating)
    running.kill()
    assert jobs(stage) == []
    assert len(kept(stage)) == 1
    fault_proxy.clear()
    running.start()

    eventually(lambda: is_anew(stage, task, old), "it is there anew")
    new = uid(stage, task)
    stage.quiet(task)
    assert uid(stage, task) == new
    assert stage.record(task)["by"] == ["configmap/app"]


def test_a_quota_that_refuses_the_new_job_is_told_and_the_job_comes_when_it_allows(
    stage: Stage, controller: Start
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "jobs", "namespace": stage.namespace},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    }
    stage.make(build.configmap("app"), task, other)
    running = controller()
    stage.adopted(task)
    number = stage.adopted(other)["n"]
    old = uid(stage, task)
    stage.make(quota)
    stage.api.wait_for(stage.path(quota), lambda seen: seen.get("status", {}).get("hard"))

    stage.change("ConfigMap", "app", key="new")
    failed = eventually(lambda: stage.events(task, "Failed"), "an Event tells what is wrong")[0]
    assert "exceeded quota" in failed["message"]
    stage.rolled(other, since=number)

    stage.api.delete(stage.path(quota))
    eventually(lambda: is_anew(stage, task, old), "it is there anew", timeout=60)
    eventually(lambda: running.said("ConfigChanged", "task"), "a log line tells of it")


@pytest.mark.slow
def test_a_finished_job_stays_finished(stage: Stage, controller: Start) -> None:
    task = build.job(annotations=RECREATE, uses="configmap/app")
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), task, other)
    done = stage.api.wait_for(stage.path(task), is_complete)
    controller()
    number = stage.adopted(other)["n"]

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(other, since=number)
    stage.quiet(task)

    assert uid(stage, task) == done["metadata"]["uid"]
    assert kept(stage) == []


def test_a_job_that_ends_before_it_could_be_deleted_stays_ended(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    running = controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(task)
    (pod,) = eventually(lambda: running_pods(stage, task), "it runs")
    deleting = Match("DELETE", "/jobs/")
    fault_proxy.inject(Answer(503), deleting, times=None)

    stage.change("ConfigMap", "app", key="new")
    fault_proxy.wait_for("Answer", deleting)
    ended = {"status": {"phase": "Succeeded"}}
    stage.api.patch(f"{path_to('Pod', pod['metadata']['name'], stage.namespace)}/status", ended)
    done = stage.api.wait_for(stage.path(task), is_complete)
    fault_proxy.clear()

    eventually(lambda: not kept(stage), "nothing is left over")
    stage.quiet(task)
    (left,) = jobs(stage)
    assert left["metadata"]["uid"] == done["metadata"]["uid"]
    assert "deletionTimestamp" not in left["metadata"]
    assert not running.said("ConfigChanged", "task")


@pytest.mark.slow
def test_pods_that_keep_a_deleted_job_there_are_told_and_it_is_made_anew_when_they_end(
    stage: Stage, controller: Start
) -> None:
    task = build.job(annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), task)
    running = alone(controller)
    running.program = IMPATIENT
    again(running)
    stage.adopted(task)
    old = uid(stage, task)
    (pod,) = eventually(lambda: stage.pods(task), "it runs")
    path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
    kept_by = [*pod["metadata"]["finalizers"], "example.com/a-node-that-is-dead"]
    stage.api.patch(path, {"metadata": {"finalizers": kept_by}})

    stage.change("ConfigMap", "app", key="new")
    (told,) = eventually(lambda: stage.events(task, "Failed"), "an Event tells what is wrong")
    assert "its pods do not end" in told["message"]
    assert uid(stage, task) == old

    stage.api.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: is_anew(stage, task, old), "it is there anew")
    eventually(lambda: running.said("ConfigChanged", "task"), "a log line tells of it")
    assert len(stage.events(task, "Failed")) == 1


def test_a_pending_job_that_cannot_be_read_stops_nothing(stage: Stage, controller: Start) -> None:
    """Only somebody with the rights of a controller could plant one; it used to end the process."""
    for name, data in (("empty", {}), ("half", {"uid": "old"}), ("odd", {"uid": "a", "job": []})):
        revision: build.Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": name, "labels": {"reroll.dev/kept-job": "true"}},
            "revision": 1,
            "data": data,
        }
        stage.make(revision)
    web = build.deployment("web", uses=["configmap/app"], annotations=ENABLED)
    stage.make(build.configmap("app"), web)

    running = controller()
    running.wait_for(lambda line: line["msg"] == "pending job")
    since = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since)
    assert len(kept(stage)) == 3
