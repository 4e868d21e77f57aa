"""`reroll sync` while the API server refuses, loses answers, or somebody else changes things."""

import signal

import pytest
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import ENABLED, Stage
from tests.scenarios.test_jobs import RECREATE, RUNNING, is_anew, jobs, kept, uid
from tests.scenarios.test_restart import let_through
from tests.scenarios.test_sync_failing import heard, started
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, DropResponse, Fault, Match

from reroll.cli.errors import Exit
from reroll_dev.cluster import DevCluster

UNDO = ("--wait", "--timeout", "3s", "--rollback-on-failure")
CREATING = Match("POST", "/jobs$")


# Going back


@pytest.mark.parametrize("status", [403, 500])
def test_a_pod_that_may_not_be_evicted_is_told_and_all_others_go_back(
    status: int, stage: Stage, sync: Command, fault_proxy: FaultProxy
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    stage.settled(web)
    db = build.statefulset("db", uses=["configmap/app"], annotations=ENABLED)
    that_fails(stage, db, "crashloop")
    sync()
    stage.change("ConfigMap", "app", key="broken")
    fault_proxy.inject(Answer(status), Match("POST", "/eviction$"), times=None)

    done = sync(*UNDO, "-o", "json", identity=fault_proxy.kubeconfig())

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    told = {one["name"]: one for one in done.json["workloads"]}
    assert {one["result"] for one in told.values()} == {"rolled back"}
    assert "pod db-0 is in the way and cannot be evicted" in told["db"]["detail"]
    assert f"({status} " in told["db"]["detail"]
    assert "evicted" not in told["web"]["detail"]
    assert (stage.stamp(db), stage.stamp(web)) == (None, None)
    stage.settled(web)


PASSING: dict[str, Fault] = {
    "unavailable": Answer(503),
    "too many requests": Answer(429, retry_after=1),
    "conflict": Answer(409),
    "done, and the answer lost": DropResponse(),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_the_way_back_is_tried_until_it_is_gone(
    fault: Fault, stage: Stage, sync: Command, fault_proxy: FaultProxy
) -> None:
    stage.make(build.configmap())
    web = that_fails(stage, a_web())
    sync()
    stage.change("ConfigMap", "app", key="broken")
    patching = Match("PATCH", "/deployments/web$")

    with started(stage.namespace, fault_proxy.kubeconfig(), *UNDO[1:]) as (process, err):
        heard(err, "updated")
        fault_proxy.inject(fault, patching)
        rest = err.read()

    fault_proxy.wait_for(type(fault).__name__, patching)
    assert process.returncode == Exit.ROLLED_BACK, rest
    assert stage.stamp(web) is None
    assert stage.record(web)["why"] == "Undone"
    assert stage.events(web, "Undone")


# Jobs that are made anew


def a_job(stage: Stage) -> build.Object:
    """One that is opted in and runs with old configuration."""
    job = build.job("task", annotations=RECREATE, **RUNNING)
    stage.make(build.configmap("app"), job)
    return job


def test_a_job_whose_creation_fails_is_waited_for(
    stage: Stage, sync: Command, fault_proxy: FaultProxy
) -> None:
    job = a_job(stage)
    sync()
    old = uid(stage, job)
    stage.change("ConfigMap", "app", key="new")
    fault_proxy.inject(Answer(503), CREATING, times=2)

    done = sync("-o", "json", identity=fault_proxy.kubeconfig())

    assert done.code == Exit.OK, done.out + done.err
    assert [one["result"] for one in done.json["workloads"]] == ["rolled"]
    assert is_anew(stage, job, old)


def test_a_job_is_not_lost_with_a_run_that_ends_before_it_is_there_again(
    stage: Stage, sync: Command, fault_proxy: FaultProxy
) -> None:
    job = a_job(stage)
    sync()
    old = uid(stage, job)
    stage.change("ConfigMap", "app", key="new")
    fault_proxy.inject(Answer(503), CREATING, times=None)
    name = f"Job {stage.namespace}/task"

    late = sync("--timeout", "2s", identity=fault_proxy.kubeconfig())

    assert late.code == Exit.TIMED_OUT, late.out + late.err
    assert (
        "; it is stored in the cluster, and the next `reroll sync` or a controller continues"
        in late.out
    )
    assert f"not over within 2s; run it again to go on: {name}" in late.err

    with started(stage.namespace, fault_proxy.kubeconfig()) as (process, err):
        heard(err, f"{name}: rolling, it is being recreated")
        fault_proxy.wait_for("Answer", CREATING)
        process.send_signal(signal.SIGINT)
        rest = err.read()
    assert process.returncode == Exit.INTERRUPTED
    assert f"{name} is being recreated: it is stored in the cluster" in rest
    assert "goes on in the cluster" not in rest
    assert (jobs(stage), len(kept(stage))) == ([], 1)

    stage.change("ConfigMap", "app", key="newer")
    done = sync("-o", "json")
    assert done.code == Exit.OK, done.out + done.err
    assert [one["result"] for one in done.json["workloads"]] == ["rolled"]
    assert is_anew(stage, job, old)
    assert stage.record(job)["n"] > 2
    assert sync("--exit-code").code == Exit.NOTHING


# What somebody else does meanwhile


def test_a_source_that_a_template_gains_before_its_turn_is_read(
    stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap(), build.configmap("more"))
    first, later = that_fails(stage, a_web("a")), a_web("b")
    stage.make(later)
    stage.settled(later)
    sync()
    stage.change("ConfigMap", "app", key="new")
    uses = [{"configMapRef": {"name": name}} for name in ("app", "more")]
    template = {"spec": {"containers": [{"name": "main", "envFrom": uses}]}}
    one_by_one = ("--max-parallel", "1")

    with started(stage.namespace, cluster.kubeconfig("admin"), *one_by_one) as (process, err):
        heard(err, f"Deployment {stage.namespace}/a: rolling")
        stage.api.patch(stage.path(later), {"spec": {"template": template}}, kind="strategic")
        sync("deployment/b")
        let_through(stage, first)
        rest = err.read()

    assert process.returncode == Exit.OK, rest
    assert "configmap/more" in stage.record(later)["s"]
