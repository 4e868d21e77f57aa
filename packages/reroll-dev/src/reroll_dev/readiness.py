"""When a cluster can be used: each wait ends at its condition, at a death, or at its deadline.

The last proof is a Deployment that becomes Available: every component had to do its part for that.
"""

import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException
from typing import Any

from reroll_dev.api import Api, ApiError, Object, path_of, path_to
from reroll_dev.errors import DevClusterError

PROBE = "reroll-readiness"
TIMEOUT = 90.0

Check = Callable[[], None]
"""Raises if a component died; called between two looks."""


def until(condition: Callable[[], bool], *, what: str, check: Check) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise DevClusterError(
                f"{what} did not happen within {TIMEOUT:g} seconds; the machine may be too busy, or"
                " a component is stuck: read `reroll dev logs`, then run `reroll dev up` again"
            )
        time.sleep(0.03)


def answers(port: int, path: str) -> bool:
    """Whether a plain health endpoint of this machine says 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def listens(port: int) -> bool:
    """Whether something of this machine takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def is_serving(api: Api) -> bool:
    try:
        api.get("/readyz")
    except (ApiError, OSError, HTTPException):
        return False
    return True


def condition(seen: Mapping[str, Any], kind: str) -> bool:
    """Whether a condition of this kind is true in the object's status."""
    conditions = seen.get("status", {}).get("conditions") or ()  # The API server writes null too.
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def has(api: Api, path: str, holds: Callable[[Object], bool]) -> bool:
    """Whether the object is there and `holds` of it; a server that stumbles is asked again."""
    try:
        return holds(api.get(path))
    except (ApiError, OSError, HTTPException):
        return False


def established(api: Api, definition: Mapping[str, Any], *, check: Check) -> None:
    """Wait until the API server serves a custom resource."""
    name, spec = definition["metadata"]["name"], definition["spec"]
    version = next(one["name"] for one in spec["versions"] if one["served"])
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
    for what, holds in (
        (path_of(definition), lambda seen: condition(seen, "Established")),
        (path, lambda seen: "items" in seen),  # for a moment it refuses: its storage initializes
    ):
        until(partial(has, api, what, holds), what=f"serving {name}", check=check)


def prove(api: Api, *, check: Check, pods: Mapping[str, Any]) -> None:
    """Wait until a Deployment becomes Available, and leave no trace of it.

    `pods` is what the spec of its pods has beside the usual.
    """
    manifest = _probe(pods)
    path = path_of(manifest)
    service_account = path_to("ServiceAccount", "default", "kube-system")
    until(
        lambda: has(api, service_account, bool),
        what="the service account `default` of a namespace",
        check=check,
    )
    api.create(manifest)
    until(
        lambda: has(api, path, lambda seen: condition(seen, "Available")),
        what="a first Deployment becoming Available",
        check=check,
    )
    api.delete(path, propagation="Foreground")
    until(lambda: _is_gone(api, path), what="the removal of the first Deployment", check=check)


def _is_gone(api: Api, path: str) -> bool:
    try:
        api.get(path)
    except ApiError as error:
        return error.status == 404
    return False


def _probe(pods: Mapping[str, Any]) -> Mapping[str, Any]:
    labels = {"app": PROBE}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": PROBE, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "none", "image": "none"}], **pods},
            },
        },
    }
