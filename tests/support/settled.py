"""Whether a workload has become what its spec says: predicates for `api.wait_for`."""

from collections.abc import Callable, Mapping
from typing import Any

Object = Mapping[str, Any]


def is_settled(workload: Object) -> bool:
    """All pods are of the newest template and available; for every kind that keeps pods running."""
    status = workload.get("status", {})
    return is_noticed(workload) and _COUNTS[workload["kind"]](workload["spec"], status)


def is_noticed(workload: Object) -> bool:
    """Its controller tells of the newest template."""
    status = workload.get("status", {})
    return int(status.get("observedGeneration", 0)) >= workload["metadata"]["generation"]


def has_new_pods(workload: Object) -> bool:
    return is_noticed(workload) and workload["status"].get("updatedReplicas", 0) > 0


def is_complete(job: Object) -> bool:
    return has_condition(job, "Complete")


def has_condition(seen: Object, kind: str, status: str = "True") -> bool:
    conditions = seen.get("status", {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == status for each in conditions)


def _replicated(spec: Object, status: Object) -> bool:
    wanted = spec.get("replicas", 1)
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return all(status.get(count, 0) == wanted for count in counts)


def _stateful(spec: Object, status: Object) -> bool:
    revisions = status.get("currentRevision") == status.get("updateRevision")
    return revisions and status.get("availableReplicas", 0) == spec.get("replicas", 1)


def _everywhere(_spec: Object, status: Object) -> bool:
    wanted = status.get("desiredNumberScheduled", 0)
    counts = ("updatedNumberScheduled", "numberAvailable")
    return wanted > 0 and all(status.get(count, 0) == wanted for count in counts)


_COUNTS: Mapping[str, Callable[[Object, Object], bool]] = {
    "Deployment": _replicated,
    "Rollout": _replicated,
    "StatefulSet": _stateful,
    "DaemonSet": _everywhere,
}
