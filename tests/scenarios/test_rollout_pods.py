"""The pods of a rollout, read from a control plane, and what they tell."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.core.build import KIND, decoded, workload
from tests.core.propagation import pod_statuses
from tests.core.propagation.pod_statuses import Status
from tests.scenarios import custom
from tests.scenarios.stage import Stage, a, eventually
from tests.support import build

from reroll.core.model.key import Key
from reroll.core.observe.diagnosis import Diagnosis, Fault, diagnose
from reroll.core.observe.health import Health, health
from reroll.core.observe.pod_state import PodState
from reroll.core.propagation.verdict import Evidence, Verdict, judge
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine.rollout_pods import rollout_pods
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll_dev.api import path_to

BY_HAND = {"dev.reroll.dev/fail": "by hand"}
"""A pod with it stays Pending, so that the test alone writes its status."""
LIST_PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
with_rollouts = pytest.mark.parametrize(
    "kind",
    # What becomes of a Rollout with such pods is a scenario of its own: test_propagation.py.
    [kind for kind in KINDS if kind.counts and kind.name != "Rollout"],
    ids=lambda kind: kind.name,
    indirect=True,
)
Read = Callable[..., tuple[PodState, ...] | None]


@pytest.fixture
def read(kubeconfig_for: Callable[..., Path], namespace: str) -> Read:
    """With the right to list pods, and no other."""
    login = kubeconfig_for(LIST_PODS, namespace)
    return lambda *args, identity=login: asyncio.run(_read(identity, *args))


async def _read(
    login: Path, kind: Kind, manifest: build.Object, runner: Key | None = None
) -> tuple[PodState, ...] | None:
    async with Client(load({}, kubeconfig=str(login))) as client:
        return await rollout_pods(client, kind, workload(kind, manifest), runner)


def tell(stage: Stage, pod: str, status: Status) -> None:
    """What its kubelet would write."""
    status = {name: value for name, value in status.items() if name != "qosClass"}  # Immutable.
    stage.api.patch(f"{path_to('Pod', pod, stage.namespace)}/status", {"status": status})


def stray(stage: Stage, name: str, **labels: str) -> None:
    """A pod that something else owns, which exists: otherwise it would be collected."""
    owner = stage.make(build.configmap(f"owner-of-{name}"))
    made_by = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True}
    made_by |= {field: owner["metadata"][field] for field in ("name", "uid")}
    metadata = {"name": name, "labels": labels, "annotations": BY_HAND}
    stage.make(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "ownerReferences": [made_by]},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        }
    )


def by_hand(kind: Kind, **more: Any) -> build.Object:
    made = a(kind, **more)
    made["spec"]["template"]["metadata"].setdefault("annotations", {}).update(BY_HAND)
    return made


def on_nodes(stage: Stage, web: build.Object) -> list[build.Object]:
    """Its pods, once each has its node: until then the scheduler writes their status too."""

    def placed() -> list[build.Object]:
        pods = [pod for pod in stage.pods(web) if pod["spec"].get("nodeName")]
        # A DaemonSet has one on each of the three nodes.
        return pods if len(pods) == (3 if web["kind"] == "DaemonSet" else 1) else []

    return list(eventually(placed, "its pods have nodes"))


def names(pods: tuple[PodState, ...] | None) -> set[str]:
    return {pod.metadata.name for pod in pods or ()}


STATUSES: dict[str, tuple[Status, Fault, str]] = {
    "crash loop": (
        pod_statuses.CRASHES,
        Fault.CONFIG,
        "container main: CrashLoopBackOff (exit 3)",
    ),
    "missing key": (
        pod_statuses.KEYLESS,
        Fault.CONFIG,
        f"container main: CreateContainerConfigError: {pod_statuses.NO_KEY}",
    ),
    "no image": (pod_statuses.NO_IMAGE, Fault.ELSEWHERE, "container main: ImagePullBackOff"),
    "not ready": (pod_statuses.UNREADY, Fault.NONE, "not ready"),
}


@with_rollouts
def test_what_kubelets_say_of_new_pods_is_read_with_one_call(
    kind: Kind,
    stage: Stage,
    read: Read,
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
) -> None:
    since = datetime.now(UTC)
    web = stage.make(by_hand(kind))
    mine = {pod["metadata"]["name"] for pod in on_nodes(stage, web)}
    stray(stage, "stray", app="web")
    tell(stage, "stray", pod_statuses.CRASHES)

    for status, fault, why in STATUSES.values():
        for pod in mine:
            tell(stage, pod, status)
        pods = read(kind, stage.get(web))
        assert names(pods) == mine
        diagnosis = diagnose(pods or (), "", since=since, now=since)
        assert diagnosis == Diagnosis(fault, f"pod {min(mine)}: {why}"), stage.pods(web)

    counted = kubeconfig_for(LIST_PODS, stage.namespace)
    assert read(kind, stage.get(web), identity=counted) is not None
    assert [call["verb"] for call in audit(counted)] == ["list"]
    assert read(kind, stage.get(web), identity=kubeconfig_for([], stage.namespace)) is None


def test_pods_from_before_the_roll_do_not_count(stage: Stage, read: Read) -> None:
    kind = KIND["Deployment"]
    web = stage.make(by_hand(kind))
    [old] = on_nodes(stage, web)
    tell(stage, old["metadata"]["name"], pod_statuses.CRASHES)
    time.sleep(1.1)  # Pods tell whole seconds.
    since = datetime.now(UTC)
    stamp = {"metadata": {"annotations": {"reroll.dev/config-hash": "new"}}}
    stage.api.patch(stage.path(web), {"spec": {"template": stamp}})
    eventually(lambda: len(stage.pods(web)) == 2, "it has a new pod")

    pods = read(kind, stage.get(web)) or ()

    assert len(pods) == 2
    diagnosis = diagnose(pods, "", since=since, now=since)
    assert diagnosis.fault is Fault.NONE
    assert old["metadata"]["name"] not in diagnosis.why


@pytest.mark.usefixtures("rollouts")
def test_the_pods_of_a_template_that_a_rollout_runs_are_those_of_the_rollout(
    stage: Stage, read: Read
) -> None:
    template = by_hand(KIND["Deployment"], replicas=0)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    runner = build.rollout("runner", replicas=2)
    runner["spec"] = {"replicas": 2, "workloadRef": reference, "strategy": {"canary": {}}}
    stage.make(template, runner)
    eventually(lambda: len(stage.pods(template)) == 2, "the Rollout has pods")
    key = Key("Rollout", stage.namespace, "runner")

    pods = read(KIND["Rollout"], stage.get(template), key)

    assert names(pods) == {pod["metadata"]["name"] for pod in stage.pods(template)}
    assert read(KIND["Deployment"], stage.get(template)) == ()


PROMETHEUS, KNATIVE = (
    next(row for row in custom.EXAMPLE_KINDS if row.name == name)
    for name in ("Prometheus.monitoring.coreos.com", "Service.serving.knative.dev")
)


def test_the_pods_of_a_custom_kind_are_known_by_its_labels_or_not_at_all(
    stage: Stage, read: Read
) -> None:
    metrics = custom.made(PROMETHEUS, "metrics", {"replicas": 1})
    metrics["metadata"] |= {"namespace": stage.namespace, "uid": "metrics-uid"}
    labels = {"operator.prometheus.io/name": "metrics"}
    stray(stage, "prometheus-metrics-0", **labels)

    assert names(read(PROMETHEUS, metrics)) == {"prometheus-metrics-0"}
    other = {**metrics, "metadata": {**metrics["metadata"], "name": "other"}}
    assert read(PROMETHEUS, other) == ()
    web = custom.made(KNATIVE, "web", custom.SAMPLES[KNATIVE.name].spec)
    web["metadata"] |= {"namespace": stage.namespace, "uid": "web-uid"}
    assert read(KNATIVE, web) is None


def test_a_quota_is_not_the_fault_of_the_configuration(stage: Stage, read: Read) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    stage.make(quota)
    path = path_to("ResourceQuota", "none", stage.namespace)
    stage.api.wait_for(path, lambda one: one.get("status", {}).get("hard"))
    kind, since = KIND["Deployment"], datetime.now(UTC)
    web = stage.make(a(kind, spec={"progressDeadlineSeconds": 1}))

    def gave_up() -> Health | None:
        """And says why, which it may do later."""
        found = health(kind, decoded(stage.get(web)))
        return found if found.is_over and found.unmade else None

    state = eventually(gave_up, "its controller gives up")
    assert "exceeded quota: none" in state.unmade
    now = datetime.now(UTC) + timedelta(seconds=state.patience)
    diagnosis = diagnose(read(kind, stage.get(web)) or (), state.unmade, since=since, now=now)
    judgement = judge(Evidence(since, state, diagnosis=diagnosis, read_at=now), now)

    assert judgement.verdict is Verdict.STUCK
    assert judgement.why.startswith("pods cannot be made: FailedCreate: ")
    assert judgement.look_at
    assert judgement.look_at > now + timedelta(seconds=1)
