"""What scenarios of canaries have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.revised import REVISIONS, contents
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll

from reroll.core.tables.annotations import CANARY
from reroll_dev.api import ApiError, path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
Decide = Callable[..., Finished]


@pytest.fixture
def decide(cluster: DevCluster, namespace: str) -> Decide:
    """`decide("promote")`, or `abort`, on the Deployment `web` or another workload."""

    def run(command: str, what: str = "deployment/web") -> Finished:
        login: tuple[str | Path, ...] = ("-n", namespace, "--kubeconfig", cluster.kubeconfig())
        return reroll(command, *login, what)

    return run


def asking(**more: str) -> dict[str, str]:
    """The annotations of a workload that has a canary of one pod."""
    asks = {"reroll.dev/canary": "1", **{f"reroll.dev/{k}": v for k, v in more.items()}}
    return {**REVISIONS, **asks}


def a_web(name: str = "web", **more: str) -> Object:
    return build.deployment(name, replicas=3, uses=["configmap/app"], annotations=asking(**more))


def canary(stage: Stage, name: str = "web") -> Object | None:
    try:
        return stage.api.get(path_to("Deployment", f"{name}-canary", stage.namespace))
    except ApiError as error:
        if error.status != 404:
            raise
        return None


def copy_of(one: Object) -> str:
    text: str = one["spec"]["template"]["metadata"]["annotations"]["reroll.dev/pins"]
    return text.partition("=")[2]


def ready(stage: Stage, but: str = "", uid: str = "") -> Object:
    """Wait for a canary whose pods are ready, of another copy than this, and another one."""

    def found() -> Object | None:
        one = canary(stage)
        if one is None or copy_of(one) == but or "deletionTimestamp" in one["metadata"]:
            return None
        if one["metadata"]["uid"] == uid:
            return None
        return one if one.get("status", {}).get("availableReplicas") == 1 else None

    return eventually(found, "the canary is ready")


def untouched(stage: Stage, web: Object) -> tuple[Any, ...]:
    """What must be the same before and after: generation, template and pods."""
    found = stage.get(web)
    names = [p for p in stage.pods(web) if CANARY not in p["metadata"]["labels"]]
    pods = sorted(one["metadata"]["uid"] for one in names)
    return found["metadata"]["generation"], found["spec"], pods


def gone(stage: Stage) -> None:
    eventually(lambda: canary(stage) is None, "the canary is gone")


def partition(stage: Stage, web: Object) -> int:
    return int(stage.get(web)["spec"]["updateStrategy"]["rollingUpdate"]["partition"])


def copies_of_pods(stage: Stage, web: Object) -> dict[str, str]:
    """The copy that each of its pods has, where that pod is ready."""
    return {
        pod["metadata"]["name"]: next(iter(contents(stage, pod)))
        for pod in stage.pods(web)
        if is_ready(pod)
    }


def is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def uids(stage: Stage, web: Object) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in stage.pods(web)}
