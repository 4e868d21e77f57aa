"""Copies go with the last revision that names them; Jobs own theirs; and without a controller."""

from collections.abc import Callable

import pytest
from tests.scenarios.revised import (
    REVISIONS,
    contents,
    copies,
    held,
    owned_right,
    owners,
    pin,
    pinned_anew,
    pins,
)
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support import build
from tests.support.command import Finished

from reroll_dev.api import path_to

Start = Callable[..., Controller]


def test_the_collector_of_kubernetes_takes_copies_with_the_last_revision_that_names_them(
    stage: Stage, controller: Start
) -> None:
    """Two revisions are kept; and what a paused template names is kept, though no revision does."""
    spec = {"revisionHistoryLimit": 1}
    web = build.deployment("web", uses="configmap/app", annotations=REVISIONS, spec=spec)
    shared = build.statefulset("keeper", replicas=0, uses="configmap/app", annotations=REVISIONS)
    stage.make(build.configmap("app", {"key": "0"}), web)
    alone(controller)
    names = [pin(stage, web)]
    for value in "123":
        stage.settled(web)
        stage.change("ConfigMap", "app", key=value)
        names.append(pinned_anew(stage, web, *names))
        if value == "2":
            stage.make(shared)
            assert pin(stage, shared) == names[2]
            eventually(lambda: ("StatefulSet", "keeper") in owners(copies(stage)[names[2]]))
            stage.annotate(shared, hold="true")
    stage.settled(web)

    eventually(lambda: copies(stage).keys() == {names[2], names[3]}, "old copies are collected")
    stage.api.patch(stage.path(web), {"spec": {"paused": True, "revisionHistoryLimit": 0}})
    eventually(lambda: len(stage.revisions(web)) == 1, "old revisions are gone")
    assert copies(stage).keys() == {names[2], names[3]}
    stage.api.delete(stage.path(shared))
    eventually(lambda: copies(stage).keys() == {names[3]}, "that of the other is collected")
    stage.api.delete(stage.path(web), propagation="Background")
    eventually(lambda: not copies(stage), "all are collected")


def test_a_copy_that_nobody_owns_goes_once_nothing_names_it(
    stage: Stage, controller: Start
) -> None:
    """Whoever took its owners away, and though no controller ran: but nothing else goes."""
    web = build.deployment("web", uses="configmap/app", annotations=REVISIONS)
    stage.make(build.configmap("app", {"key": "first"}), web)
    one = alone(controller)
    first = pin(stage, web)
    stage.settled(web)
    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, web, first)
    stage.settled(web)
    owned_right(stage, web)
    one.kill()
    look_alike = build.configmap("mine", {"key": "first"})
    look_alike["metadata"]["labels"] = copies(stage)[first]["metadata"]["labels"]
    stage.make({**look_alike, "immutable": True})
    path = path_to("ConfigMap", first, stage.namespace)
    stage.api.patch(path, {"metadata": {"ownerReferences": None}})

    later = controller("--leader-election", "false", wait="nobody owns", skew=2 * 3600)
    assert copies(stage).keys() == {first, second, "mine"}, "a revision names the first one"
    later.kill()
    stage.api.patch(stage.path(web), {"spec": {"revisionHistoryLimit": 0}})
    eventually(lambda: len(stage.revisions(web)) == 1, "nothing names it any more")
    young = controller("--leader-election", "false", wait="nobody owns")
    assert first in copies(stage), "whatever names it may be on its way"
    young.kill()

    controller("--leader-election", "false", wait="nobody owns", skew=2 * 3600)
    assert copies(stage).keys() == {second, "mine"}


@pytest.mark.slow
def test_the_jobs_of_a_cronjob_own_what_they_were_made_with(
    stage: Stage, controller: Start
) -> None:
    strategy = {"reroll.dev/strategy": "trigger"}
    task = build.cronjob("task", uses="configmap/app", annotations={**REVISIONS, **strategy})
    stage.make(build.configmap("app", {"key": "first"}), task)
    alone(controller)
    first = pin(stage, task)
    path = path_to("Job", "", stage.namespace)
    assert stage.api.list(path) == []

    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, task, first)
    (job,) = stage.api.list(path)
    assert job["spec"]["template"]["metadata"]["annotations"]["reroll.dev/pins"].endswith(second)
    eventually(lambda: copies(stage).keys() == {second}, "no Job has the first one")

    stage.change("ConfigMap", "app", key="third")
    third = pinned_anew(stage, task, second)
    name = ("Job", job["metadata"]["name"])
    eventually(lambda: owners(copies(stage)[second]) == {name}, "the Job owns its own")
    stage.api.delete(path + "/" + job["metadata"]["name"], propagation="Background")
    eventually(lambda: copies(stage).keys() == {third}, "it goes with the Job")


def test_a_job_that_is_made_anew_has_pins_and_owns_them(stage: Stage, controller: Start) -> None:
    strategy = {"reroll.dev/strategy": "recreate"}
    task = build.job("task", uses="configmap/app", annotations={**REVISIONS, **strategy})
    slow = {**task, "spec": {**task["spec"], "suspend": False, "parallelism": 0}}
    stage.make(build.configmap("app", {"key": "first"}), slow)
    alone(controller)
    uid = stage.get(task)["metadata"]["uid"]
    stage.adopted(task)
    stage.quiet(task, 1.0)
    assert not copies(stage)

    stage.change("ConfigMap", "app", key="second")
    jobs = path_to("Job", "", stage.namespace)

    def made_anew() -> bool:
        return [job["metadata"]["uid"] for job in stage.api.list(jobs)] not in ([], [uid])

    eventually(made_anew, "it is made anew")
    second = pin(stage, task)
    eventually(lambda: owners(copies(stage)[second]) == {("Job", "task")}, "it owns its copy")
    assert held(stage, "ConfigMap", second) == {"key": "second"}


def test_sync_pins_rolls_and_tidies_without_a_controller(
    stage: Stage, sync: Callable[..., Finished]
) -> None:
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=REVISIONS)
    stage.make(build.configmap("app", {"key": "first"}), build.secret("db"), web)
    stage.settled(web)

    assert sync("--wait").code == 0
    first = pins(stage, web)
    assert first.keys() == {("ConfigMap", "app"), ("Secret", "db")}
    owned_right(stage, web)
    assert sync("--exit-code").code == 4

    stage.change("ConfigMap", "app", key="second")
    assert sync("--wait").code == 0
    second = pins(stage, web)["ConfigMap", "app"]
    owned_right(stage, web)
    (pod,) = stage.pods(web)
    assert contents(stage, pod)[second] == {"key": "second"}

    stage.api.patch(
        stage.path(web),
        {"spec": {"template": {"metadata": {"annotations": {build.FAIL: "unready"}}}}},
    )
    stage.change("ConfigMap", "app", key="third")
    failed = sync("--wait", "--timeout", "5s", "--rollback-on-failure")
    assert failed.code == 5
    assert pins(stage, web)["ConfigMap", "app"] == second
    assert "HeldAt" in sync("-o", "json").out
    assert pins(stage, web)["ConfigMap", "app"] == second
