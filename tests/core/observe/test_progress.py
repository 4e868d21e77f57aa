"""How far a rollout is, as statuses tell it."""

import json
from typing import Any

import msgspec
import pytest

from reroll.core.observe.progress import is_complete

STATUSES: dict[str, tuple[Any, bool]] = {
    "a Deployment that is done": (
        {"observedGeneration": 3, "replicas": 4, "updatedReplicas": 4}, True,
    ),
    "a Deployment with old pods left": (
        {"observedGeneration": 3, "replicas": 5, "updatedReplicas": 4}, False,
    ),
    "a Deployment of which nothing was replaced yet": (
        {"observedGeneration": 3, "replicas": 4}, False,
    ),
    "a Deployment whose controller has not looked yet": (
        {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 4}, False,
    ),
    "a Deployment without pods": ({"observedGeneration": 4}, True),
    "a DaemonSet that is done": (
        {"observedGeneration": 3, "currentNumberScheduled": 2, "updatedNumberScheduled": 2}, True,
    ),
    "a DaemonSet that is not": (
        {"observedGeneration": 3, "currentNumberScheduled": 2, "updatedNumberScheduled": 1}, False,
    ),
    "an Argo Rollout that is done": (
        {"observedGeneration": "3", "replicas": 4, "updatedReplicas": 4}, True,
    ),
    "an Argo Rollout whose controller has not looked yet": (
        {"observedGeneration": "2", "replicas": 4, "updatedReplicas": 4}, False,
    ),
    "nobody says anything": ({}, False),
    "a generation that is not a number": ({"observedGeneration": "abc"}, False),
    "a generation longer than any": ({"observedGeneration": "9" * 5000}, False),
    "another shape": ([], False),
}  # fmt: skip


@pytest.mark.parametrize(("status", "complete"), STATUSES.values(), ids=STATUSES)
def test_a_rollout_is_complete_when_all_pods_are_of_the_template(
    status: Any, complete: bool
) -> None:
    assert is_complete(msgspec.Raw(json.dumps(status).encode()), 3) is complete


def test_without_a_status_or_a_generation_nothing_is_known() -> None:
    done = msgspec.Raw(b'{"observedGeneration":3}')

    assert not is_complete(msgspec.Raw(), 3)
    assert not is_complete(done, 0)
    assert not is_complete(msgspec.Raw(b"[" * 50_000 + b"]" * 50_000), 3)
