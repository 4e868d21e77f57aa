"""What scenarios of custom kinds share: the rows of the examples, and an object of each kind."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml
from tests.scenarios.injecting import served
from tests.scenarios.stage import ENABLED
from tests.support.build import Object
from tests.support.crds.kinds import DEFINITIONS

from reroll.core.tables import rights
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import KINDS, Kind
from reroll.settings.resolve import resolve
from reroll.settings.table import Settings
from reroll_dev.api import Api, ApiError

EXAMPLES = Path(__file__).parents[2] / "examples" / "kinds"
STAMP = "reroll.dev/config-hash"
ENV = "REROLL_CONFIG_HASH"


def rows(*names: str) -> dict[str, Any]:
    """The rows of these examples, or of all, as one config file."""
    wanted = [EXAMPLES / f"{name}.yaml" for name in names] or sorted(EXAMPLES.glob("*.yaml"))
    together: dict[str, Any] = {}
    for path in wanted:
        for key, found in yaml.safe_load(path.read_text()).items():
            together.setdefault(key, []).extend(found)
    return together


def config(folder: Path, file: Mapping[str, Any]) -> Path:
    """A config file with these rows."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(dict(file)))
    return path


def tables(file: Mapping[str, Any]) -> Tables:
    return resolve({}, {}, file, "config.yaml").tables


def identity(kubeconfig_for: Callable[..., Path], known: Tables) -> Path:
    """One with the rights of the controller for these tables, and no others."""
    defaults = Settings()
    rules = rights.cluster(known.kinds, sources=known.sources)
    return kubeconfig_for([*rules, *rights.own(defaults.digest_key, defaults.lease)], None)


def install(api: Api, definitions: Iterable[Object] = DEFINITIONS) -> None:
    """These definitions, once for all who share the control plane."""
    wanted = tuple(definitions)
    for one in wanted:
        try:
            api.create(one)
        except ApiError as error:
            if error.status != 409:
                raise
    served(api, *wanted)


def made(kind: Kind, name: str, spec: Mapping[str, Any], **annotations: str) -> Object:
    api_version = f"{kind.group}/{kind.version}"
    metadata = {"name": name, "annotations": {**ENABLED, **annotations}}
    return {"apiVersion": api_version, "kind": kind.kind, "metadata": metadata, "spec": dict(spec)}


# One object of each kind, that uses ConfigMap app and Secret db

_ENV = [
    {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "level"}}},
    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
]
_POD = {"containers": [{"name": "main", "image": "app", "env": _ENV}]}
_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": _POD}
_LABELS = {"matchLabels": {"app": "web"}}
_VOLUMES = [
    {"name": "db", "secret": {"secretName": "db"}},
    {"name": "app", "configMap": {"name": "app"}},
]


class Sample(NamedTuple):
    spec: Mapping[str, Any]
    annotations: Mapping[str, str] = MappingProxyType({})
    bumps: int = 1
    """By how much a roll raises the generation."""


SAMPLES: dict[str, Sample] = {
    "CloneSet.apps.kruise.io": Sample({"replicas": 1, "selector": _LABELS, "template": _TEMPLATE}),
    "StatefulSet.apps.kruise.io": Sample(
        {"replicas": 1, "selector": _LABELS, "serviceName": "web", "template": _TEMPLATE}
    ),
    "Service.serving.knative.dev": Sample({"template": {"spec": _POD}}),
    "DeploymentConfig.apps.openshift.io": Sample(
        {"replicas": 1, "selector": {"app": "web"}, "template": _TEMPLATE}
    ),
    "Prometheus.monitoring.coreos.com": Sample(
        {
            "replicas": 2,
            "thanos": {"objectStorageConfig": {"name": "db", "key": "password"}},
            "configMaps": ["app"],
        }
    ),
    "Alertmanager.monitoring.coreos.com": Sample(
        {"replicas": 1, "secrets": ["db"], "configMaps": ["app"]}
    ),
    "Cluster.postgresql.cnpg.io": Sample(
        {"instances": 1, "env": _ENV[1:], "envFrom": [{"configMapRef": {"name": "app"}}]}, bumps=0
    ),
    "Kafka.kafka.strimzi.io": Sample(
        {"kafka": {"template": {"kafkaContainer": {"env": _ENV}, "pod": {"volumes": _VOLUMES}}}}
    ),
    "KafkaConnect.kafka.strimzi.io": Sample(
        {"template": {"connectContainer": {"env": _ENV}, "pod": {"volumes": _VOLUMES}}}
    ),
    "StrimziPodSet.core.strimzi.io": Sample(
        {"selector": _LABELS, "pods": [{"spec": {**_POD, "volumes": _VOLUMES}}]},
        {"reroll.dev/sources": "configmap/app, secret/db#password"},
        bumps=0,
    ),
}
EXAMPLE_KINDS: tuple[Kind, ...] = tables(rows()).kinds[len(KINDS) :]


def marks(kind: Kind, seen: Mapping[str, Any]) -> dict[str, str]:
    """What a roll wrote: annotations where the kind has them, and variables."""
    here: Any = seen
    for step in kind.annotations:
        here = (here or {}).get(step)
    name = kind.stamp.name if kind.stamp and kind.stamp.name else STAMP
    found = {key: text for key, text in (here or {}).items() if key == name}
    pod = seen["spec"].get("template", {}).get("spec", {}) if kind.template else {}
    for container in pod.get("containers", ()):
        found |= {v["name"]: v["value"] for v in container.get("env", ()) if v["name"] == ENV}
    return found
