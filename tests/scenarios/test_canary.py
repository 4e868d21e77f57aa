"""In the middle of a rollout every pod has the content of its own revision, new pods too."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.pins import Installation, content
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object

from reroll.core.revisions.pins import PINS
from reroll_dev.api import path_to

Start = Callable[..., Controller]
Begin = Callable[..., None]
REVISIONS = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "admission"}
HASHES = {
    "Deployment": "pod-template-hash",
    "Rollout": "rollouts-pod-template-hash",
    "StatefulSet": "controller-revision-hash",
    "DaemonSet": "controller-revision-hash",
}
NEVER = 599
"""Seconds that a pod has to be ready to count: a rollout stays where it is."""
OLD, NEW = {"level": "old"}, {"level": "new"}


@pytest.fixture
def begin(stage: Stage, controller: Start, installation: Installation) -> Begin:
    """Pin workloads whose sources hold `OLD`, by the policy in the API server."""

    def pinned(*manifests: Object, settle: Callable[[], Any]) -> None:
        stage.make(build.configmap("app", OLD), build.secret("db", OLD), *manifests)
        assert installation.install().code == 0
        controller()
        eventually(lambda: pins_of(stage, manifests[0]), "it is pinned")
        settle()

    return pinned


def pins_of(stage: Stage, workload: Object) -> str:
    metadata = stage.template(workload).get("metadata", {})
    return str(metadata.get("annotations", {}).get(PINS, ""))


def change(stage: Stage, workload: Object, level: str, source: str = "ConfigMap") -> None:
    """Change the source and wait until the template has other pins."""
    before = pins_of(stage, workload)
    stage.change(source, {"ConfigMap": "app", "Secret": "db"}[source], level=level)
    eventually(lambda: pins_of(stage, workload) != before, "it is pinned anew")


def by_revision(stage: Stage, workload: Object) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for pod in stage.pods(workload):
        found.setdefault(pod["metadata"]["labels"][HASHES[workload["kind"]]], []).append(pod)
    return found


def contents(stage: Stage, workload: Object) -> dict[str, list[dict[str, str | None]]]:
    """What the pods of each revision have, without repeating it."""
    return {
        revision: [dict(one) for one in {tuple(content(stage, pod).items()) for pod in pods}]
        for revision, pods in by_revision(stage, workload).items()
    }


def delete(stage: Stage, pod: Object) -> None:
    stage.api.delete(path_to("Pod", pod["metadata"]["name"], stage.namespace))


def scale(stage: Stage, workload: Object, replicas: int) -> None:
    stage.api.patch(stage.path(workload), {"spec": {"replicas": replicas}})


# Argo Rollouts


STEPS = [{"setWeight": 50}, {"pause": {}}]
CASES = {
    "with a ConfigMap": ("ConfigMap", False),
    "with a Secret": ("Secret", False),
    "with the template of a Deployment": ("Secret", True),
}


def status(stage: Stage, web: Object, **fields: Any) -> None:
    """What `kubectl argo rollouts promote` and `abort` write."""
    stage.api.patch(f"{stage.path(web)}/status", {"status": fields})


def rollouts_of(source: str, *, lent: bool) -> tuple[Object, Object]:
    """What is pinned, and the Rollout; with `lent`, those are two."""
    uses = {"ConfigMap": "configmap/app", "Secret": "secret/db"}[source]
    if not lent:
        web = build.rollout(uses=uses, annotations=REVISIONS, replicas=4, steps=STEPS)
        return web, web
    deployment = build.deployment(uses=uses, replicas=0)
    web = build.rollout(annotations=REVISIONS, replicas=4, steps=STEPS)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {key: web["spec"][key] for key in ("replicas", "strategy")}
    return deployment, {**web, "spec": {**spec, "workloadRef": reference}}


@pytest.mark.thorough
@pytest.mark.usefixtures("rollouts")
@pytest.mark.parametrize(("source", "lent"), CASES.values(), ids=CASES)
def test_a_canary_keeps_old_content_in_stable_pods_until_it_is_promoted_or_aborted(
    stage: Stage, begin: Begin, source: str, lent: bool
) -> None:
    pinned, web = rollouts_of(source, lent=lent)

    begin(
        *{one["kind"]: one for one in (pinned, web)}.values(),
        settle=lambda: eventually(lambda: through(stage, web), "all pods are pinned"),
    )

    change(stage, pinned, "new", source)
    seen = eventually(lambda: half_way(stage, web), "half of the pods are canaries")
    stable, canary = seen["stableRS"], seen["currentPodHash"]
    assert contents(stage, web) == {stable: [OLD], canary: [NEW]}

    gone = by_revision(stage, web)[stable][0]
    delete(stage, gone)
    scale(stage, web, 8)

    def grown() -> bool:
        pods = by_revision(stage, web)
        fresh = gone["metadata"]["name"] not in {pod["metadata"]["name"] for pod in pods[stable]}
        return fresh and len(pods[stable]) >= 4 and len(pods[canary]) >= 4

    eventually(grown, "both have more pods")
    assert contents(stage, web) == {stable: [OLD], canary: [NEW]}

    status(stage, web, pauseConditions=None)
    eventually(lambda: contents(stage, web) == {canary: [NEW]}, "it is promoted")
    eventually(lambda: stage.get(web)["status"]["stableRS"] == canary, "it is stable")

    change(stage, pinned, "bad", source)
    eventually(lambda: half_way(stage, web), "half of the pods are canaries")
    status(stage, web, abort=True)
    eventually(lambda: contents(stage, web) == {canary: [NEW]}, "it is aborted")
    stage.quiet(pinned)
    delete(stage, stage.pods(web)[0])
    eventually(lambda: len(stage.pods(web)) == 8)
    assert contents(stage, web) == {canary: [NEW]}


def through(stage: Stage, web: Object) -> bool:
    """Whether the first pins are everywhere; as somebody who promotes what stops on its way."""
    seen = stage.get(web)["status"]
    if seen.get("phase") == "Paused":
        status(stage, web, promoteFull=True)
    pods = stage.pods(web)
    pinned = [pod for pod in pods if PINS in pod["metadata"].get("annotations", {})]
    stable = seen.get("stableRS") == seen.get("currentPodHash")
    return len(pods) == len(pinned) == 4 and seen.get("phase") == "Healthy" and stable


def half_way(stage: Stage, web: Object) -> Any:
    seen = stage.get(web)["status"]
    pods = by_revision(stage, web)
    return seen if seen.get("phase") == "Paused" and len(pods) == 2 else None


# What Kubernetes has


def test_a_deployment_in_the_middle_of_its_rollout_gives_pods_of_both_revisions_their_own(
    stage: Stage, begin: Begin
) -> None:
    steady = {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}}}
    web = build.deployment(uses="configmap/app", annotations=REVISIONS, replicas=3, spec=steady)
    begin(web, settle=lambda: stage.settled(web))
    [old] = by_revision(stage, web)
    stage.api.patch(stage.path(web), {"spec": {"minReadySeconds": NEVER}})

    change(stage, web, "new")
    eventually(lambda: len(by_revision(stage, web)) == 2, "it is in the middle")
    [new] = by_revision(stage, web).keys() - {old}
    delete(stage, by_revision(stage, web)[old][0])
    scale(stage, web, 9)

    def grown() -> bool:
        pods = by_revision(stage, web)
        return len(pods.get(old, ())) > 3 and len(pods.get(new, ())) > 2

    eventually(grown, "both have more pods")
    assert contents(stage, web) == {old: [OLD], new: [NEW]}

    stage.api.patch(stage.path(web), {"spec": {"minReadySeconds": 0}})
    stage.settled(web)
    eventually(lambda: contents(stage, web) == {new: [NEW]}, "it is through")


def test_a_stateful_set_with_a_partition_gives_each_pod_the_content_of_its_revision(
    stage: Stage, begin: Begin
) -> None:
    keep = {
        "updateStrategy": {"rollingUpdate": {"partition": 0}},
        "podManagementPolicy": "Parallel",
    }
    web = build.statefulset(uses="configmap/app", annotations=REVISIONS, replicas=4, spec=keep)
    begin(web, settle=lambda: stage.settled(web))
    [old] = by_revision(stage, web)
    part = {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}}
    stage.api.patch(stage.path(web), part)

    change(stage, web, "new")
    eventually(
        lambda: (
            [numbers(stage, web, one) for one in revisions(stage, web, old)] == [[0, 1], [2, 3]]
        ),
        "two pods keep the old template, and two have the new one",
    )
    _, new = revisions(stage, web, old)
    first = [pods[0] for pods in by_revision(stage, web).values()]
    for pod in first:
        delete(stage, pod)
    scale(stage, web, 5)
    gone = {pod["metadata"]["uid"] for pod in first}

    def made_anew() -> bool:
        there = {pod["metadata"]["uid"] for pod in stage.pods(web)}
        return len(there) == 5 and not there & gone

    eventually(made_anew, "two pods are back, and one is new")
    assert numbers(stage, web, old) == [0, 1]
    assert contents(stage, web) == {old: [OLD], new: [NEW]}


def revisions(stage: Stage, web: Object, old: str) -> list[str]:
    return [old, *(by_revision(stage, web).keys() - {old})]


def numbers(stage: Stage, web: Object, revision: str) -> list[int]:
    pods = by_revision(stage, web).get(revision, ())
    return sorted(int(pod["metadata"]["name"].rpartition("-")[2]) for pod in pods)


def test_a_daemon_set_replaces_one_pod_at_a_time_and_the_others_keep_their_content(
    stage: Stage, begin: Begin
) -> None:
    one = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}
    web = build.daemonset(uses="configmap/app", annotations=REVISIONS, spec=one)
    begin(web, settle=lambda: stage.settled(web))
    [old] = by_revision(stage, web)
    for pod in stage.pods(web):
        stay(stage, pod, ["reroll.dev/test"])

    change(stage, web, "new")
    stay(stage, eventually(lambda: leaving(stage), "one pod is asked to go"), [])
    eventually(lambda: leaving(stage) and len(by_revision(stage, web)) == 2, "the next one is")
    [new] = by_revision(stage, web).keys() - {old}
    assert contents(stage, web) == {old: [OLD], new: [NEW]}

    for pod in (leaving(stage), *stage.pods(web)):
        stay(stage, pod, [])
    eventually(lambda: contents(stage, web) == {new: [NEW]}, "it is through")


def stay(stage: Stage, pod: Object, finalizers: list[str]) -> None:
    """A pod with a finalizer does not go, though it was asked to."""
    path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
    stage.api.patch(path, {"metadata": {"finalizers": finalizers}})


def leaving(stage: Stage) -> Object | None:
    pods = stage.api.list(path_to("Pod", "", stage.namespace))
    return next((pod for pod in pods if "deletionTimestamp" in pod["metadata"]), None)
