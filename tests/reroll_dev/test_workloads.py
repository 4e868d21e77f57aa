"""What a development cluster does with workloads: roll, progress, complete, and fail on demand."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.build import daemonset, deployment, job, rollout, statefulset
from tests.support.settled import has_condition, is_complete, is_settled

from reroll_dev.api import Api, ApiError, path_of, path_to
from reroll_dev.cluster import DevCluster

Object = dict[str, Any]


def pods(api: Api, namespace: str, app: str = "web") -> list[Object]:
    return api.list(path_to("Pod", "", namespace), labelSelector=f"app={app}")


def make(api: Api, namespace: str, manifest: Object) -> str:
    return path_of(api.create(manifest, namespace))


def pod_of(api: Api, namespace: str, workload: str, condition: Callable[[Object], Any]) -> Object:
    """The only pod of a workload that has one, once `condition` holds of it."""

    def holds(_: Object) -> bool:
        found = pods(api, namespace)
        return len(found) == 1 and bool(condition(found[0]))

    api.wait_for(workload, holds)
    return pods(api, namespace)[0]


def is_ready(pod: Object) -> bool:
    return has_condition(pod, "Ready")


def restarts(pod: Object) -> int:
    statuses = pod["status"].get("containerStatuses", [])
    return max((status["restartCount"] for status in statuses), default=0)


def restamp(value: str) -> Object:
    return {"spec": {"template": {"metadata": {"annotations": {"stamp": value}}}}}


@pytest.mark.parametrize(
    "manifest",
    [deployment(replicas=2), statefulset(replicas=2), daemonset()],
    ids=lambda manifest: f"a {manifest['kind']}",
)
def test_becomes_ready_and_rolls_when_its_template_changes(
    api: Api, namespace: str, manifest: Object
) -> None:
    path = make(api, namespace, manifest)
    api.wait_for(path, is_settled)
    before = {pod["metadata"]["uid"] for pod in pods(api, namespace)}

    api.patch(path, restamp("2"))
    api.wait_for(path, is_settled)

    living = [pod for pod in pods(api, namespace) if "deletionTimestamp" not in pod["metadata"]]
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in living)
    assert {pod["metadata"]["annotations"]["stamp"] for pod in living} == {"2"}


def test_an_argo_rollout_goes_through_its_canary_steps_and_pauses(
    rollouts: DevCluster, api: Api, namespace: str
) -> None:
    steps: list[Object] = [{"setWeight": 50}, {"pause": {}}]
    path = make(api, namespace, rollout(replicas=2, steps=steps))
    api.wait_for(path, is_settled, what="the first version runs")

    api.patch(path, restamp("2"))
    seen = api.wait_for(path, lambda seen: seen["status"].get("phase") == "Paused")
    assert seen["status"]["currentStepIndex"] == 1
    assert seen["status"]["updatedReplicas"] == 1
    assert seen["status"]["replicas"] == 2

    api.patch(f"{path}/status", {"status": {"pauseConditions": None}})
    api.wait_for(path, is_settled, what="the rest is rolled after the pause")


def test_a_job_completes(api: Api, namespace: str) -> None:
    api.wait_for(make(api, namespace, job()), is_complete)


def test_a_job_marked_as_failing_ends_failed(api: Api, namespace: str) -> None:
    path = make(api, namespace, job(fail="exit"))
    api.wait_for(path, lambda seen: has_condition(seen, "Failed"))


def test_a_revision_marked_as_failing_stops_a_rollout_and_the_old_pods_stay(
    api: Api, namespace: str
) -> None:
    path = make(api, namespace, deployment(replicas=2, spec={"progressDeadlineSeconds": 1}))
    api.wait_for(path, is_settled)

    bad = {"dev.reroll.dev/fail": "unready"}
    api.patch(path, {"spec": {"template": {"metadata": {"labels": bad}}}})

    seen = api.wait_for(path, lambda seen: has_condition(seen, "Progressing", "False"))
    assert seen["status"]["availableReplicas"] == 2

    def runs_and_is_not_ready(_: Object) -> bool:
        failing = [pod for pod in pods(api, namespace) if not is_ready(pod)]
        return [pod["status"]["phase"] for pod in failing] == ["Running"]

    # Its deadline may be over before it runs.
    api.wait_for(path, runs_and_is_not_ready)


def test_a_pod_marked_to_crash_restarts_again_and_again_and_is_never_ready(
    api: Api, namespace: str
) -> None:
    path = make(api, namespace, deployment(fail="crashloop"))

    pod = pod_of(api, namespace, path, lambda pod: restarts(pod) >= 2)

    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CrashLoopBackOff"
    assert not is_ready(pod)


def test_a_living_pod_sickens_and_recovers_as_its_annotation_says(api: Api, namespace: str) -> None:
    path = make(api, namespace, deployment())
    pod = pod_of(api, namespace, path, is_ready)

    for mark, ready in (("unready", "False"), (None, "True")):
        api.patch(
            path_to("Pod", pod["metadata"]["name"], namespace),
            {"metadata": {"annotations": {"dev.reroll.dev/fail": mark}}},
        )
        pod_of(api, namespace, path, lambda seen, ready=ready: has_condition(seen, "Ready", ready))


def test_a_misspelt_failure_does_not_pass_for_a_healthy_pod(api: Api, namespace: str) -> None:
    misspelt = make(api, namespace, deployment(fail="unreddy"))
    pod_of(api, namespace, misspelt, lambda pod: has_condition(pod, "PodScheduled"))
    # Whatever was to happen to it has happened when a later one is ready.
    api.wait_for(make(api, namespace, deployment("later")), is_settled)

    assert [pod["status"]["phase"] for pod in pods(api, namespace)] == ["Pending"]


def test_a_pod_gets_the_address_its_annotation_names(api: Api, namespace: str) -> None:
    address = {"dev.reroll.dev/address": "127.0.0.9"}
    path = make(api, namespace, deployment(template_annotations=address))

    assert pod_of(api, namespace, path, is_ready)["status"]["podIP"] == "127.0.0.9"


def test_a_pod_that_takes_its_time_is_not_ready_before(api: Api, namespace: str) -> None:
    slow = {"dev.reroll.dev/ready-after": "1h"}
    path = make(api, namespace, deployment(template_annotations=slow))
    pod_of(api, namespace, path, lambda pod: has_condition(pod, "PodScheduled"))
    api.wait_for(make(api, namespace, deployment("later")), is_settled)

    assert not is_ready(pods(api, namespace)[0])


def test_an_eviction_is_refused_by_a_disruption_budget(api: Api, namespace: str) -> None:
    path = make(api, namespace, deployment())
    pod = pod_of(api, namespace, path, is_ready)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    api.wait_for(
        make(api, namespace, budget), lambda seen: seen.get("status", {}).get("currentHealthy") == 1
    )

    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    with pytest.raises(ApiError) as refusal:
        api.post(f"{path_to('Pod', name, namespace)}/eviction", eviction)

    assert refusal.value.status == 429
    assert "disruption budget" in refusal.value.message
