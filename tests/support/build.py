"""Builders of manifests: plain dicts, short to write, one way to say each thing.

    deployment("web", uses=["configmap/app", "secret/db#password"], mounts=["configmap/files?"])

A use is `<kind>/<name>`, with `#<key>` for one key of it and a `?` at the end if it may be missing.
`uses` puts it into the environment, `mounts` into a volume; both take a manifest of a source too.
What a workload takes beside its own words goes to its pod template. Every dict is fresh.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
Use = str | Mapping[str, Any]

FAIL = "dev.reroll.dev/fail"


def configmap(name: str = "app", data: Mapping[str, str] | None = None, **modifiers: Any) -> Object:
    """`data` is what it holds; other words are fields: `immutable=True`, `binaryData={…}`."""
    return _object("v1", "ConfigMap", name, data=dict(data or {"key": "value"}), **modifiers)


def secret(name: str = "db", data: Mapping[str, str] | None = None, **modifiers: Any) -> Object:
    """`data` as plain text; it is encoded here, as the API server shows it."""
    encoded = {key: encode(value) for key, value in (data or {"password": "hunter2"}).items()}
    return _object("v1", "Secret", name, data=encoded, **modifiers)


def deployment(
    name: str = "web",
    *,
    replicas: int = 1,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    return _workload(
        "apps/v1", "Deployment", name, {"replicas": replicas}, spec, labels, annotations, template
    )


def statefulset(
    name: str = "web",
    *,
    replicas: int = 1,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    own = {"replicas": replicas, "serviceName": name}
    return _workload("apps/v1", "StatefulSet", name, own, spec, labels, annotations, template)


def daemonset(
    name: str = "web",
    *,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    return _workload("apps/v1", "DaemonSet", name, {}, spec, labels, annotations, template)


def rollout(
    name: str = "web",
    *,
    replicas: int = 1,
    steps: Sequence[Mapping[str, Any]] = (),
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    """An Argo Rollout that goes through the canary `steps`."""
    own = {"replicas": replicas, "strategy": {"canary": {"steps": list(steps)}}}
    version = "argoproj.io/v1alpha1"
    return _workload(version, "Rollout", name, own, spec, labels, annotations, template)


def job(
    name: str = "task",
    *,
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    """A Job that is not tried again when its pod fails."""
    meta = {"labels": labels, "annotations": annotations}
    return _object("batch/v1", "Job", name, **meta, spec=_job_spec(name, spec, template))


def cronjob(
    name: str = "task",
    *,
    schedule: str = "0 0 1 1 *",
    spec: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **template: Any,
) -> Object:
    """A CronJob that is not due soon."""
    own = {"schedule": schedule, "jobTemplate": {"spec": _job_spec(name, {}, template)}}
    meta = {"labels": labels, "annotations": annotations}
    return _object("batch/v1", "CronJob", name, **meta, spec={**own, **(spec or {})})


def pod_template(
    name: str,
    *,
    uses: Use | Iterable[Use] = (),
    mounts: Use | Iterable[Use] = (),
    template_labels: Mapping[str, str] | None = None,
    template_annotations: Mapping[str, str] | None = None,
    fail: str | None = None,
    env: Sequence[Mapping[str, Any]] = (),
    env_from: Sequence[Mapping[str, Any]] = (),
    volumes: Sequence[Mapping[str, Any]] = (),
    volume_mounts: Sequence[Mapping[str, Any]] = (),
    container: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
) -> Object:
    """The pod template of every kind; `container` and `pod` add fields to those specs.

    `fail` is how its pods fail: "unready", "crashloop", or "exit" for a Job's.
    """
    used, mounted = _several(uses), _several(mounts)
    annotations = {**(template_annotations or {}), **({FAIL: fail} if fail else {})}
    main = {
        "name": "main",
        "image": "example.invalid/app:1",
        "env": [*env, *filter(None, map(_variable, used))],
        "envFrom": [*env_from, *filter(None, map(_variables, used))],
        "volumeMounts": [*volume_mounts, *map(_mount, mounted)],
        **(container or {}),
    }
    return {
        "metadata": {
            "labels": {"app": name, **(template_labels or {})},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {
            "containers": [{field: value for field, value in main.items() if value}],
            **({"volumes": found} if (found := [*volumes, *map(_volume, mounted)]) else {}),
            **(pod or {}),
        },
    }


def encode(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def _workload(
    version: str,
    kind: str,
    name: str,
    own: Mapping[str, Any],
    spec: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    template: Mapping[str, Any],
) -> Object:
    body = {
        **own,
        "selector": {"matchLabels": {"app": name}},
        "template": pod_template(name, **template),
        **(spec or {}),
    }
    return _object(version, kind, name, labels=labels, annotations=annotations, spec=body)


def _job_spec(name: str, spec: Mapping[str, Any] | None, template: Mapping[str, Any]) -> Object:
    pod = {"restartPolicy": "Never", **template.get("pod", {})}
    body = pod_template(name, **{**template, "pod": pod})
    return {"backoffLimit": 0, "template": body, **(spec or {})}


def _object(
    version: str,
    kind: str,
    name: str,
    *,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    metadata: Object = {"name": name}
    for field, value in (
        ("namespace", namespace),
        ("labels", labels),
        ("annotations", annotations),
    ):
        if value:
            metadata[field] = value if isinstance(value, str) else dict(value)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _several(uses: Use | Iterable[Use]) -> list[tuple[str, str, str, bool]]:
    """Kind, name, key (or nothing) and optionality of each use."""
    one_or_more = [uses] if isinstance(uses, str | Mapping) else list(uses)
    return [_parsed(use) for use in one_or_more]


def _parsed(use: Use) -> tuple[str, str, str, bool]:
    if isinstance(use, Mapping):
        return use["kind"].lower(), use["metadata"]["name"], "", False
    kind, _, rest = use.removesuffix("?").partition("/")
    if kind not in REFERENCES:
        raise ValueError(f"{use!r}: write configmap/<name> or secret/<name>")
    name, _, key = rest.partition("#")
    return kind, name, key, use.endswith("?")


REFERENCES = {
    # kind -> in env, in envFrom, in a volume, and how a volume spells the name
    "configmap": ("configMapKeyRef", "configMapRef", "configMap", "name"),
    "secret": ("secretKeyRef", "secretRef", "secret", "secretName"),
}


def _variable(use: tuple[str, str, str, bool]) -> Object | None:
    kind, name, key, optional = use
    reference = {"name": name, "key": key, **_optional(optional)}
    variable = f"{name}_{key}".upper().replace("-", "_").replace(".", "_")
    return {"name": variable, "valueFrom": {REFERENCES[kind][0]: reference}} if key else None


def _variables(use: tuple[str, str, str, bool]) -> Object | None:
    kind, name, key, optional = use
    return None if key else {REFERENCES[kind][1]: {"name": name, **_optional(optional)}}


def _volume(use: tuple[str, str, str, bool]) -> Object:
    kind, name, key, optional = use
    _, _, field, name_field = REFERENCES[kind]
    items = {"items": [{"key": key, "path": key}]} if key else {}
    return {"name": f"{kind}-{name}", field: {name_field: name, **items, **_optional(optional)}}


def _mount(use: tuple[str, str, str, bool]) -> Object:
    kind, name, _, _ = use
    return {"name": f"{kind}-{name}", "mountPath": f"/etc/{kind}/{name}"}


def _optional(optional: bool) -> Object:
    return {"optional": True} if optional else {}
