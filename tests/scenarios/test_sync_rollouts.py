"""`reroll sync --wait` with Argo Rollouts that do more than replace pods."""

import pytest
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, PATIENCE, STAMP, Stage
from tests.scenarios.test_rollout_kind import referring, template_only
from tests.support import build
from tests.support.command import reroll
from tests.support.settled import is_noticed
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll.core.decide.wording import MADE
from reroll_dev.cluster import DevCluster

pytestmark = pytest.mark.usefixtures("rollouts")


def test_the_rollout_is_waited_for_that_runs_the_template_of_a_deployment(
    stage: Stage, sync: Command
) -> None:
    slow = {"dev.reroll.dev/ready-after": "1s"}
    deployment, web = template_only(template_annotations=slow), referring(enabled="true")
    stage.make(build.configmap("app"), deployment, web)
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="new")

    done = sync("--wait", "-o", "json")

    assert done.code == Exit.OK, done.err
    [told] = done.json["workloads"]
    assert (told["kind"], told["pods"]) == ("Deployment", {"ready": 2, "total": 2, "updated": 2})
    stamps = {pod["metadata"]["annotations"].get(STAMP) for pod in stage.pods(web)}
    assert stamps == {stage.stamp(deployment)}


def test_a_rollout_that_waits_for_a_person_is_told(stage: Stage, sync: Command) -> None:
    steps = [{"setWeight": 50}, {"pause": {}}]
    web = build.rollout(uses="configmap/app", annotations=ENABLED, replicas=2, steps=steps)
    stage.make(build.configmap("app"), web)
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="new")

    assert sync().code == Exit.OK
    stage.api.wait_for(stage.path(web), _waits, timeout=PATIENCE)

    done = sync("--wait", "--timeout", "1s")

    assert done.code == Exit.TIMED_OUT
    assert "1 of 2 pods are new (paused: CanaryPauseStep)" in done.out


def test_an_aborted_rollout_is_a_failure_though_nothing_is_to_roll(
    stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    steps = [{"setWeight": 50}, {"pause": {}}]
    web = build.rollout(uses="configmap/app", annotations=ENABLED, replicas=2, steps=steps)
    stage.make(build.configmap("app"), web)
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="new")
    assert sync().code == Exit.OK
    stage.api.wait_for(stage.path(web), _waits, timeout=PATIENCE)

    stage.api.patch(f"{stage.path(web)}/status", {"status": {"abort": True}})
    stage.api.wait_for(
        stage.path(web), lambda one: one["status"].get("phase") == "Degraded", timeout=PATIENCE
    )
    done = sync("--wait", "--timeout", "5m", "-o", "json")

    [told] = done.json["workloads"]
    assert (done.code, told["result"]) == (Exit.FAILED, "failed"), done.out + done.err
    assert "abort" in told["detail"]
    where = ("-n", stage.namespace, "--controller-namespace", stage.namespace, "-o", "json")
    login = ("--kubeconfig", kubeconfig_of(cluster, "admin"))
    found = reroll("explain", "rollout/web", *where, *login).json
    assert found["rollout"]["state"] == "failing"
    assert MADE not in found["message"]


def _waits(web: build.Object) -> bool:
    reasons = [one["reason"] for one in web.get("status", {}).get("pauseConditions") or ()]
    return is_noticed(web) and "CanaryPauseStep" in reasons
