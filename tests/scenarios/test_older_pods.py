"""Pods that are older than their configuration when their workload is adopted: told by all."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, alone
from tests.support import build
from tests.support.command import reroll

from reroll_dev.cluster import DevCluster

Tell = Callable[..., dict[str, Any]]
SECOND = 1.1
"""Kubernetes tells whole seconds."""


@pytest.fixture
def tell(cluster: DevCluster, namespace: str) -> Tell:
    """What a command answers, as JSON."""

    def run(command: str, *args: str | Path) -> dict[str, Any]:
        where = ("-n", namespace, "--kubeconfig", cluster.kubeconfig(), "-o", "json")
        home = () if command == "audit" else ("--controller-namespace", namespace)
        found: dict[str, Any] = json.loads(reroll(command, *where, *home, *args).out)
        return found

    return run


def stale(tell: Tell) -> set[str]:
    """The workloads that `audit` calls stale."""
    return {pod["workload"]["name"] for pod in tell("audit")["pods"] if pod["stale"]}


def test_what_was_stale_at_adoption_is_told_by_every_command_and_rolled_on_request(
    stage: Stage, controller: Callable[..., Controller], tell: Tell
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    other = build.deployment("other", uses="configmap/other", annotations=ENABLED)
    stage.make(build.configmap("app"), build.configmap("other"), web, other)
    stage.settled(web)
    stage.settled(other)
    time.sleep(SECOND)
    stage.change("ConfigMap", "app", key="new")

    before = tell("explain", "deployment/web")
    assert (before["reason"], "`reroll sync --stale`" in before["message"]) == ("Adopted", True)
    one = alone(controller)
    stage.adopted(web)
    stage.adopted(other)
    stage.quiet(web)
    one.stop()

    assert stale(tell) == {"web"}
    explained = tell("explain", "deployment/web")
    assert explained["reason"] == "PodsOlder"
    assert not any("made with the current" in gate["message"] for gate in explained["gates"])
    assert tell("explain", "deployment/other")["reason"] == "UpToDate"
    planned = {row["name"]: row["effect"] for row in tell("plan", "--all")["workloads"]}
    assert planned == {"web": "stale", "other": "-"}
    synced = {row["name"]: (row["result"], row["reason"]) for row in tell("sync")["workloads"]}
    assert synced == {"web": ("nothing to do", "PodsOlder"), "other": ("nothing to do", "UpToDate")}
    assert stage.stamp(web) is None

    rolled = {row["name"]: row["result"] for row in tell("sync", "--stale", "--wait")["workloads"]}
    assert rolled == {"web": "rolled", "other": "nothing to do"}
    assert tell("explain", "deployment/web")["reason"] == "UpToDate"
    assert stale(tell) == set()
    again = {row["name"]: row["result"] for row in tell("sync", "--stale", "--wait")["workloads"]}
    assert again == {"web": "nothing to do", "other": "nothing to do"}
    assert stage.stamp(other) is None
