"""The dashboard in the chart: off unless asked for, and with no more rights than it needs."""

from typing import Any

import pytest
from tests.chart.rendered import granted, named, of_kind, template
from tests.support import dashboard_rights
from tests.support.tools import Tool

NAME = "reroll-dashboard"
ROLE = "reroll-reroll-dashboard"
PROXY = {"auth": "proxy", "proxy": {"from": ["10.0.0.0/24"]}}
AUTHS: dict[str, dict[str, Any]] = {
    "token": {"auth": "token"},
    "proxy": PROXY,
    "none": {"auth": "none"},
}


def with_dashboard(helm: Tool, values: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return template(helm, {"dashboard": {"enabled": True, **values}, **more})


def pod_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = named(objects, "Deployment", NAME)["spec"]["template"]["spec"]
    return spec


def test_without_being_asked_for_there_is_none(helm: Tool) -> None:
    there = [one for one in template(helm, {}) if "dashboard" in one["metadata"]["name"]]
    assert there == []


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "`dashboard.auth` has to say whose rights"),
        ({"auth": "proxy"}, "say from which addresses with `dashboard.proxy.from`"),
        ({"auth": "everybody"}, "value must be one of"),
        ({"auth": "token", "publicURLs": ["reroll.example.com"]}, "does not match pattern"),
        ({"auth": "token", "labels": {"grafana_dashboard": "1"}}, "'labels' not allowed"),
    ],
)
def test_what_cannot_be_is_a_sentence(helm: Tool, values: dict[str, Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        with_dashboard(helm, values)


@pytest.mark.parametrize("auth", AUTHS)
def test_its_rights_are_those_of_the_way_people_come_in(helm: Tool, auth: str) -> None:
    objects = with_dashboard(helm, AUTHS[auth])

    everywhere, own = dashboard_rights.rules(auth, "reroll-digest-key", "reroll")
    mine = granted(named(objects, "ClusterRole", ROLE)["rules"])
    assert mine == granted(everywhere)
    assert granted(named(objects, "Role", NAME)["rules"]) == granted(own)
    assert ("", "users", "", "impersonate") in mine or auth != "proxy"
    verbs = {verb for *_, verb in mine} - ({"impersonate"} if auth == "proxy" else set())
    assert verbs <= {"get", "list"}
    assert "secrets" not in {resource for _, resource, *_ in mine}
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        [binding] = [
            one for one in of_kind(objects, kind) if "dashboard" in one["metadata"]["name"]
        ]
        assert [one["name"] for one in binding["subjects"]] == [NAME]


@pytest.mark.parametrize("auth", AUTHS)
def test_where_some_namespaces_count_it_has_rights_there_alone(helm: Tool, auth: str) -> None:
    objects = with_dashboard(helm, AUTHS[auth], settings={"namespaces": ["shop"]})

    roles = [one for one in of_kind(objects, "ClusterRole") if one["metadata"]["name"] == ROLE]
    allowed = {right for role in roles for right in granted(role["rules"])}
    assert {verb for *_, verb in allowed} == ({"impersonate"} if auth == "proxy" else set())
    there = [one for one in of_kind(objects, "Role") if one["metadata"]["name"] == ROLE]
    assert [one["metadata"]["namespace"] for one in there] == (["shop"] if auth == "none" else [])


def test_it_acts_only_as_those_who_are_named(helm: Tool) -> None:
    values = {"auth": "proxy", "proxy": {"from": ["::1"], "users": ["alice"], "groups": ["shop"]}}
    objects = with_dashboard(helm, values)

    rules = granted(named(objects, "ClusterRole", ROLE)["rules"])
    acting = {right for right in rules if right[3] == "impersonate"}
    assert acting == {("", "users", "alice", "impersonate"), ("", "groups", "shop", "impersonate")}
    assert "--proxy-group=shop" in pod_of(objects)["containers"][0]["args"]


def test_excluded_kinds_and_added_ones_are_seen_in_its_rights(helm: Tool) -> None:
    kind = {"kind": "Kafka", "group": "kafka.strimzi.io", "resource": "kafkas"}
    settings = {"exclude-kinds": ["CronJob"], "kinds": [kind]}
    objects = with_dashboard(helm, {"auth": "none"}, settings=settings)

    rules = granted(named(objects, "ClusterRole", ROLE)["rules"])
    resources = {resource for _, resource, *_ in rules}
    assert "cronjobs" not in resources
    assert {right[3] for right in rules if right[1] == "kafkas"} == {"get", "list"}


def test_its_pod_is_restricted_and_has_an_account_of_its_own(helm: Tool) -> None:
    pod = pod_of(with_dashboard(helm, {"auth": "token"}))
    [container] = pod["containers"]

    assert pod["serviceAccountName"] == NAME
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["args"][:2] == ["dashboard", "--auth=token"]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "dashboard"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "dashboard"}


def test_its_values_are_seen_in_the_pod(helm: Tool) -> None:
    values = {
        **PROXY,
        "publicURLs": ["https://reroll.example.com"],
        "tlsSecret": "its-tls",
        "readOnly": True,
        "proxy": {**PROXY["proxy"], "secret": "its-word", "userHeader": "Remote-User"},  # type: ignore[dict-item]
        "extraContainers": [{"name": "oauth2-proxy", "image": "oauth2-proxy"}],
        "service": {"port": 443, "targetPort": 4180},
        "networkPolicy": {"from": [{"namespaceSelector": {}}]},
    }
    objects = with_dashboard(helm, values)
    pod = pod_of(objects)
    args = pod["containers"][0]["args"]

    assert "--public-url=https://reroll.example.com" in args
    assert "--proxy-from=10.0.0.0/24" in args
    assert "--proxy-user-header=Remote-User" in args
    assert "--read-only" in args
    files = [arg.partition("=")[2] for arg in args if "-file=" in arg]
    mounts = [one["mountPath"] for one in pod["containers"][0]["volumeMounts"]]
    assert all(any(file.startswith(f"{mount}/") for mount in mounts) for file in files)
    assert {"its-tls", "its-word"} <= {
        one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one
    }
    assert [one["name"] for one in pod["containers"]] == ["dashboard", "oauth2-proxy"]
    assert named(objects, "Service", NAME)["spec"]["ports"][0]["targetPort"] == 4180
    [rule] = named(objects, "NetworkPolicy", NAME)["spec"]["ingress"]
    assert rule == {"ports": [{"port": 4180}], "from": [{"namespaceSelector": {}}]}


def test_nobody_is_let_in_unless_named_and_it_gets_out_to_the_api_server_alone(helm: Tool) -> None:
    network = {"apiServerCIDRs": ["10.0.0.1/32"]}
    objects = with_dashboard(helm, {"auth": "token"}, networkPolicy=network)
    spec = named(objects, "NetworkPolicy", NAME)["spec"]

    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in spec
    assert [list(rule) for rule in spec["egress"]] == [["ports", "to"]]
    assert spec["egress"][0]["to"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "dashboard"


def test_the_service_of_the_controller_does_not_lead_to_it(helm: Tool) -> None:
    objects = with_dashboard(helm, {"auth": "token"})
    labels = named(objects, "Deployment", NAME)["spec"]["template"]["metadata"]["labels"]
    selector = named(objects, "Service", "reroll")["spec"]["selector"]
    assert not selector.items() <= labels.items()
