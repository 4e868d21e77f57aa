"""What is so of a workload, by every command that tells it, on a real cluster."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.rolling import that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.terminal import in_terminal
from tests.support.tools import Tool, kubeconfig_of

from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Tell = Callable[..., dict[str, Any]]
Start = Callable[..., Controller]
SECOND = 1.1
"""Kubernetes tells whole seconds."""
MADE = "its pods were made with the current configuration"


@pytest.fixture
def tell(cluster: DevCluster, namespace: str) -> Tell:
    """What a command answers, as JSON."""

    def run(command: str, *args: str) -> dict[str, Any]:
        where = ("-n", namespace, "--kubeconfig", cluster.kubeconfig(), "-o", "json")
        found: dict[str, Any] = json.loads(
            reroll(command, *where, "--controller-namespace", namespace, *args).out
        )
        return found

    return run


def answers(tell: Tell, name: str = "web", kind: str = "deployment") -> dict[str, str]:
    """The reason that each command gives."""
    of = {"explain": tell("explain", f"{kind}/{name}")["reason"]}
    for command, flags in (("plan", ("--all",)), ("sync", ("--dry-run",)), ("status", ())):
        [row] = [one for one in tell(command, *flags)["workloads"] if one["name"] == name]
        of[command] = row["reason"]
    return of


def same(reason: str) -> dict[str, str]:
    return dict.fromkeys(("explain", "plan", "sync", "status"), reason)


def checked(tell: Tell) -> list[tuple[str, str]]:
    """What `reroll doctor` finds of the workloads."""
    found = tell("doctor")["findings"]
    return [(one["level"], one["sentence"]) for one in found if one["check"] == "workloads"]


def results(tell: Tell, name: str = "web") -> list[str | None]:
    """What `reroll history` says of each thing that happened, the newest first."""
    past = tell("history")["history"]
    return [one["result"] for one in past if one["workload"]["name"] == name]


def test_content_that_was_taken_back_is_declined_by_every_command(
    stage: Stage, controller: Start, tell: Tell, kubectl: Tool
) -> None:
    """The rollout of the bad content is stuck and undone: pods of before go on."""
    stage.make(build.configmap("app"))
    web = build.deployment("web", replicas=2, uses="configmap/app", annotations=ENABLED)
    that_fails(stage, web)
    one = alone(controller)
    adopted = stage.adopted(web)
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", key="bad")
    rolled = stage.rolled(web, adopted["n"])

    eventually(lambda: len(stage.pods(web)) > 2, "a pod of the new template is there")
    going = tell("explain", "deployment/web")
    assert (going["rollout"]["state"], MADE in going["message"]) == ("progressing", False)
    assert "pods from before that roll still run" in going["message"]
    assert going["pods"]["configuration"] == "being replaced"

    kubectl("rollout", "undo", "deployment/web", "--namespace", stage.namespace)
    eventually(lambda: stage.record(web)["n"] > rolled["n"], "the undo is recorded")
    one.stop()
    stage.settled(web)

    assert stage.record(web)["declined"] == ["configmap/app"]
    assert answers(tell) == same("Declined")
    assert "pods that start from now on read it" in tell("explain", "deployment/web")["message"]
    assert results(tell).count("taken back") == 1
    [(level, sentence)] = checked(tell)
    assert (level, f"Deployment {stage.namespace}/web (Declined)" in sentence) == ("warning", True)
    assert {pod["stale"] for pod in tell("audit")["pods"]} == {True}

    stage.change("ConfigMap", "app", key="good")
    assert answers(tell) == same("ConfigChanged")


def test_a_rollout_that_crashes_is_said_first_and_fits_eighty_columns(
    stage: Stage, controller: Start, tell: Tell, cluster: DevCluster
) -> None:
    stage.make(build.configmap("app"))
    web = build.deployment("web", replicas=2, uses="configmap/app", annotations=ENABLED)
    that_fails(stage, web, "crashloop")
    alone(controller)
    adopted = stage.adopted(web)
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", key="bad")
    stage.rolled(web, adopted["n"])

    def failing() -> bool:
        return bool(tell("status")["workloads"][0]["rollout"]["state"] == "failing")

    eventually(failing, "the crash is told")

    [status] = tell("status")["workloads"]
    assert "CrashLoopBackOff" in status["rollout"]["message"]
    assert results(tell)[0] == "failing"
    [(level, sentence)] = checked(tell)
    assert level == "warning"
    assert sentence.startswith(f"the rollout fails: Deployment {stage.namespace}/web (pod web-")
    assert status["pods"]["configuration"] == "being replaced"
    where = ("-n", stage.namespace, "--controller-namespace", stage.namespace)
    config = ("--kubeconfig", kubeconfig_of(cluster, "admin"))
    seen = in_terminal("status", *where, *config, columns=80)
    assert (seen.code, seen.widest <= 80, len(seen.text.splitlines()) <= 3) == (0, True, True)
    assert "deployment/web" in seen.text
    lines = in_terminal("explain", "deployment/web", *where, *config).text.splitlines()
    assert lines[2].strip().startswith("Rollout: failing: pod web-") or "Rollout" in lines[3]


def test_a_required_source_that_is_gone_is_said_though_nothing_changed(
    stage: Stage, controller: Start, tell: Tell
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller)
    stage.adopted(web)
    stage.settled(web)
    one.stop()
    stage.api.delete(path_to("ConfigMap", "app", stage.namespace))

    assert answers(tell) == same("SourceMissing")
    [(level, sentence)] = checked(tell)
    assert (level, "(SourceMissing: ConfigMap" in sentence) == ("warning", True)
    obstacle = tell("status")["workloads"][0]["obstacle"]
    assert f"ConfigMap {stage.namespace}/app; create it" in obstacle["message"]
    done = tell("sync")
    assert (done["result"], done["workloads"][0]["reason"]) == ("held", "SourceMissing")


def test_what_a_budget_refuses_is_in_the_way(stage: Stage, controller: Start, tell: Tell) -> None:
    annotations = {**ENABLED, "reroll.dev/strategy": "evict"}
    web = build.deployment("web", uses="configmap/app", annotations=annotations)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": web["spec"]["selector"]},
    }
    stage.make(build.configmap("app"), web, budget)
    one = alone(controller)
    adopted = stage.adopted(web)
    stage.settled(web)
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, adopted["n"])
    one.wait_for(lambda line: line.get("reason") == "EvictionRefused")

    def refused() -> bool:
        obstacle = tell("explain", "deployment/web")["obstacle"]
        return bool(obstacle and obstacle["reason"] == "EvictionRefused")

    eventually(refused, "the refusal is in the way")
    [status] = tell("status")["workloads"]
    assert status["obstacle"]["reason"] == "EvictionRefused"
    # What the status of the Deployment says: no pod was replaced yet.
    assert status["rollout"]["state"] == "progressing"
    assert [one for one in results(tell) if one] == ["progressing"]


def test_what_replaces_no_pods_never_says_that_it_did(
    stage: Stage, controller: Start, tell: Tell
) -> None:
    nightly = build.cronjob("nightly", uses="configmap/app", annotations=ENABLED)
    long = {"dev.reroll.dev/complete-after": "1h"}
    recreate = {**ENABLED, "reroll.dev/strategy": "recreate"}
    batch = build.job(
        "batch", uses="configmap/app", annotations=recreate, template_annotations=long
    )
    stage.make(build.configmap("app"), nightly, batch)
    one = alone(controller)
    number = stage.adopted(nightly)["n"]
    stage.adopted(batch)
    eventually(lambda: stage.pods(batch), "its pod is there")
    one.stop()
    stage.change("ConfigMap", "app", key="new")

    planned = {row["name"]: row for row in tell("plan")["workloads"]}
    assert (planned["batch"]["effect"], planned["batch"]["pods"]) == ("recreated", 1)
    assert (planned["nightly"]["effect"], planned["nightly"]["pods"]) == ("next run", 0)
    assert tell("plan")["radius"]["pods"] == 1

    one.start(wait="watching")
    stage.rolled(nightly, number)
    told = tell("explain", "cronjob/nightly")
    assert "its next run reads the current configuration" in told["message"]
    assert MADE not in told["message"]


def test_a_record_of_a_roll_tells_the_audit_that_a_key_is_unchanged(
    stage: Stage, controller: Start, tell: Tell
) -> None:
    web = build.deployment("web", uses="configmap/app#key", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "a", "other": "a"}), web)
    one = alone(controller)
    adopted = stage.adopted(web)
    stage.settled(web)
    stage.change("ConfigMap", "app", key="b")
    stage.rolled(web, adopted["n"])
    stage.settled(web)
    eventually(lambda: len(stage.pods(web)) == 1, "the old pod is gone")
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", other="b")
    one.stop()

    [pod] = [pod for pod in tell("audit")["pods"] if pod["workload"]["name"] == "web"]
    [use] = [use for use in pod["uses"] if use["source"]["name"] == "app"]
    assert (pod["running"], pod["stale"], use["verdict"]) == (True, False, "current")
    assert "holds what it held when the workload rolled" in use["why"]
    assert answers(tell) == same("UpToDate")
    assert MADE not in tell("explain", "deployment/web")["message"]


def test_a_bad_opt_in_and_a_misspelt_key_are_shown(
    stage: Stage, controller: Start, tell: Tell
) -> None:
    stage.make(build.configmap("app"))
    for name, said in (
        ("yes", {"reroll.dev/enabled": "yes"}),
        ("typo", {"reroll.dev/enable": "true"}),
    ):
        stage.make(build.deployment(name, uses="configmap/app", annotations=said))
    one = alone(controller)

    [bad] = tell("explain", "deployment/yes")["warnings"]
    assert "'yes' is neither" in bad
    [typo] = tell("explain", "deployment/typo")["warnings"]
    assert typo.endswith("means nothing; did you mean reroll.dev/enabled?")
    one.wait_for(lambda line: "did you mean reroll.dev/enabled" in json.dumps(line))
