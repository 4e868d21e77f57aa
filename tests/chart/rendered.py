"""What the chart makes of some values, by real helm."""

import json
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import yaml
from tests.support.chart import CHART, FEATURES
from tests.support.tools import Tool

from reroll.http.addresses import LINK_LOCAL, METADATA

Object = dict[str, Any]

EVERYTHING: dict[str, Any] = {
    "features": dict.fromkeys(FEATURES, True),
    "networkPolicy": {"enabled": True, "egress": True, "apiServerCIDRs": ["10.0.0.1/32"]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True, "runbooks": "https://wiki.example/"},
    "grafanaDashboard": {"enabled": True},
    "priorityClassName": "system-cluster-critical",
    "imagePullSecrets": ["registry"],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "extraArgs": ["--log-level=debug"],
    "extraEnv": [{"name": "TZ", "value": "Europe/Oslo"}],
    "extraEnvFrom": [{"configMapRef": {"name": "more", "optional": True}}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "annotations": {"example.com/a": "b"},
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"example.com/a": "b"},
    "commonLabels": {"example.com/team": "platform"},
    "service": {"labels": {"example.com/a": "b"}, "annotations": {"example.com/a": "b"}},
    "settings": {
        "debounce": "5s",
        "exclude-namespaces": ["kube-*"],
        "notices": [
            {"name": "team", "to": {"slack": {"webhook-file": "/etc/reroll-notices/slack"}}},
            {"name": "near", "to": {"webhook": {"url": "https://hook.example.com"}}},
        ],
    },
    "notices": {"secret": "reroll-notices", "cidrs": {"near": ["192.0.2.0/24"]}},
}
"""Values that turn on everything there is."""


def template(
    helm: Tool, values: Mapping[str, Any], *flags: str, name: str = "reroll", home: str = "reroll"
) -> list[Object]:
    """The objects, without a cluster."""
    text = helm(
        *("template", name, CHART, "--namespace", home, "--values", "-", *flags),
        input=json.dumps(values),
        identity=None,
    )
    return [each for each in yaml.safe_load_all(text) if each]


def outside(*ports: int) -> Object:
    """A rule of a NetworkPolicy: every address but those where a cloud gives credentials away."""
    away: dict[int, list[str]] = {4: [], 6: []}
    for network in map(ip_network, (*LINK_LOCAL, *METADATA)):
        away[network.version].append(str(network))
    blocks = {"0.0.0.0/0": away[4], "::/0": away[6]}
    to = [{"ipBlock": {"cidr": cidr, "except": but}} for cidr, but in blocks.items()]
    return {"to": to, "ports": [{"port": port} for port in ports]}


def values_file(folder: Path, values: Mapping[str, Any]) -> Path:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))
    return file


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]


def the(objects: list[Object], kind: str) -> Object:
    (found,) = of_kind(objects, kind)
    return found


def named(objects: list[Object], kind: str, name: str) -> Object:
    (found,) = (each for each in of_kind(objects, kind) if each["metadata"]["name"] == name)
    return found


def pod_specs(objects: list[Object]) -> Iterator[Object]:
    for each in objects:
        if each["kind"] == "Pod":
            yield each["spec"]
        elif "template" in each.get("spec", {}):
            yield each["spec"]["template"]["spec"]


def granted(rules: list[Object]) -> set[tuple[str, str, str, str]]:
    """Group, resource, name and verb of all that rules allow."""
    return {
        (group, resource, name, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }
