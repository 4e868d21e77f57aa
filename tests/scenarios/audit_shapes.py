"""Pods, what they use, and what happened then: what `reroll audit` has to be right about.

Real writes by several managers, deletions, restarts. What a shape uses is called as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.scenarios.stage import Stage
from tests.support import build
from tests.support.build import Object

from reroll_dev.api import path_to

Change = Callable[[Stage, str], object]


def pod(name: str, **template: Any) -> Object:
    made = build.pod_template(name, **template)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **made["metadata"]},
        "spec": made["spec"],
    }


def write(stage: Stage, name: str, body: Object, by: str = "", kind: str = "ConfigMap") -> None:
    query = {"fieldManager": by} if by else {}
    stage.api.patch(path_to(kind, name, stage.namespace), body, **query)


def change(stage: Stage, name: str) -> None:
    write(stage, name, {"data": {"key": "new"}})


def change_secret(stage: Stage, name: str) -> None:
    write(stage, name, {"data": {"password": build.encode("correct horse")}}, kind="Secret")


def remake(stage: Stage, name: str) -> None:
    old = stage.api.get(path_to("ConfigMap", name, stage.namespace))
    stage.api.delete(path_to("ConfigMap", name, stage.namespace))
    immutable = {"immutable": True} if old.get("immutable") else {}
    stage.make(build.configmap(name, {"key": "new"}, **immutable))


def delete(stage: Stage, name: str) -> None:
    stage.api.delete(path_to("ConfigMap", name, stage.namespace))


def restart(stage: Stage, name: str) -> None:
    """What a kubelet writes when a container was restarted, a while after the change."""
    change(stage, name)
    path = path_to("Pod", name, stage.namespace)
    seen = stage.api.get(path)
    for status in seen["status"]["containerStatuses"]:
        later = datetime.now(UTC) + timedelta(seconds=5)
        status["state"] = {"running": {"startedAt": later.strftime("%Y-%m-%dT%H:%M:%SZ")}}
        status["restartCount"] = 1
    stage.api.replace(f"{path}/status", seen)


def forget(stage: Stage, name: str) -> None:
    write(stage, name, {"data": {"key": "new"}, "metadata": {"managedFields": [{}]}})


def from_field(name: str, key: str = "key") -> list[Object]:
    return [{"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}]


def beside(name: str, **container: Any) -> Object:
    """Pod fields with one init container that uses the ConfigMap."""
    one = {"name": "first", "image": "example.invalid/app:1", **container}
    volume = {"name": "files", "configMap": {"name": name}}
    mounts = bool(container.get("volumeMounts"))
    return {"initContainers": [one], **({"volumes": [volume]} if mounts else {})}


def mounted(name: str, **mount: Any) -> Object:
    """Template words for a mount of the ConfigMap."""
    return {
        "volumes": [{"name": "files", "configMap": {"name": name}}],
        "volume_mounts": [{"name": "files", "mountPath": "/etc/files", **mount}],
    }


def projected(name: str) -> Object:
    sources = [{"configMap": {"name": name, "items": [{"key": "key", "path": "a"}]}}]
    return {
        "volumes": [{"name": "files", "projected": {"sources": sources}}],
        "volume_mounts": [{"name": "files", "mountPath": "/etc/files"}],
    }


@dataclass(frozen=True)
class Shape:
    """A pod, what it uses and what happened then; what it uses is called as it is."""

    expected: str
    uses: Callable[[str], Object]
    change: Change = change
    source: Callable[[str], Object | None] = build.configmap
    make: Callable[..., Object] = pod


def two_keys(name: str) -> Object:
    return build.configmap(name, {"key": "value", "other": "value"})


LASTING = {"template_annotations": {"dev.reroll.dev/complete-after": "10m"}}


def labelled(name: str) -> Object:
    return build.configmap(name, labels={"tier": "a"})


SHAPES: dict[str, Shape] = {
    "env": Shape("stale", lambda n: {"env": from_field(n)}),
    "env-from": Shape("stale", lambda n: {"uses": [f"configmap/{n}"]}),
    "sub-path": Shape("stale", lambda n: mounted(n, subPath="key")),
    "mount": Shape("live", mounted),
    "projected": Shape("live", projected),
    "init-env": Shape("stale", lambda n: {"pod": beside(n, env=from_field(n))}),
    "init-mount": Shape(
        "stale",
        lambda n: {"pod": beside(n, volumeMounts=[{"name": "files", "mountPath": "/etc/files"}])},
    ),
    "sidecar": Shape(
        "stale", lambda n: {"pod": beside(n, env=from_field(n), restartPolicy="Always")}
    ),
    "secret": Shape(
        "stale", lambda n: {"uses": [f"secret/{n}#password"]}, change_secret, build.secret
    ),
    "nothing-changed": Shape("current", lambda n: {"uses": [f"configmap/{n}"]}, lambda *_: None),
    "label-by-another": Shape(
        "current",
        lambda n: {"uses": [f"configmap/{n}"]},
        lambda s, n: write(s, n, {"metadata": {"labels": {"tier": "b"}}}, by="labeller"),
    ),
    "label-by-the-same": Shape(
        "stale?",
        lambda n: {"uses": [f"configmap/{n}"]},
        lambda s, n: write(s, n, {"metadata": {"labels": {"tier": "b"}}}),
        labelled,
    ),
    "unused-key-by-another": Shape(
        "current",
        lambda n: {"env": from_field(n)},
        lambda s, n: write(s, n, {"data": {"third": "new"}}, by="another"),
    ),
    "unused-key-by-the-same": Shape(
        "stale?",
        lambda n: {"env": from_field(n)},
        lambda s, n: write(s, n, {"data": {"other": "new"}}),
        two_keys,
    ),
    "taken-over": Shape(
        "stale",
        lambda n: {"env": from_field(n)},
        lambda s, n: write(s, n, {"data": {"key": "new"}}, by="another"),
        two_keys,
    ),
    "key-removed": Shape(
        "missing",
        lambda n: {"env": from_field(n)},
        lambda s, n: write(s, n, {"data": {"key": None}}, by="another"),
        two_keys,
    ),
    "made-anew": Shape("stale?", lambda n: {"uses": [f"configmap/{n}"]}, remake),
    "immutable-made-anew": Shape(
        "stale?", mounted, remake, lambda n: build.configmap(n, immutable=True)
    ),
    "made-anew-mounted": Shape("live", mounted, remake),
    "deleted": Shape("missing", lambda n: {"uses": [f"configmap/{n}"]}, delete),
    "optional-missing": Shape(
        "current", lambda n: {"uses": [f"configmap/{n}?"]}, lambda *_: None, lambda _: None
    ),
    "optional-appears": Shape(
        "stale?",
        lambda n: {"uses": [f"configmap/{n}?"]},
        lambda s, n: s.make(build.configmap(n)),
        lambda _: None,
    ),
    "restarted": Shape("current", lambda n: {"env": from_field(n)}, restart),
    "nobody-knows": Shape("unknown", lambda n: {"env": from_field(n)}, forget),
    "deployment": Shape("stale", lambda n: {"uses": [f"configmap/{n}"]}, make=build.deployment),
    "statefulset": Shape("stale", lambda n: {"uses": [f"configmap/{n}"]}, make=build.statefulset),
    "daemonset": Shape("stale", lambda n: {"uses": [f"configmap/{n}"]}, make=build.daemonset),
    "job": Shape("stale", lambda n: {"uses": [f"configmap/{n}"], **LASTING}, make=build.job),
    "cronjob": Shape(
        "stale", lambda n: {"uses": [f"configmap/{n}"], **LASTING}, make=build.cronjob
    ),
}
OWNERS = {
    "cronjob": "CronJob",
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "job": "Job",
    "env": "Pod",
}
