"""What goes down: the leader's pod, and the node under all of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.node.installation.installed import NAME, PATIENCE, Installation
from tests.node.installation.pages import page, rolls, web
from tests.node.serving import ServingStage
from tests.scenarios.stage import ENABLED, eventually
from tests.support.settled import has_condition
from tests.support.tools import Tool

from reroll_dev.access import NODE
from reroll_dev.api import Api, Object, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.node.images import CTR
from reroll_dev.node.node import Node
from reroll_dev.node.programs import INSIDE

Install = Callable[..., Installation]


def kill(cluster: DevCluster, kubectl: Tool, pod: Object) -> None:
    """End its process by SIGKILL."""
    [status] = pod["status"]["containerStatuses"]
    container = status["containerID"].removeprefix("containerd://")
    cluster.node.sandbox.run(*CTR, "tasks", "kill", "--signal", "SIGKILL", container)


def delete(cluster: DevCluster, kubectl: Tool, pod: Object) -> None:
    name, home = pod["metadata"]["name"], pod["metadata"]["namespace"]
    kubectl("delete", "pod", name, "-n", home, "--grace-period=0", "--force")


@contextmanager
def stopped(node: Node) -> Iterator[None]:
    """Without the programs of the node: nothing starts, ends or checks containers."""
    for name in reversed(INSIDE):
        node.stop(name)
    try:
        yield
    finally:
        for name in INSIDE:
            node.start(name)


@pytest.mark.parametrize("end", [kill, delete])
def test_when_the_leader_is_gone_the_other_replica_rolls_the_next_change(
    install: Install,
    stage: ServingStage,
    cluster: DevCluster,
    kubectl: Tool,
    end: Callable[[DevCluster, Tool, Object], None],
) -> None:
    one = web(annotations=ENABLED)
    stage.make(page("one"), one)
    installed = install()
    stage.adopted(one)
    stage.settled(one)
    leader = installed.leader()["metadata"]["name"]
    [other] = installed.pods().keys() - {leader}

    end(cluster, kubectl, installed.pods()[leader])
    rolls(stage, one, "two")

    assert installed.leader()["metadata"]["name"] == other
    assert len(stage.revisions(one)) == 2
    installed.settled()
    assert installed.restarts() == (1 if end is kill else 0)


def test_a_node_whose_programs_were_restarted_goes_on(
    install: Install, stage: ServingStage, cluster: DevCluster, api: Api, kubectl: Tool
) -> None:
    one = web(annotations=ENABLED)
    stage.make(page("one"), one)
    installed = install()
    stage.adopted(one)
    stage.settled(one)
    replicas = set(installed.pods())

    with stopped(cluster.node):
        stage.change("ConfigMap", "app", **{"index.html": "while they were stopped"})
        eventually(lambda: len(stage.revisions(one)) == 2, "the controller goes on")
        assert "one" in stage.answers(one, "/")
        renewed = api.get(path_to("Lease", NODE, "kube-node-lease"))["spec"]["renewTime"]

    stage.all_answer(one, "/", "while they were stopped")
    api.wait_for(
        path_to("Lease", NODE, "kube-node-lease"),
        lambda lease: lease["spec"]["renewTime"] > renewed,
        timeout=PATIENCE,
    )
    api.wait_for(path_to("Node", NODE), lambda node: has_condition(node, "Ready"))
    installed.settled()
    assert set(installed.pods()) == replicas
    assert installed.restarts() == 0
    assert kubectl("logs", "-n", installed.home, f"deployment/{NAME}")
    rolls(stage, one, "after it")
