"""Strategy `evict`: pods are replaced one by one and the template stays as Git has it."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.on_canary import is_ready
from tests.scenarios.stage import (
    ENABLED,
    Controller,
    Stage,
    Web,
    a,
    again,
    alone,
    eventually,
    for_kinds,
)
from tests.support import build
from tests.support.impatient import IMPATIENT

from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_of, path_to

Start = Callable[..., Controller]
EVICT = {**ENABLED, "reroll.dev/strategy": "evict"}
SLOW = {"dev.reroll.dev/ready-after": "2s"}


class Evictions:
    """Those that were granted, in order, as the audit log has them."""

    def __init__(self, audit: Callable[[Path], list[dict[str, Any]]], user: Path) -> None:
        self._audit, self._user = audit, user

    def __call__(self) -> list[dict[str, Any]]:
        return [
            call
            for call in self._audit(self._user)
            if call["objectRef"].get("subresource") == "eviction"
            and call.get("responseStatus", {}).get("code") == 201
        ]

    def names(self) -> list[str]:
        return [call["objectRef"]["name"] for call in self()]


@pytest.fixture
def evictions(audit: Callable[..., list[dict[str, Any]]], reroll_kubeconfig: Path) -> Evictions:
    return Evictions(audit, reroll_kubeconfig)


@pytest.fixture
def page(web: Web) -> Web:
    """Where the controller serves its metrics."""
    return web


def several(kind: Kind) -> dict[str, int]:
    """A DaemonSet has a pod on each of the three nodes; give the others as many."""
    return {"replicas": 3} if kind.name != "DaemonSet" else {}


def begin(stage: Stage, start: Start, web: build.Object, *more: build.Object) -> int:
    stage.make(build.configmap("app"), web, *more)
    start()
    stage.settled(web)
    return int(stage.adopted(web)["n"])


def uids(pods: list[build.Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def finished(stage: Stage, web: build.Object) -> None:
    eventually(lambda: "todo" not in stage.record(web), "every old pod was evicted", timeout=60)


def replaced(stage: Stage, web: build.Object, old: list[build.Object]) -> list[build.Object]:
    """Wait for as many other pods that are ready: its status may still be that of the old ones."""

    def new() -> list[build.Object] | None:
        pods = stage.pods(web)
        is_through = len(pods) == len(old) and uids(pods).isdisjoint(uids(old))
        return pods if is_through and all(map(is_ready, pods)) else None

    found: list[build.Object] = eventually(new, "every pod was replaced")
    return found


def ready_at(pod: build.Object) -> datetime:
    conditions = {each["type"]: each for each in pod["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    return datetime.fromisoformat(conditions["Ready"]["lastTransitionTime"])


@pytest.mark.thorough
@for_kinds(Strategy.EVICT)
def test_pods_are_evicted_one_by_one_each_when_the_one_before_is_ready(
    stage: Stage, controller: Start, kind: Kind, evictions: Evictions
) -> None:
    web = a(
        kind,
        uses="configmap/app",
        annotations=EVICT,
        template_annotations=SLOW,
        **several(kind),
    )
    first = begin(stage, controller, web)
    old, before = stage.pods(web), stage.get(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first)
    (event,) = eventually(lambda: stage.events(web, "ConfigChanged"), "the roll is an Event")
    assert event["message"] == "evicting 3 pods: configmap/app changed (key)"
    finished(stage, web)
    new = replaced(stage, web, old)

    assert sorted(evictions.names()) == sorted(pod["metadata"]["name"] for pod in old)
    assert len(new) == 3
    ready = sorted(ready_at(pod) for pod in new)
    for number, call in enumerate(evictions()):
        at = datetime.fromisoformat(call["requestReceivedTimestamp"])
        assert all(moment <= at for moment in ready[:number]), "two were away at once"
    assert stage.get(web)["spec"] == before["spec"]
    assert len(stage.revisions(web)) == 1


@pytest.mark.parametrize("builder", [build.statefulset, build.daemonset])
def test_a_workload_that_replaces_pods_only_on_delete_is_rolled_by_evictions(
    stage: Stage, controller: Start, evictions: Evictions, builder: Callable[..., build.Object]
) -> None:
    spec = {"updateStrategy": {"type": "OnDelete"}}
    web = builder("web", uses="configmap/app", annotations=EVICT, spec=spec)
    first = begin(stage, controller, web)
    old = stage.pods(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first)
    finished(stage, web)

    replaced(stage, web, old)
    assert len(evictions()) == len(old)
    assert len(stage.revisions(web)) == 1


def test_a_disruption_budget_is_honoured_and_the_roll_goes_on_when_it_allows(
    stage: Stage, controller: Start, evictions: Evictions, page: Web
) -> None:
    complete = 'reroll_rollouts_total{result="complete"}'
    web = build.deployment(uses="configmap/app", annotations=EVICT, replicas=2)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": stage.namespace},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    first = begin(stage, partial(controller, *page.flags), web, budget)
    stage.api.wait_for(
        path_of(budget), lambda seen: seen.get("status", {}).get("currentHealthy") == 2
    )
    old = stage.pods(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first)
    eventually(lambda: stage.events(web, "EvictionRefused"), "an Event says what it waits for")
    assert uids(stage.pods(web)) == uids(old)
    assert evictions() == []
    assert page.metrics()[complete] == 0, "no pod was replaced yet"

    stage.api.patch(path_of(budget), {"spec": {"minAvailable": 1}})
    finished(stage, web)
    replaced(stage, web, old)
    assert len(evictions()) == 2
    eventually(lambda: page.metrics()[complete] == 1, "it is complete once, at its end")


def test_a_replacement_that_does_not_get_ready_is_told_and_the_roll_goes_on_when_it_does(
    stage: Stage, controller: Start, evictions: Evictions
) -> None:
    spec = {"updateStrategy": {"type": "OnDelete"}}
    web = build.statefulset("web", uses="configmap/app", annotations=EVICT, spec=spec, replicas=2)
    stage.make(build.configmap("app"), web)
    running = alone(controller)
    running.program = IMPATIENT
    again(running)
    stage.settled(web)
    number = stage.adopted(web)["n"]
    sick = {"metadata": {"annotations": {build.FAIL: "unready"}}}
    stage.api.patch(stage.path(web), {"spec": {"template": sick}})

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)

    def told() -> str:
        """On a busy machine it may first be told that the old pod has not ended yet."""
        messages = [event["message"] for event in stage.events(web, "EvictionRefused")]
        return next((text for text in messages if "is not ready" in text), "")

    message = eventually(told, "an Event tells of it")
    (name,) = evictions.names()
    assert f"{name}, which replaces another, is not ready" in message

    well: build.Object = {"metadata": {"annotations": {build.FAIL: None}}}
    stage.api.patch(stage.path(web), {"spec": {"template": well}})
    stage.api.patch(path_to("Pod", name, stage.namespace), well)
    finished(stage, web)
    assert sorted(evictions.names()) == ["web-0", "web-1"]


@pytest.mark.thorough
@for_kinds(Strategy.EVICT)
def test_a_controller_killed_in_the_middle_evicts_only_the_rest(
    stage: Stage, controller: Start, kind: Kind, evictions: Evictions
) -> None:
    web = a(
        kind,
        uses="configmap/app",
        annotations=EVICT,
        template_annotations=SLOW,
        **several(kind),
    )
    stage.make(build.configmap("app"), web)
    running = controller()
    stage.settled(web)
    first = stage.adopted(web)
    old = stage.pods(web)

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first["n"])
    eventually(evictions, "one is evicted")
    running.kill()
    running.start()

    finished(stage, web)
    replaced(stage, web, old)
    assert sorted(evictions.names()) == sorted(pod["metadata"]["name"] for pod in old)


def test_a_workload_deleted_while_its_pods_are_evicted_ends_the_roll_and_no_other(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(uses="configmap/app", annotations=EVICT, replicas=2)
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, other)
    running = controller()
    for one in (web, other):
        stage.settled(one)
        stage.adopted(one)
    first = stage.record(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=first)

    stage.api.delete(stage.path(web))

    number = stage.record(other)["n"]
    stage.change("ConfigMap", "app", key="newer")
    stage.rolled(other, since=number)
    assert not running.said("Failed", "web")
