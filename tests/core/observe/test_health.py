"""How a rollout goes, as statuses tell it: numbers, what it waits for, and whether it failed."""

from typing import Any

import pytest
from tests.core.build import KIND, decoded, document

from reroll.core.observe.health import State, health

THREE = {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
NODES = {
    "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
    "updatedNumberScheduled": 2, "numberAvailable": 2,
}  # fmt: skip
LATE = {
    "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
    "message": 'ReplicaSet "web-1" has timed out progressing.',
}  # fmt: skip

STATUSES: dict[str, tuple[str, dict[str, Any], dict[str, Any], State, str]] = {
    # kind, spec, status, what it comes to
    "all is there": ("Deployment", {"replicas": 3}, THREE, State.DONE, ""),
    "scaled to nothing": ("Deployment", {"replicas": 0}, {"observedGeneration": 1}, State.DONE, ""),
    "nobody looked yet": (
        "Deployment", {"replicas": 3}, {**THREE, "observedGeneration": 0}, State.GOES_ON,
        "the change has not been noticed yet",
    ),
    "some are new": (
        "Deployment", {"replicas": 3}, {**THREE, "replicas": 4, "updatedReplicas": 1},
        State.GOES_ON, "1 of 3 pods are new",
    ),
    "an old one is left": (
        "Deployment", {"replicas": 3}, {**THREE, "replicas": 4}, State.GOES_ON,
        "1 old pod is not gone yet",
    ),
    "some are not ready": (
        "StatefulSet", {"replicas": 3}, {**THREE, "availableReplicas": 2}, State.GOES_ON,
        "2 of 3 pods are ready",
    ),
    "a partition is kept back": (
        "StatefulSet",
        {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
        {**THREE, "updatedReplicas": 1}, State.DONE, "",
    ),
    "a DaemonSet that is done": ("DaemonSet", {}, NODES, State.DONE, ""),
    "a DaemonSet that is not": (
        "DaemonSet", {}, {**NODES, "updatedNumberScheduled": 1}, State.GOES_ON,
        "1 of 2 pods are new",
    ),
    "the deadline is over": (
        "Deployment", {"replicas": 3}, {**THREE, "updatedReplicas": 1, "conditions": [LATE]},
        State.FAILED, 'ProgressDeadlineExceeded: ReplicaSet "web-1" has timed out progressing.',
    ),
    "the deadline of an earlier change": (
        "Deployment", {"replicas": 3}, {**THREE, "observedGeneration": 0, "conditions": [LATE]},
        State.GOES_ON, "the change has not been noticed yet",
    ),
    "a Rollout that is done": (
        "Rollout", {"replicas": 3}, {**THREE, "observedGeneration": "1", "phase": "Healthy"},
        State.DONE, "",
    ),
    "a Rollout at a step": (
        "Rollout", {"replicas": 3},
        {**THREE, "observedGeneration": "1", "phase": "Paused", "message": "CanaryPauseStep"},
        State.GOES_ON, "it is paused: CanaryPauseStep",
    ),
    "a Rollout that gave up": (
        "Rollout", {"replicas": 3},
        {**THREE, "observedGeneration": "1", "phase": "Degraded", "message": "aborted"},
        State.FAILED, "aborted",
    ),
    "a Rollout that restarts": (
        "Rollout", {"replicas": 3, "restartAt": "2026-01-01T00:00:00Z"},
        {**THREE, "observedGeneration": "1", "phase": "Healthy"},
        State.GOES_ON, "its pods are being restarted",
    ),
    "a kind without a rollout": ("CronJob", {}, {}, State.DONE, ""),
    "a status of another shape": (
        "Deployment", {"replicas": 3}, {"observedGeneration": "x", "conditions": 5}, State.GOES_ON,
        "the change has not been noticed yet",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "spec", "status", "state", "message"), STATUSES.values(), ids=STATUSES
)
def test_what_a_status_tells(
    kind: str, spec: dict[str, Any], status: dict[str, Any], state: State, message: str
) -> None:
    made = document(KIND[kind])
    made["spec"] |= spec
    made["status"] = status

    found = health(KIND[kind], decoded(made))

    assert (found.state, found.message) == (state, message)


@pytest.mark.parametrize(("observed", "updated", "replaces"), [(0, 3, False), (1, 1, True)])
def test_a_change_that_nobody_noticed_replaces_no_pod_yet(
    observed: int, updated: int, replaces: bool
) -> None:
    """An annotation of a Deployment is a change too, and no pod goes for it."""
    made = document(KIND["Deployment"])
    made["spec"]["replicas"] = 3
    made["status"] = {**THREE, "observedGeneration": observed, "updatedReplicas": updated}

    found = health(KIND["Deployment"], decoded(made))

    assert (found.replacing, found.replaces) == (True, replaces)


def test_the_numbers_are_told_for_people() -> None:
    made = document(KIND["Deployment"])
    made["spec"]["replicas"] = 3
    made["status"] = {**THREE, "updatedReplicas": 2, "availableReplicas": 1}

    found = health(KIND["Deployment"], decoded(made))

    assert (found.total, found.updated, found.ready) == (3, 2, 1)


def condition(reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Progressing", "status": "True", "reason": reason}]}


ONCE = {
    # kind, what its status says beside the numbers of a template that is everywhere, complete once
    "complete, and sick since": ("Deployment", condition("NewReplicaSetAvailable"), True),
    "never complete": ("Deployment", condition("ReplicaSetUpdated"), False),
    "given up": ("Deployment", {"conditions": [LATE]}, False),
    "pods are being replaced": ("Deployment", {"updatedReplicas": 1}, False),
    "one revision": ("StatefulSet", {"currentRevision": "a", "updateRevision": "a"}, True),
    "two revisions": ("StatefulSet", {"currentRevision": "a", "updateRevision": "b"}, False),
    "nothing is known": ("StatefulSet", {}, True),
}


@pytest.mark.parametrize(("kind", "status", "once"), ONCE.values(), ids=ONCE)
def test_whether_a_template_was_complete_once(
    kind: str, status: dict[str, Any], once: bool
) -> None:
    made = document(KIND[kind])
    made["spec"]["replicas"] = 3
    made["status"] = {**THREE, "availableReplicas": 0, **status}

    assert health(KIND[kind], decoded(made)).complete_once is once


QUOTA = {
    "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
    "message": 'pods "web-6d4-x2x" is forbidden: exceeded quota: small, requested: pods=1',
}  # fmt: skip


@pytest.mark.parametrize("kind", ["Deployment", "Rollout"])
@pytest.mark.parametrize("more", [[], [LATE]], ids=["goes on", "gave up"])
def test_why_pods_cannot_be_made_is_told(kind: str, more: list[dict[str, Any]]) -> None:
    made = document(KIND[kind])
    made["spec"]["replicas"] = 3
    made["status"] = {**THREE, "updatedReplicas": 0, "conditions": [QUOTA, *more]}

    told = health(KIND[kind], decoded(made))

    assert told.unmade == f"FailedCreate: {QUOTA['message']}"
    assert told.is_over is bool(more)
    assert told.seen_by(7).unmade == told.unmade
    made["status"]["conditions"] = [{**QUOTA, "status": "False"}]
    assert not health(KIND[kind], decoded(made)).unmade


@pytest.mark.parametrize(
    ("seconds", "reason", "patience"),
    [
        (3, "ProgressDeadlineExceeded", 3),
        (3, "RolloutAborted", 0),
        (2**40, "ProgressDeadlineExceeded", 2**31 - 1),
        (-1, "ProgressDeadlineExceeded", 0),
    ],
)
def test_a_controller_that_gave_up_waited_for_its_own_deadline(
    seconds: int, reason: str, patience: int
) -> None:
    made = document(KIND["Deployment"])
    made["spec"] |= {"replicas": 3, "progressDeadlineSeconds": seconds}
    made["status"] = {**THREE, "conditions": [{**LATE, "reason": reason}]}

    found = health(KIND["Deployment"], decoded(made))

    assert (found.state, found.patience) == (State.FAILED, patience)
