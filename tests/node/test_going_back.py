"""The controller goes back by itself, and a canary keeps a bad content from the workload.

As in `test_broken_config`, the process of every pod ends with code 3 unless its MODE begins with
`good`; here nobody is there to run a command.
"""

from collections.abc import Callable

import pytest
from tests.node.serving import DRAIN, PATIENCE, Client, ServingStage, serving
from tests.node.test_broken_config import EXIT, MODE, look
from tests.scenarios.propagating import told
from tests.scenarios.revised import REVISIONS, pin
from tests.scenarios.stage import Controller, eventually
from tests.support import build

from reroll.core.tables.annotations import CANARY

__all__ = ["look"]
Start = Callable[..., Controller]
Look = Callable[..., str]


@pytest.fixture
def served(
    stage: ServingStage, controller: Start, client: Callable[..., Client]
) -> Callable[..., tuple[build.Object, Client]]:
    """`served(canary="1")`: a Deployment with revisions that is pinned, and one who asks it."""

    def make(**annotations: str) -> tuple[build.Object, Client]:
        asked = {f"reroll.dev/{key}": value for key, value in annotations.items()}
        picky = serving([MODE], WEB_REQUIRE="MODE=^good", **DRAIN)
        web = build.deployment(replicas=2, annotations={**REVISIONS, **asked}, **picky)
        stage.make(build.configmap("app", {"mode": "good"}), web)
        controller()
        pin(stage, web)
        stage.settled(web)
        stage.old_ones_end(web)
        visitor = client(web, "/env/MODE")
        visitor.goes_on()
        return web, visitor

    return make


def named(look: Look, *words: str) -> None:
    """Wait until the commands that people look with say all of this."""
    for command in (("explain", "deployment/web"), ("status", "-o", "json")):

        def says(command: tuple[str, ...] = command) -> bool:
            said = " ".join(look(*command).split())
            return all(word in said for word in words)

        eventually(says, f"{command} names {words}", 20)


def mended(stage: ServingStage, web: build.Object, visitor: Client) -> None:
    """Another content rolls, and no visitor noticed anything of the one that failed."""
    stage.change("ConfigMap", "app", mode="good again")
    stage.variable_is(web, "MODE", "good again")
    stage.settled(web)
    visitor.goes_on()
    visitor.stop()
    assert visitor.failures == []
    assert set(visitor.answers) == {"good", "good again"}


def test_the_controller_takes_a_crash_back_and_old_pods_serve_all_the_while(
    stage: ServingStage, served: Callable[..., tuple[build.Object, Client]], look: Look
) -> None:
    web, visitor = served(**{"on-failure": "rollback"})
    first, old = pin(stage, web), stage.uids(web)

    stage.change("ConfigMap", "app", mode="bad")

    said = told(stage, web, "RolledBack", "configmap/app; pod web-", "container main")
    assert EXIT in said
    assert EXIT in told(stage, web, "Failing", "pod web-")
    eventually(lambda: stage.uids(web) == old, "the new pod goes", PATIENCE)
    stage.settled(web)
    assert pin(stage, web) == first
    named(look, "RolledBack", EXIT)
    # The ConfigMap still holds what failed: a pod that starts now does not read it.
    for pod in stage.pods(web)[:1]:
        stage.api.delete(f"/api/v1/namespaces/{stage.namespace}/pods/{pod['metadata']['name']}")
    eventually(lambda: stage.uids(web) != old, "a pod is replaced", PATIENCE)
    stage.variable_is(web, "MODE", "good")
    stage.settled(web)
    mended(stage, web, visitor)


def test_a_canary_that_crashes_goes_and_the_workload_was_never_touched(
    stage: ServingStage, served: Callable[..., tuple[build.Object, Client]], look: Look
) -> None:
    web, visitor = served(canary="1")

    def untouched() -> tuple[object, ...]:
        pods = {one["metadata"]["uid"] for one in stage.pods(web) if not is_canary(one)}
        return stage.get(web)["metadata"]["generation"], stage.template(web), pods

    before = untouched()
    stage.change("ConfigMap", "app", mode="bad")

    told(stage, web, "OnCanary")
    said = told(stage, web, "Stopped", "its canary web-canary failed: pod web-canary-")
    assert EXIT in said
    eventually(lambda: not any(map(is_canary, stage.pods(web))), "the canary goes", PATIENCE)
    assert untouched() == before
    named(look, "Stopped", "web-canary failed", EXIT)
    mended(stage, web, visitor)
    eventually(lambda: not any(map(is_canary, stage.pods(web))), "so does the next", PATIENCE)


def is_canary(pod: build.Object) -> bool:
    return CANARY in pod["metadata"]["labels"]
