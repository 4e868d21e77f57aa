"""The shop of `reroll demo --propagation`: eight workloads that share one ConfigMap.

Its pods are simulated. What their application would do is done here: it reads the configuration
that its pod was given, and does not start with a timeout of nothing.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reroll.core.tables.annotations import DOMAIN
from reroll_dev.api import Api, path_to
from reroll_dev.api import ApiError as Refused

NAMESPACE = "shop"
SOURCE = "settings"
KEY = "TIMEOUT"
NAMES = ("account", "basket", "checkout", "delivery", "payment", "reviews", "search", "stock")
FRAGILE = "checkout"
"""The one that cannot work with `BAD`; the others can."""
BAD = "0s"
SAID = {
    "enabled": "true",
    "revisions": "true",
    "max-parallel": "doubling",
    "on-failure": "rollback",
}
"""On the Namespace, for all workloads in it."""
ANNOTATIONS = {f"{DOMAIN}{key}": text for key, text in SAID.items()}
FAIL = "dev.reroll.dev/fail"
PAUSE = 0.1


def namespace() -> dict[str, Any]:
    metadata = {"name": NAMESPACE, "annotations": ANNOTATIONS}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def settings(timeout: str) -> dict[str, Any]:
    metadata = {"name": SOURCE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: timeout}}


def workload(name: str) -> dict[str, Any]:
    """The pods of a fragile one do not start until its application says so."""
    marks = {FAIL: "crashloop"} if name == FRAGILE else {}
    container = {
        "name": name,
        "image": f"shop/{name}:1",
        "envFrom": [{"configMapRef": {"name": SOURCE}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": marks},
                "spec": {"containers": [container]},
            },
        },
    }


def timeout_of(spec: dict[str, Any], held: dict[str, str]) -> str:
    """The timeout that a pod with this spec gets, of the ConfigMaps in `held`."""
    [source] = spec["containers"][0]["envFrom"]
    return held.get(source["configMapRef"]["name"], "")


def timeouts(api: Api, namespace: str = NAMESPACE) -> dict[str, str]:
    """What each ConfigMap of the shop holds, the copies too."""
    found = api.list(path_to("ConfigMap", namespace=namespace))
    return {one["metadata"]["name"]: one.get("data", {}).get(KEY, "") for one in found}


def is_pinned(api: Api, namespace: str = NAMESPACE) -> bool:
    """Whether every workload has a copy of its configuration, and its pods are ready."""
    return all(
        one["spec"]["template"]["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]
        != SOURCE
        and _is_complete(one)
        for one in api.list(path_to("Deployment", namespace=namespace))
    )


def _is_complete(one: dict[str, Any]) -> bool:
    status, wanted = one.get("status", {}), one["spec"]["replicas"]
    numbers = {status.get(f, 0) for f in ("replicas", "updatedReplicas", "readyReplicas")}
    return status.get("observedGeneration") == one["metadata"]["generation"] and numbers == {wanted}


@contextmanager
def application(api: Api, namespace: str = NAMESPACE) -> Iterator[None]:
    """Start the pods of the fragile one whose configuration it can work with."""
    ended = threading.Event()
    thread = threading.Thread(target=_start_pods, args=[api, namespace, ended])
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _start_pods(api: Api, namespace: str, ended: threading.Event) -> None:
    while not ended.wait(PAUSE):
        pods = api.list(path_to("Pod", namespace=namespace))
        waiting = [pod for pod in pods if FAIL in pod["metadata"].get("annotations", {})]
        held = timeouts(api, namespace) if waiting else {}
        for pod in waiting:
            if timeout_of(pod["spec"], held) not in {"", BAD}:
                _start(api, path_to("Pod", pod["metadata"]["name"], namespace))


def _start(api: Api, path: str) -> None:
    try:
        api.patch(path, {"metadata": {"annotations": {FAIL: None}}})
    except Refused:
        return  # It is gone.


def spare(api: Api) -> None:
    """Have the pods of the fragile one start without its application, from now on."""
    metadata = {"annotations": {FAIL: None}}
    path = path_to("Deployment", FRAGILE, NAMESPACE)
    api.patch(path, {"spec": {"template": {"metadata": metadata}}})
