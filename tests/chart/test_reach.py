"""Who reaches the controller, what it may reach, and what waits for it."""

from typing import Any

import pytest
import yaml
from tests.chart.rendered import named, of_kind, template, the
from tests.support.tools import Tool


def container(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = the(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return found


# Settings, ports of the container, and at which of them the kubelet asks.
PORTS: dict[str, tuple[dict[str, Any], list[tuple[str, int]], str | None]] = {
    "nothing": ({}, [("http", 8080), ("probes", 8081)], "probes"),
    "elsewhere": (
        {"listen": "[::]:9090", "probes": ":9091"},
        [("http", 9090), ("probes", 9091)],
        "probes",
    ),
    "one for both": ({"probes": ""}, [("http", 8080)], "http"),
    "no metrics": ({"listen": ""}, [("probes", 8081)], "probes"),
    "neither": ({"listen": "", "probes": ""}, [], None),
}


@pytest.mark.parametrize(("settings", "ports", "asked"), PORTS.values(), ids=PORTS.keys())
def test_the_ports_are_where_it_listens_and_probes_have_their_own(
    helm: Tool, settings: dict[str, Any], ports: list[tuple[str, int]], asked: str | None
) -> None:
    objects = template(helm, {"settings": settings})

    found = container(objects)
    assert [(one["name"], one["containerPort"]) for one in found.get("ports", ())] == ports
    for probe in ("livenessProbe", "readinessProbe"):
        assert found.get(probe, {}).get("httpGet", {}).get("port") == asked
    assert bool(of_kind(objects, "Service")) is ("http" in dict(ports))


SELECTOR = {"matchLabels": {"team": "a"}}
REVISIONS = {"features": {"revisions": True}, "pins": {"mode": "webhook"}}
SCRAPER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
MORE = {"from": [SCRAPER]}
HTTP, HOOK = {"ports": [{"port": "http"}]}, {"ports": [{"port": "webhook"}]}
LET_IN: dict[str, tuple[dict[str, Any], list[dict[str, Any]] | None]] = {
    "nothing": ({}, [HTTP]),
    "scrapers": ({"networkPolicy": {"from": [SCRAPER]}}, [{**HTTP, "from": [SCRAPER]}]),
    "the webhook": (REVISIONS, [HTTP, HOOK]),
    "more": (
        {"networkPolicy": {"extraIngress": [{"from": [SCRAPER]}]}},
        [HTTP, {"from": [SCRAPER]}],
    ),
    "nobody": ({"settings": {"listen": ""}}, None),
}


@pytest.mark.parametrize(("values", "rules"), LET_IN.values(), ids=LET_IN.keys())
def test_without_being_asked_it_lets_in_who_asks_for_metrics_and_the_webhook_and_nobody_else(
    helm: Tool, values: dict[str, Any], rules: list[dict[str, Any]] | None
) -> None:
    objects = template(helm, values)

    spec = the(objects, "NetworkPolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress"]
    assert spec.get("ingress") == rules
    assert "egress" not in spec
    labels = the(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert spec["podSelector"] == {"matchLabels": labels}


def test_a_network_policy_can_be_left_out_and_can_say_what_goes_out(helm: Tool) -> None:
    assert of_kind(template(helm, {"networkPolicy": {"enabled": False}}), "NetworkPolicy") == []

    def egress(**more: Any) -> list[dict[str, Any]]:
        values = {"networkPolicy": {"egress": True, "apiServerCIDRs": ["10.0.0.1/32"]}, **more}
        spec = the(template(helm, values), "NetworkPolicy")["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        found: list[dict[str, Any]] = spec["egress"]
        return found

    server = {
        "ports": [{"port": 443}, {"port": 6443}],
        "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
    }
    assert egress(features={"reload": False}) == [server]
    assert egress() == [server, {"to": [{"namespaceSelector": {}}]}]


def test_without_being_asked_it_may_create_and_delete_nothing_of_others(helm: Tool) -> None:
    """Events are its own words; a Secret and a Lease are in its own namespace."""
    rules = the(template(helm, {}), "ClusterRole")["rules"]

    verbs = {
        (resource, verb)
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {one for one in verbs if one[1] not in {"get", "list", "watch", "patch"}} == {
        ("events", "create")
    }


@pytest.mark.parametrize("minor", [30, 36])
def test_pods_of_the_cluster_and_of_the_controller_wait_for_no_rewriting(
    helm: Tool, minor: int
) -> None:
    values = {
        "features": {"revisions": True},
        "pins": {"excludeNamespaces": ["kube-system", "cni"], "namespaceSelector": SELECTOR},
    }
    objects = template(helm, values, "--kube-version", f"1.{minor}.0", home="platform")

    if minor == 36:
        resources = the(objects, "MutatingAdmissionPolicyBinding")["spec"]["matchResources"]
        selector = resources["namespaceSelector"]
    else:
        selector = the(objects, "MutatingWebhookConfiguration")["webhooks"][0]["namespaceSelector"]
    left = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["cni", "kube-system", "platform"],
    }
    assert left in selector["matchExpressions"]
    assert selector["matchLabels"] == SELECTOR["matchLabels"]


def test_the_authority_of_callers_is_a_file_beside_the_settings(helm: Tool) -> None:
    authority = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
    pins = {"pins": {**REVISIONS["pins"], "webhookClientCA": authority}}
    objects = template(helm, {**REVISIONS, **pins})

    data = named(objects, "ConfigMap", "reroll")["data"]
    assert data["client-ca.crt"].strip() == authority.strip()
    mounts = {one["name"]: one["mountPath"] for one in container(objects)["volumeMounts"]}
    settings = yaml.safe_load(data["reroll.yaml"])
    assert settings["webhook-client-ca"] == f"{mounts['config']}/client-ca.crt"

    def pods(values: dict[str, Any]) -> Any:
        return the(template(helm, values), "Deployment")["spec"]["template"]

    assert pods({**REVISIONS, **pins}) != pods(REVISIONS)
