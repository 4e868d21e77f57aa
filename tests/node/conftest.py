"""Fixtures of the tests with real pods: those of the scenarios, on a cluster with a real node."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.node.serving import Client, ServingStage
from tests.scenarios.conftest import (
    chart_rules,
    controller,
    every_dialect,
    hold,
    installation,
    plan,
    reroll_kubeconfig,
    restart,
    sync,
)

from reroll_dev.api import Api
from reroll_dev.cluster import DevCluster

# Fixtures: pytest finds them here by their names.
__all__ = [
    "chart_rules",
    "controller",
    "every_dialect",
    "hold",
    "installation",
    "plan",
    "reroll_kubeconfig",
    "restart",
    "sync",
]


@pytest.fixture(scope="session")
def cluster(node_cluster: DevCluster) -> DevCluster:
    return node_cluster


@pytest.fixture
def stage(api: Api, namespace: str, cluster: DevCluster) -> ServingStage:
    """What tests do and look at, in the test's namespace."""
    return ServingStage(api, namespace, cluster.node.address)


@pytest.fixture
def client(stage: ServingStage) -> Iterator[Callable[..., Client]]:
    """`client(workload)`: one that asks its Service all the time, until the test ends."""
    started: list[Client] = []

    def start(workload: dict[str, Any], path: str = "/") -> Client:
        one = Client(stage.service(workload) + path)
        started.append(one)
        one.start()
        return one

    yield start
    for one in started:
        one.stop()
