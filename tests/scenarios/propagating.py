"""What scenarios of a change that propagates have in common."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.scenarios.rolling import Command, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, a, again, alone, eventually
from tests.support.build import FAIL, Object
from tests.support.settled import is_settled

from reroll.core.tables.kinds import KINDS, Kind
from reroll_dev.api import path_to

Start = Callable[..., Controller]
DEPLOYMENT = next(kind for kind in KINDS if kind.name == "Deployment")
PODS_THAT_RUN = [
    kind for kind in KINDS if kind.name in {"Deployment", "StatefulSet", "DaemonSet", "Rollout"}
]
KUBELET = "kubelet"
"""A value of `FAIL` with which the simulated kubelet leaves a pod to the test."""


def keys(annotations: dict[str, str]) -> dict[str, str]:
    return {f"reroll.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}


def web(name: str | int, *, of: Kind = DEPLOYMENT, **more: Any) -> Object:
    """Opted in, and using the ConfigMap `app`; words that are no part of a manifest annotate."""
    parts = {"spec", "replicas", "labels", "uses", "pod", "template_annotations", "steps"}
    manifest = {key: more.pop(key) for key in parts & more.keys()}
    manifest.setdefault("uses", ["configmap/app"])
    return a(of, f"web-{name}", annotations=ENABLED | keys(more), **manifest)


def sick(stage: Stage, one: Object, fail: str = "unready") -> Object:
    """Make it, healthy as it is; the pods of its next roll fail, and it does not take long."""
    return that_fails(stage, impatient(one), fail)


def impatient(one: Object) -> Object:
    """It is judged soon."""
    if one["kind"] == "Deployment":
        one["spec"]["progressDeadlineSeconds"] = 2
    else:
        one["metadata"]["annotations"]["reroll.dev/deadline"] = "2s"
    return one


def sicken(stage: Stage, one: Object, fail: str = "unready") -> None:
    """The same of one that is there: another writer's change, whose own pods are well."""
    annotations = {"annotations": {FAIL: fail}}
    stage.api.patch(stage.path(one), {"spec": {"template": {"metadata": annotations}}})

    def is_well() -> bool:
        for pod in new_pods(stage, one):
            path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
            stage.api.patch(path, {"metadata": {"annotations": {FAIL: None}}})
        return is_settled(stage.get(one))

    eventually(is_well, "its pods are ready")


def healthy_pods(stage: Stage, one: Object) -> None:
    """The pods that it has get ready after all."""

    def ready() -> bool:
        for pod in stage.pods(one):
            if FAIL in pod["metadata"].get("annotations", {}):
                path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
                stage.api.patch(path, {"metadata": {"annotations": {FAIL: None}}})
        return is_settled(stage.get(one))

    eventually(ready, "its pods are ready")


def healed(stage: Stage, one: Object) -> None:
    """Another writer's change of its template: its next pods are well."""
    mended = {"spec": {"template": {"metadata": {"annotations": {FAIL: None}}}}}
    stage.api.patch(stage.path(one), mended)
    if one["kind"] == "StatefulSet":  # It keeps a pod that never got ready.
        for pod in new_pods(stage, one):
            stage.api.delete(path_to("Pod", pod["metadata"]["name"], stage.namespace))
    stage.settled(one)


def begun(stage: Stage, start: Start, webs: Iterable[Object], *flags: str) -> Controller:
    """A controller that has recorded them all, with their first pods ready."""
    one = alone(start, *flags)
    for each in webs:
        stage.adopted(each)
        stage.settled(each)
    return one


def killed_at_each(steps: dict[str, Callable[..., Any]], one: Controller, *seen: Any) -> None:
    """One that is killed when it has got so far, and the next one too, and the one after that."""
    for name, is_there in steps.items():
        eventually(lambda is_there=is_there: is_there(*seen), name)
        again(one)


def trial(stage: Stage, one: Object) -> dict[str, Any]:
    return stage.record(one).get("trial") or {}


def verdict(stage: Stage, one: Object) -> str:
    return str(trial(stage, one).get("v", ""))


def judged(stage: Stage, one: Object, expected: str) -> dict[str, Any]:
    """Wait for the verdict on what it rolled with last; the trial."""
    name = one["metadata"]["name"]

    def instead() -> list[Any]:
        pods = [(pod["metadata"]["name"], pod["status"]) for pod in stage.pods(one)]
        return [stage.record(one), stage.get(one)["status"], pods]

    eventually(lambda: verdict(stage, one) == expected, f"{name} is {expected}", instead=instead)
    return trial(stage, one)


def all_healthy(stage: Stage, webs: Iterable[Object]) -> None:
    for each in webs:
        judged(stage, each, "healthy")


def rolled(stage: Stage, webs: Iterable[Object]) -> list[str]:
    """Those that rolled, in the order in which they did, by their records."""
    times = {one["metadata"]["name"]: stage.record(one).get("rolled") for one in webs}
    return sorted((name for name, at in times.items() if at), key=lambda name: times[name])


def told(stage: Stage, one: Object, reason: str, *words: str) -> str:
    """Wait for an Event with this reason and these words; its message."""

    def found() -> str:
        texts = [str(event["message"]) for event in stage.events(one, reason)]
        return next((text for text in texts if all(word in text for word in words)), "")

    return eventually(found, f"{one['metadata']['name']} is told {reason} {words}")


def planned(plan: Command, reason: str, *names: str) -> str:
    """Wait until `reroll plan` says of these that they are held so; what it says of the last."""

    def found() -> str:
        rows = {one["name"]: one for one in plan("--all", "-o", "json").json["workloads"]}
        is_so = all(rows[name]["reason"] == reason for name in names)
        return str(rows[names[-1]]) if is_so else ""

    return str(eventually(found, f"{names} are {reason}"))


def pinned(stage: Stage, webs: Iterable[Object]) -> None:
    """Wait until their templates have pins, and their pods those templates."""
    for each in webs:
        eventually(lambda each=each: stage.record(each).get("why") == "Pinned", "it is pinned")
        stage.settled(each)


def change(stage: Stage, value: str, name: str = "app") -> Object:
    return stage.change("ConfigMap", name, key=value)


def patch_status(stage: Stage, pod: Object, status: dict[str, Any]) -> None:
    """As a kubelet writes it."""
    path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
    stage.api.patch(f"{path}/status", {"status": status})


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    """The status of a pod whose container waits."""
    state = {"waiting": {"reason": reason, "message": message}}
    container = {
        "name": "main", "image": "app", "imageID": "", "ready": False, "restartCount": 0,
        "state": state,
    }  # fmt: skip
    return {"phase": "Pending", "containerStatuses": [container]}


def new_pods(stage: Stage, one: Object) -> list[Object]:
    """Pods of the template with which pods fail."""
    return [pod for pod in stage.pods(one) if FAIL in pod["metadata"].get("annotations", {})]


class Spreading:
    """What the audit log tells: who began when, and how many had been found healthy by then.

    A workload that rolls and turns out healthy is written twice, and no more.
    """

    def __init__(self, audit: Callable[..., list[dict[str, Any]]], user: Any, plural: str) -> None:
        self._audit, self._user, self._plural = audit, user, plural
        self._before = len(self._writes())

    def _writes(self) -> list[str]:
        return [
            str(call["objectRef"]["name"])
            for call in self._audit(self._user)
            if call["verb"] == "patch"
            and call.get("objectRef", {}).get("resource") == self._plural
            and call["responseStatus"]["code"] == 200
        ]

    def begins(self) -> list[tuple[int, int]]:
        """For each roll: how many were under way with it, and how many healthy before it."""
        under_way: set[str] = set()
        healthy: set[str] = set()
        found = []
        for name in self._writes()[self._before :]:
            assert name not in healthy, f"{name} was written a third time"
            if name in under_way:
                under_way.remove(name)
                healthy.add(name)
            else:
                under_way.add(name)
                found.append((len(under_way), len(healthy)))
        return found
