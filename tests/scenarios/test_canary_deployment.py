"""A canary of a plain Deployment: a few pods try a content, and the workload waits untouched."""

from collections import Counter
from typing import Any

import pytest
from tests.scenarios.on_canary import (
    Decide,
    Start,
    a_web,
    canary,
    copy_of,
    decide,
    gone,
    ready,
    untouched,
)
from tests.scenarios.propagating import change, impatient, killed_at_each, pinned, sicken, told
from tests.scenarios.revised import copies, pin, pinned_anew, pins
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Stage, again, alone, eventually
from tests.support import build
from tests.support.build import Object

from reroll.cli.errors import Exit
from reroll.core.tables.annotations import CANARY
from reroll_dev.api import path_to

__all__ = ["decide"]
SLOWLY = "test.reroll.dev/slowly"
"""A finalizer: what is deleted stays until the test lets it go."""


def test_a_canary_runs_beside_the_workload_until_a_person_promotes_it(
    stage: Stage, controller: Start, decide: Decide
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web(**{"canary-pause": "manual"}))
    one = controller()
    stage.adopted(web)
    pinned(stage, [web])
    old, before = pins(stage, web)["ConfigMap", "app"], untouched(stage, web)

    change(stage, "first")
    made = ready(stage)
    first = copy_of(made)
    uid = stage.get(web)["metadata"]["uid"]
    assert [owner["uid"] for owner in made["metadata"]["ownerReferences"]] == [uid]
    assert (made["spec"]["replicas"], made["spec"]["selector"]) == (
        1,
        {"matchLabels": {CANARY: uid}},
    )
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", CANARY: uid}
    assert first != old
    told(stage, web, "OnCanary", "reroll promote")
    again(one)
    assert (canary(stage) or {})["metadata"]["uid"] == made["metadata"]["uid"]

    change(stage, "second")
    second = ready(stage, but=first)
    assert untouched(stage, web) == before
    assert "reroll.dev/state" not in second["metadata"]["annotations"]
    done = decide("promote")
    assert done.code == Exit.OK, done.err
    assert pinned_anew(stage, web, old) == copy_of(second)
    gone(stage)
    stage.settled(web)
    assert decide("abort").code != Exit.OK

    change(stage, "third")
    ready(stage)
    stage.api.delete(stage.path(web))
    gone(stage)


def test_a_sick_canary_stops_the_change_and_leaves_the_workload_as_it_was(
    stage: Stage, controller: Start
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    controller()
    stage.adopted(web)
    pinned(stage, [web])
    give_up_after(stage, web, 2)
    sicken(stage, web, "crashloop")
    before = untouched(stage, web)

    change(stage, "bad")
    told(stage, web, "OnCanary")
    told(stage, web, "Stopped", "web-canary failed")
    gone(stage)
    assert untouched(stage, web) == before
    change(stage, "worse")
    eventually(lambda: canary(stage), "another content has another canary")
    stage.annotate(web, enabled="false")
    gone(stage)


def give_up_after(stage: Stage, one: Object, seconds: int) -> None:
    """So long may its next pods take, and those of its next canary."""
    stage.api.patch(stage.path(one), {"spec": {"progressDeadlineSeconds": seconds}})


def made(stage: Stage, _: Object) -> bool:
    """A canary is there, and does not go at once when it is deleted."""
    if canary(stage) is None:
        return False
    path = path_to("Deployment", "web-canary", stage.namespace)
    stage.api.patch(path, {"metadata": {"finalizers": [SLOWLY]}})
    return True


def is_available(stage: Stage, _: Object) -> bool:
    return (canary(stage) or {}).get("status", {}).get("availableReplicas") == 1


def goes(stage: Stage, _: Object) -> bool:
    return "deletionTimestamp" in (canary(stage) or {}).get("metadata", {})


def let_go(stage: Stage) -> None:
    path = path_to("Deployment", "web-canary", stage.namespace)
    stage.api.patch(path, {"metadata": {"finalizers": None}})
    gone(stage)


def verdict(stage: Stage, web: Object) -> Any:
    return stage.record(web).get("canary", {}).get("v")


@pytest.mark.slow
def test_killed_at_every_step_a_canary_comes_to_the_same_end(
    stage: Stage, controller: Start, sync: Command
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web(soak="1s"))
    stage.settled(web)
    one = alone(controller)
    pinned(stage, [web])
    old = pin(stage, web)

    change(stage, "good")
    steps = {
        "the change was made": lambda *_: True,
        "the canary is made": made,
        "it soaks": is_available,
        "the workload rolls": lambda stage, web: pin(stage, web) != old,
        "the canary is being deleted": goes,
    }
    killed_at_each(steps, one, stage, web)
    let_go(stage)
    stage.settled(web)
    assert len(stage.revisions(web)) == 3  # Without pins, with the first, with this one.

    sicken(stage, web, "crashloop")
    change(stage, "bad")
    killed_at_each({"the canary is made": made}, one, stage, web)
    for each in (web, canary(stage) or {}):  # Only now: it must not be judged before it is seen.
        give_up_after(stage, each, 2)
    before = untouched(stage, web)
    steps = {
        "there is a verdict": verdict,
        "it is being deleted": goes,
    }
    killed_at_each(steps, one, stage, web)
    let_go(stage)
    again(one)
    told(stage, web, "Stopped", "web-canary failed")
    assert (verdict(stage, web), untouched(stage, web)) == ("failed", before)
    assert canary(stage) is None

    # A command does not stay to see what comes of a canary, so it makes none.
    one.kill()
    known = copies(stage)
    change(stage, "third")
    done = sync()
    assert "which outlives this command: the controller makes it" in done.out
    assert (untouched(stage, web), canary(stage)) == (before, None)
    assert copies(stage).keys() == known.keys()


@pytest.mark.slow
def test_what_selects_the_pods_of_a_workload_has_those_of_its_canary_too(
    stage: Stage, controller: Start, decide: Decide
) -> None:
    stage.make(build.configmap())
    web, other = impatient(a_web(**{"canary-pause": "manual"})), a_web("other")
    web["spec"]["template"]["spec"]["topologySpreadConstraints"] = [evenly()]
    stage.make(web, other, a_network_policy(), a_service())
    alone(controller)
    pinned(stage, [web, other])
    old, before = pin(stage, other), untouched(stage, web)
    stage.make(a_budget(), a_quota(6))
    quota = path_to("ResourceQuota", "pods", stage.namespace)
    stage.api.wait_for(quota, lambda one: one.get("status", {}).get("used", {}).get("pods") == "6")

    # A quota is not the fault of a configuration.
    change(stage, "second")
    told(stage, web, "OnCanary", "exceeded quota")
    assert (stage.events(web, "Stopped"), untouched(stage, web)) == ([], before)
    for one in (web, canary(stage) or {}):
        give_up_after(stage, one, 600)
    stage.api.patch(quota, {"spec": {"hard": {"pods": "20"}}})
    first = ready(stage)

    # What counts by the labels of the workload counts the canary.
    budget = path_to("PodDisruptionBudget", "web", stage.namespace)
    stage.api.wait_for(budget, lambda one: one.get("status", {}).get("expectedPods") == 4)
    scale = stage.api.get(f"{stage.path(web)}/scale")
    policy = stage.get(a_network_policy())["spec"]["podSelector"]["matchLabels"]
    for labels in (scale["status"]["selector"], ",".join(map("=".join, policy.items()))):
        pods = stage.api.list(path_to("Pod", "", stage.namespace), labelSelector=labels)
        assert len(pods) == 4
        on_nodes = Counter(pod["spec"]["nodeName"] for pod in pods)
        assert sorted(on_nodes.values()) == [1, 1, 2]
    eventually(lambda: len(served(stage)) == 4, "its Service has a share for the canary")
    assert {pod["metadata"]["name"] for pod in pods} == served(stage)
    # An autoscaler scales the workload, and leaves the canary as it is.
    stage.make(an_autoscaler(4))
    stage.api.wait_for(stage.path(web), lambda one: one["spec"]["replicas"] == 4)
    stage.settled(web)
    there = canary(stage) or {}
    assert (there["metadata"]["uid"], there["spec"]["replicas"]) == (first["metadata"]["uid"], 1)

    # An upgrade is tried with the change; another workload goes its own way.
    image = {"name": "main", "image": "example.invalid/app:2"}
    upgrade = {"spec": {"template": {"spec": {"containers": [image]}}}}
    stage.api.patch(stage.path(web), upgrade, kind="strategic")
    second = ready(stage, uid=first["metadata"]["uid"])
    assert second["spec"]["template"]["spec"]["containers"][0]["image"] == image["image"]
    new = pinned_anew(stage, other, old)
    assert pin(stage, web) != new == copy_of(second)
    assert decide("promote").code == Exit.OK
    assert pinned_anew(stage, web, old) == new
    gone(stage)


def evenly() -> Object:
    """Over the three nodes, as evenly as can be."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }


def a_service() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }


def served(stage: Stage) -> set[str]:
    """The pods that traffic of the Service goes to."""
    path = path_to("EndpointSlice", "", stage.namespace, version="discovery.k8s.io/v1")
    slices = stage.api.list(path, labelSelector="kubernetes.io/service-name=web")
    return {
        one["targetRef"]["name"]
        for each in slices
        for one in each.get("endpoints") or ()
        if one["conditions"].get("ready")
    }


def a_network_policy() -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web"},
        "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "ingress": [{}]},
    }


def a_budget() -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }


def an_autoscaler(least: int) -> Object:
    """It needs no metrics to see that there are too few pods."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": 2 * least},
    }


def a_quota(pods: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "pods"},
        "spec": {"hard": {"pods": str(pods)}},
    }
