"""Statuses of pods as kubelets, schedulers and the control plane write them."""

import json
from typing import Any

import msgspec

from reroll.core.observe.pod_state import PodState

OUTPUT = "panic: password=hunter2 is wrong"
"""What a container wrote last; kubelets copy it into the status."""
ROLLED = "2030-01-01T12:00:00Z"
NEW = "2030-01-01T12:00:02Z"

Status = dict[str, Any]


def pod(status: Status, name: str = "web-6d4-x2x", created: str = NEW, **metadata: Any) -> PodState:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "creationTimestamp": created, **metadata},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        "status": status,
    }
    return msgspec.json.decode(json.dumps(document).encode(), type=PodState)


def condition(name: str, status: str, reason: str = "", message: str = "") -> Status:
    one = {"type": name, "status": status, "lastProbeTime": None, "lastTransitionTime": NEW}
    return one | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


SCHEDULED = condition("PodScheduled", "True")
NOT_READY = [
    condition("PodReadyToStartContainers", "True"),
    condition("Initialized", "True"),
    condition("Ready", "False", "ContainersNotReady", "containers with unready status: [main]"),
    condition("ContainersReady", "False", "ContainersNotReady"),
    SCHEDULED,
]
READY = [
    condition("PodReadyToStartContainers", "True"),
    condition("Initialized", "True"),
    condition("Ready", "True"),
    condition("ContainersReady", "True"),
    SCHEDULED,
]
RUNNING = {"running": {"startedAt": NEW}}


def waits(reason: str, message: str = "") -> Status:
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def ended(code: int, reason: str = "Error") -> Status:
    times = {"startedAt": NEW, "finishedAt": NEW, "containerID": "containerd://5f3c"}
    return {"terminated": {"exitCode": code, "reason": reason, "message": OUTPUT, **times}}


def container(state: Status, last: Status | None = None, restarts: int = 0, **more: Any) -> Status:
    return {
        "name": "main",
        "state": state,
        "lastState": last or {},
        "ready": False,
        "restartCount": restarts,
        "image": "registry.example/web:1",
        "imageID": "",
        "started": False,
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": True}],
        **more,
    }


def status(*containers: Status, phase: str = "Running", **more: Any) -> Status:
    return {
        "phase": phase,
        "conditions": NOT_READY,
        "hostIP": "10.0.0.4",
        "podIP": "10.1.0.9",
        "startTime": NEW,
        "containerStatuses": list(containers),
        "qosClass": "Burstable",
        **more,
    }


def pending(state: Status, **more: Any) -> Status:
    return status(container(state), phase="Pending", **more)


HEALTHY = status(container(RUNNING, ready=True, started=True), conditions=READY)
UNREADY = status(container(RUNNING, started=True))
BACK_OFF = "back-off 40s restarting failed container=main pod=web-6d4-x2x_shop(b0a1)"
CRASHES = status(container(waits("CrashLoopBackOff", BACK_OFF), ended(3), 3))
NO_KEY = "couldn't find key mode in ConfigMap shop/app"
KEYLESS = pending(waits("CreateContainerConfigError", NO_KEY))
NO_IMAGE = pending(
    waits("ImagePullBackOff", 'Back-off pulling image "registry.example/web:1": not found')
)
UNSCHEDULED = {
    "phase": "Pending",
    "qosClass": "Burstable",
    "conditions": [
        condition(
            "PodScheduled", "False", "Unschedulable", "0/3 nodes are available: Insufficient cpu."
        )
    ],
}
