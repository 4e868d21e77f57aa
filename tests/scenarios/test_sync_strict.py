"""`reroll sync --wait` is as strict as `kubectl rollout status`, for all that is opted in."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.revised import REVISIONS
from tests.scenarios.rolling import Command, a_web, heal, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, a, alone, eventually
from tests.support import build
from tests.support.build import FAIL
from tests.support.settled import has_new_pods, is_settled
from tests.support.tools import Tool

from reroll.cli.errors import Exit
from reroll.core.tables.kinds import KINDS, Kind
from reroll_dev.api import path_to

Start = Callable[..., Controller]
with_revisions = pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.counts], ids=lambda k: k.name, indirect=True
)
EVICT = {**ENABLED, "reroll.dev/strategy": "evict"}
LONG = ("--wait", "--timeout", "5m")
"""What ends within this was not waited for in vain: a test has less time."""


def rolled_by_the_controller(stage: Stage, start: Start, *works: build.Object) -> None:
    """The ConfigMap changes, and a controller is faster than any pipeline."""
    one = alone(start)
    before = {work["metadata"]["name"]: stage.adopted(work)["n"] for work in works}
    stage.change("ConfigMap", "app", key="broken")
    for work in works:
        stage.rolled(work, before[work["metadata"]["name"]])
    assert one.process is not None


# What it waits for


@pytest.mark.parametrize("fail", ["crashloop", "unready"])
def test_no_pod_is_ready_and_nothing_is_to_roll(stage: Stage, sync: Command, fail: str) -> None:
    """The Deployment was broken from the beginning, and is up to date."""
    stage.make(build.configmap())
    web = a_web(fail=fail)
    stage.make(web)
    assert sync().code == Exit.OK
    stage.api.wait_for(stage.path(web), has_new_pods)

    # A crash loop ends it before.
    timeout = {"crashloop": "1m", "unready": "2s"}[fail]
    done = sync("--wait", "--timeout", timeout, "-o", "json")

    [told] = done.json["workloads"]
    expected = {"crashloop": (Exit.FAILED, "failed"), "unready": (Exit.TIMED_OUT, "timed out")}
    assert (done.code, told["result"]) == expected[fail]
    assert "0 of 1 pods are ready" in told["detail"]
    assert sync("--exit-code").code == Exit.NOTHING


def test_it_ends_as_kubectl_rollout_status_does(
    stage: Stage, sync: Command, kubectl: Tool, namespace: str
) -> None:
    stage.make(build.configmap())
    web = a_web(replicas=2, template_annotations={"dev.reroll.dev/ready-after": "2s"})
    stage.make(web)
    sync()

    done = sync("--wait", "-o", "json")

    assert done.code == Exit.OK, done.err
    assert is_settled(stage.get(web))
    status = ("rollout", "status", "deployment/web", "-n", namespace, "--watch=false")
    assert "successfully rolled out" in kubectl(*status)
    stage.api.patch(stage.path(web), {"spec": {"replicas": 3}})
    scaled = sync("--wait", "-o", "json")
    assert scaled.json["workloads"][0]["result"] in {"nothing to do", "rolled"}
    assert is_settled(stage.get(web))


def test_what_is_held_has_to_be_well_too(stage: Stage, sync: Command, hold: Command) -> None:
    stage.make(build.configmap())
    ill, well = a_web("ill", fail="unready"), a_web("well")
    stage.make(ill, well)
    stage.settled(well)
    sync()
    hold("deployment/ill", "deployment/well")
    stage.change("ConfigMap", "app", key="new")

    done = sync("--wait", "--timeout", "2s", "-o", "json")

    assert done.code == Exit.TIMED_OUT
    assert {one["name"]: one["result"] for one in done.json["workloads"]} == {
        "ill": "timed out", "well": "held",
    }  # fmt: skip


def test_what_was_ill_before_keeps_no_other_workload_from_rolling_or_takes_it_back(
    stage: Stage, sync: Command
) -> None:
    stage.make(build.configmap(), build.configmap("other"))
    ill = build.deployment(
        "ill", uses=["configmap/other"], annotations=dict(ENABLED), fail="unready"
    )
    web = a_web()
    stage.make(ill, web)
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="new")

    done = sync(
        *("--wait", "--timeout", "8s", "--rollback-on-failure", "--max-parallel", "1"),
        *("-o", "json"),
    )

    told = {one["name"]: one for one in done.json["workloads"]}
    assert done.code == Exit.TIMED_OUT
    assert (told["web"]["result"], told["ill"]["result"]) == ("rolled", "timed out")
    assert "not rolled back: no change of its configuration" in told["ill"]["detail"]
    assert stage.stamp(web)


# Crash loops and budgets


def test_a_crash_loop_is_a_failure_long_before_the_time_is_up(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    web = that_fails(stage, a_web(), "crashloop")
    sync()
    stage.change("ConfigMap", "app", key="broken")

    done = sync(*LONG, "-o", "json")

    [told] = done.json["workloads"]
    assert (done.code, told["result"]) == (Exit.FAILED, "failed")
    assert "CrashLoopBackOff (exit 1), restarted" in told["detail"]
    assert stage.stamp(web)
    patient = sync("--wait", "--timeout", "5s", "--no-fail-fast", "-o", "json")
    assert patient.code == Exit.FAILED
    assert "restarted" not in patient.json["workloads"][0]["detail"]


def test_old_pods_in_a_crash_loop_are_what_the_roll_is_for(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    web = a_web(fail="crashloop", template_annotations={})
    stage.make(web)
    sync()

    def crashes() -> bool:
        statuses = [
            s for pod in stage.pods(web) for s in pod["status"].get("containerStatuses", ())
        ]
        return any(one["restartCount"] >= 4 for one in statuses)

    eventually(crashes, "its pod crashes again and again")
    template = {"metadata": {"labels": {FAIL: None}, "annotations": {FAIL: None}}}
    stage.api.patch(stage.path(web), {"spec": {"template": template}})

    done = sync(*LONG)

    assert done.code == Exit.OK, done.out + done.err
    assert is_settled(stage.get(web))


def test_a_disruption_budget_is_waited_for_until_the_time_is_up(
    stage: Stage, sync: Command
) -> None:
    """Also where another process began the roll."""
    web = a_web(replicas=2)
    web["metadata"]["annotations"] = dict(EVICT)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    stage.make(build.configmap(), web, budget)
    stage.settled(web)
    place = f"/apis/policy/v1/namespaces/{stage.namespace}/poddisruptionbudgets/web"
    stage.api.wait_for(place, lambda one: one.get("status", {}).get("currentHealthy") == 2)
    sync()
    stage.change("ConfigMap", "app", key="new")

    for _ in range(2):  # The second run goes on with what the first one began.
        done = sync("--wait", "--timeout", "5s", "-o", "json")
        [told] = done.json["workloads"]
        assert (done.code, told["result"]) == (Exit.TIMED_OUT, "timed out"), done.out
        assert "cannot be evicted now" in told["detail"]
    stage.api.patch(place, {"spec": {"maxUnavailable": 1}})
    assert sync("--wait").code == Exit.OK
    assert "todo" not in stage.record(web)


# Failures that stay, and going back with what others rolled


@pytest.mark.thorough
@with_revisions
def test_what_the_controller_rolled_goes_back_with_all_that_rolled_for_the_same_change(
    kind: Kind, stage: Stage, sync: Command, controller: Start
) -> None:
    """The controller is faster."""
    stage.make(build.configmap(), build.configmap("other"))
    bad = that_fails(
        stage, a(kind, "bad", uses=["configmap/app"], annotations=ENABLED), "crashloop"
    )
    good = stage.make(a_web("good"))
    apart = build.deployment("apart", uses=["configmap/other"], annotations=dict(ENABLED))
    stage.make(apart)
    for one in (good, apart):
        stage.settled(one)
    rolled_by_the_controller(stage, controller, bad, good)
    stamps = stage.stamp(bad), stage.stamp(good)
    assert all(stamps)

    done = sync(*LONG, "--rollback-on-failure", "-o", "json")

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    told = {one["name"]: one for one in done.json["workloads"]}
    assert {name: one["result"] for name, one in told.items()} == {
        "bad": "rolled back", "good": "rolled back", "apart": "nothing to do",
    }  # fmt: skip
    assert (told["bad"]["reason"], told["bad"]["failedAs"]) == ("ConfigChanged", "failed")
    assert "configmap/app still holds what failed" in told["bad"]["newPodsRead"]
    assert "pods of" in done.err
    for one in (bad, good):
        assert stage.stamp(one) is None
        assert stage.record(one)["why"] == "Undone"
        stage.quiet(one)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        (ENABLED, "pods that start from now on read it"),
        (REVISIONS, "it stays there until a source changes again"),
    ],
    ids=["without revisions", "with revisions"],
)
def test_a_failed_pipeline_that_is_run_again_fails_again(
    stage: Stage, sync: Command, plan: Command, annotations: dict[str, str], said: str
) -> None:
    stage.make(build.configmap())
    web = a_web()
    web["metadata"]["annotations"] = dict(annotations)
    that_fails(stage, web, "crashloop")
    sync()
    heal(stage, web)  # The first pin is a roll.
    assert sync("--wait").code == Exit.OK
    stage.change("ConfigMap", "app", key="broken")
    assert sync(*LONG, "--rollback-on-failure").code == Exit.ROLLED_BACK

    for args in (("--wait",), (), ("--dry-run",)):
        again = sync(*args, "-o", "json")
        assert (again.code, again.json["result"]) == (Exit.FAILED, "declined"), args
    assert said in sync("--wait").out
    assert said in plan("--all").out

    stage.change("ConfigMap", "app", key="value")
    assert sync("--dry-run").code == Exit.OK
    assert stage.record(web)["failed"] is True


def test_a_deploy_of_something_else_that_fails_is_told_and_left_alone(
    stage: Stage, sync: Command, controller: Start
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    stage.settled(web)
    one = alone(controller)
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, first["n"])
    stage.settled(web)
    template = {"metadata": {"annotations": {FAIL: "unready"}}}
    stage.api.patch(stage.path(web), {"spec": {"template": template}})
    before = stage.template(web)

    done = sync("--wait", "--timeout", "3s", "--rollback-on-failure", "-o", "json")

    assert done.code == Exit.TIMED_OUT, done.out + done.err
    assert "not rolled back" in done.json["workloads"][0]["detail"]
    assert stage.template(web) == before
    assert one.process is not None


def test_a_roll_that_was_complete_is_not_what_fails_now(
    stage: Stage, sync: Command, controller: Start
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    stage.settled(web)
    alone(controller)
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, first["n"])
    stage.settled(web)
    eventually(lambda: _progress(stage.get(web)) == "NewReplicaSetAvailable", "it is complete")
    for pod in stage.pods(web):
        path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
        stage.api.patch(path, {"metadata": {"annotations": {FAIL: "unready"}}})
    eventually(lambda: not stage.get(web)["status"].get("readyReplicas"), "its pod falls ill")

    done = sync("--wait", "--timeout", "2s", "--rollback-on-failure", "-o", "json")

    assert done.code == Exit.TIMED_OUT
    assert "its last roll was complete before" in done.json["workloads"][0]["detail"]
    assert stage.stamp(web)


def _progress(deployment: dict[str, Any]) -> str:
    conditions = {one["type"]: one for one in deployment["status"].get("conditions", ())}
    return str(conditions.get("Progressing", {}).get("reason", ""))
