"""Revisions with a kubelet: an old pod that starts again has the old content, in fact."""

from collections.abc import Callable

import pytest
from tests.node.serving import PATIENCE, ServingStage, file, serving
from tests.scenarios.pins import Installation, webhook_flags, webhook_rules
from tests.scenarios.revised import copies, pin
from tests.scenarios.stage import ENABLED, Controller, alone, eventually
from tests.support import build
from tests.support.settled import has_condition
from tests.support.tools import Tool

from reroll_dev.api import path_to

Start = Callable[..., Controller]
PAGE = "/etc/configmap/app/page"
PIN = {"policy": "admission", "webhook": "auto", "template": "template"}
MODE = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "mode"}}}


def revised(mode: str) -> build.Object:
    """Its process ends unless MODE begins with `good`; it has a file of the same ConfigMap."""
    asked = {"reroll.dev/revisions": "true", "reroll.dev/pin": PIN[mode]}
    return build.deployment(
        replicas=2,
        annotations={**ENABLED, **asked},
        mounts="configmap/app",
        **serving([MODE], WEB_REQUIRE="MODE=^good"),
    )


@pytest.fixture(params=["policy", "webhook", "template"])
def mode(
    request: pytest.FixtureRequest,
    installation: Installation,
    controller: Start,
    kubeconfig_for: Callable[..., object],
) -> str:
    """The controller runs, and pods are made as it is done in this mode."""
    asked: str = request.param
    if asked == "webhook":
        identity = kubeconfig_for(webhook_rules(installation))
        controller(*webhook_flags(installation), kubeconfig=identity)
    more = ("--url", installation.url) if asked == "webhook" else ()
    done = installation.install("--mode", asked, *more)
    assert done.code == 0, done.err
    if asked != "webhook":
        controller()
    return asked


def delete(stage: ServingStage, pod: build.Object) -> None:
    stage.api.delete(path_to("Pod", pod["metadata"]["name"], stage.namespace))


def of_old(stage: ServingStage, web: build.Object) -> list[build.Object]:
    """Its pods that are ready, which those of the broken template never are."""
    return [pod for pod in stage.pods(web) if has_condition(pod, "Ready")]


def test_an_old_pod_that_is_deleted_in_mid_rollout_starts_with_the_old_content(
    stage: ServingStage, mode: str
) -> None:
    web = revised(mode)
    stage.make(build.configmap("app", {"mode": "good", "page": "first"}), web)
    first = pin(stage, web)
    stage.settled(web)
    stage.change("ConfigMap", "app", mode="bad", page="second")
    eventually(lambda: pin(stage, web) != first, "it rolls")
    eventually(lambda: len(stage.uids(web)) == 3, "a new pod is made")
    old = of_old(stage, web)
    assert len(old) == 2

    for pod in old:
        delete(stage, pod)
    uids = {pod["metadata"]["uid"] for pod in old}

    def replaced() -> bool:
        ready = {pod["metadata"]["uid"] for pod in of_old(stage, web)}
        return len(ready) == 2 and ready.isdisjoint(uids)

    eventually(replaced, "both old pods are made again and run", PATIENCE)
    assert [one for one in stage.answers(web, "/env/MODE") if one] == ["good"] * 2
    assert [one for one in stage.answers(web, file(PAGE)) if one] == ["first"] * 2


def test_an_undo_brings_the_content_back_though_the_source_has_the_new_one(
    stage: ServingStage, installation: Installation, controller: Start, kubectl: Tool
) -> None:
    assert installation.install().code == 0
    controller()
    web = revised("policy")
    stage.make(build.configmap("app", {"mode": "good", "page": "first"}), web)
    pin(stage, web)
    stage.settled(web)
    stage.change("ConfigMap", "app", mode="good too", page="second")
    stage.variable_is(web, "MODE", "good too")
    stage.file_is(web, PAGE, "second")
    stage.settled(web)

    kubectl("rollout", "undo", "deployment/web", "-n", stage.namespace)

    stage.variable_is(web, "MODE", "good")
    stage.file_is(web, PAGE, "first")
    stage.settled(web)
    stage.quiet(web)
    assert stage.answers(web, "/env/MODE") == ["good"] * 2


def test_a_pod_waits_for_a_copy_that_is_gone_and_starts_when_it_is_made_again(
    stage: ServingStage, controller: Start
) -> None:
    asked = {**ENABLED, "reroll.dev/revisions": "true"}
    web = build.deployment(annotations=asked, **serving([MODE]))
    stage.make(build.configmap("app", {"mode": "good"}), web)
    running = alone(controller)
    copy = pin(stage, web)
    stage.settled(web)
    running.kill()
    # While a pod of it runs, the kubelet remembers an immutable ConfigMap.
    stage.api.patch(stage.path(web), {"spec": {"replicas": 0}})
    stage.no_pods(web)
    stage.api.delete(path_to("ConfigMap", copy, stage.namespace))
    stage.api.patch(stage.path(web), {"spec": {"replicas": 1}})
    eventually(
        lambda: waits_for(stage, web) == ["CreateContainerConfigError"], "it waits", PATIENCE
    )

    running.start(wait="watching")

    eventually(lambda: stage.events(web, "CopyRestored"), "the copy is made again")
    stage.variable_is(web, "MODE", "good")
    assert copies(stage).keys() == {copy}


def waits_for(stage: ServingStage, web: build.Object) -> list[str]:
    """Why containers of its pods do not run."""
    return [
        status["state"]["waiting"]["reason"]
        for pod in stage.pods(web)
        for status in pod["status"].get("containerStatuses", ())
        if "waiting" in status["state"]
    ]


@pytest.mark.usefixtures("rollouts")
def test_a_canary_that_crashes_is_aborted_and_stable_pods_keep_their_content(
    stage: ServingStage, installation: Installation, controller: Start
) -> None:
    assert installation.install().code == 0
    controller()
    asked = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "admission"}
    server = serving([MODE], WEB_REQUIRE="MODE=^good")
    steps = [{"setWeight": 50}, {"pause": {}}]
    web = build.rollout(replicas=2, steps=steps, annotations=asked, **server)
    stage.make(build.configmap("app", {"mode": "good"}), web)
    first = pin(stage, web)
    stable = eventually(lambda: promoted(stage, web, first), "it is pinned", PATIENCE)
    stage.change("ConfigMap", "app", mode="bad")
    eventually(lambda: waits_for(stage, web) == ["CrashLoopBackOff"], "a canary crashes", PATIENCE)

    old = {pod["metadata"]["uid"] for pod in of_old(stage, web)}
    for pod in of_old(stage, web):
        delete(stage, pod)
    eventually(lambda: old.isdisjoint(stage.uids(web)), "stable pods are deleted")
    eventually(lambda: of_old(stage, web), "a stable pod is made again", PATIENCE)
    assert {one for one in stage.answers(web, "/env/MODE") if one} == {"good"}

    stage.api.patch(f"{stage.path(web)}/status", {"status": {"abort": True}})
    eventually(lambda: len(of_old(stage, web)) == 2, "it is back", PATIENCE)
    stage.variable_is(web, "MODE", "good")
    assert stage.get(web)["status"]["stableRS"] == stable


def promoted(stage: ServingStage, web: build.Object, copy: str) -> str:
    """The stable revision, once both of its pods use this copy; promotes what stops on its way."""
    found = stage.get(web)["status"]
    if found.get("phase") == "Paused":
        stage.api.patch(f"{stage.path(web)}/status", {"status": {"promoteFull": True}})
    pinned = [pod for pod in of_old(stage, web) if copy in str(pod["spec"])]
    is_stable = found.get("phase") == "Healthy" and len(pinned) == 2
    return str(found["stableRS"]) if is_stable else ""
