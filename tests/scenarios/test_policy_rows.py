"""Rows `policies:` of the config file, for workloads that say nothing themselves."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios import custom
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
FILE = {
    "policies": [
        {"strategy": "notify", "soak": "1m"},
        {"match": {"namespaces": ["t-*"], "workloads": "tier in (front)"}, "strategy": "restart"},
    ]
}
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def marks(stage: Stage, workload: build.Object) -> set[str]:
    return set(stage.template(workload)["metadata"].get("annotations", ()))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return custom.config(tmp_path, FILE)


def test_a_row_decides_for_those_that_it_matches_and_say_nothing(
    stage: Stage, controller: Start, config: Path, cluster: DevCluster
) -> None:
    front, own = {"tier": "front"}, {**ENABLED, "reroll.dev/strategy": "stamp"}
    by_row = build.deployment("by-row", uses="configmap/app", labels=front, annotations=ENABLED)
    by_own = build.deployment("by-own", uses="configmap/app", labels=front, annotations=own)
    back = build.deployment("back", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), by_row, by_own, back)
    controller("--config", config)
    everyone = (by_row, by_own, back)
    numbers = [stage.adopted(one)["n"] for one in everyone]

    stage.change("ConfigMap", "app", key="new")
    for one, number in zip(everyone, numbers, strict=True):
        stage.rolled(one, since=number)

    assert marks(stage, by_row) == {RESTARTED}
    assert marks(stage, by_own) == {"reroll.dev/config-hash"}
    assert marks(stage, back) == set()

    where = ("-n", stage.namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"))
    asked = ("deployment/by-row", *where, "--config", config, "-o", "json")
    found = reroll("explain", *asked).json["decided"]
    because = {one["name"]: (one["value"], one["because"]) for one in found}
    assert because["strategy"] == ("restart", "policies[1] of the settings")
    assert because["soak"] == ("1m", "policies[0] of the settings")


def test_a_row_that_cannot_be_used_ends_the_controller_with_a_sentence(tmp_path: Path) -> None:
    rows = [{"match": {"workloads": {"a": "b"}, "sources": ["secret/a"]}, "sok": "1m"}]

    done = reroll("run", "--config", custom.config(tmp_path, {"policies": rows}))

    assert done.code == 2
    assert "policies[0]: match: has workloads and sources; make two rows of it" in done.err
    assert "there is no field 'sok'; did you mean 'soak'?" in done.err
