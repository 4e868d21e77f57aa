"""A pod that names sources in every field there is, in each kind of container."""

from types import MappingProxyType
from typing import Any

from tests.support.build import Object

from reroll.core.revisions.pins import Pins, write_pins
from reroll.core.tables.kinds import EACH

PINS = {
    ("ConfigMap", "app"): "app-0123456789",
    ("ConfigMap", "other.name"): "other.name-1111111111",
    ("Secret", "db"): "db-2222222222",
}
ANNOTATION = write_pins(PINS)


def pod_spec() -> Object:
    """The pinned sources, beside others that stay and of which some have the same names."""
    return {
        "containers": [_container("one"), _container("two")],
        "initContainers": [_container("first"), {**_container("side"), "restartPolicy": "Always"}],
        "volumes": [*_volumes(), *_others()],
        "imagePullSecrets": [{"name": "db"}],
        "terminationGracePeriodSeconds": 1,
    }


def _container(name: str) -> Object:
    return {
        "name": name,
        "image": "example.invalid/app:1",
        "env": [
            {"name": "PLAIN", "value": "configmap/app"},
            _variable("A", "configMapKeyRef", name="app", key="a"),
            _variable("B", "configMapKeyRef", name="db", key="b", optional=True),
            _variable("C", "secretKeyRef", name="db", key="password"),
            _variable("D", "secretKeyRef", name="app", key="d", optional=False),
            {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "envFrom": [
            {"prefix": "P_", "configMapRef": {"name": "other.name", "optional": True}},
            {"secretRef": {"name": "db"}},
            {"configMapRef": {"name": "left-alone"}},
        ],
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": True},
            {"name": "secret", "mountPath": "/etc/secret", "subPath": "password"},
            {"name": "both", "mountPath": "/etc/both"},
        ],
    }


def _variable(variable: str, field: str, **reference: Any) -> Object:
    return {"name": variable, "valueFrom": {field: reference}}


def _volumes() -> list[Object]:
    items = [{"key": "a", "path": "a.txt", "mode": 256}]
    sources = [
        {"configMap": {"name": "app", "items": items, "optional": True}},
        {"secret": {"name": "db"}},
        {"secret": {"name": "left-alone"}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
    ]
    return [
        {"name": "config", "configMap": {"name": "app", "items": items, "defaultMode": 288}},
        {"name": "secret", "secret": {"secretName": "db", "optional": True}},
        {"name": "both", "projected": {"sources": sources, "defaultMode": 256}},
    ]


def _others() -> list[Object]:
    reference = {"driver": "example.invalid", "nodePublishSecretRef": {"name": "db"}}
    return [
        {"name": "empty", "emptyDir": {}},
        {"name": "plain", "configMap": {"name": "left-alone"}},
        {"name": "driver", "csi": reference},
    ]


def put_in(spec: Any, pins: Pins = MappingProxyType(PINS), kind: str = "") -> Any:
    """The spec with the names of the copies, by another way than the code that is tested."""
    if isinstance(spec, list):
        return [put_in(item, pins) for item in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        step: pins.get((kind, value), value)
        if step in {"name", "secretName"}
        else put_in(value, pins, _KINDS.get(step, ""))
        for step, value in spec.items()
    }


_KINDS = {
    **dict.fromkeys(("configMapKeyRef", "configMapRef", "configMap"), "ConfigMap"),
    **dict.fromkeys(("secretKeyRef", "secretRef", "secret"), "Secret"),
}


def paths(value: Any, so_far: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The path to each text in it, with `*` for places in lists."""
    if isinstance(value, dict):
        return {path for key, one in value.items() for path in paths(one, (*so_far, key))}
    if isinstance(value, list):
        return {path for one in value for path in paths(one, (*so_far, EACH))}
    return {so_far}
