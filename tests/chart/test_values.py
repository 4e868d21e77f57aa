"""Values: wrong ones are told in a sentence, and each of the others is seen in what is made."""

import json
from typing import Any

import pytest
import yaml
from tests.chart.rendered import EVERYTHING, named, of_kind, pod_specs, template, the
from tests.support.chart import CHART, DECIDED
from tests.support.tools import Tool

from reroll.answers.migration.translate import of_values
from reroll.settings.resolve import resolve
from reroll.settings.rows import Setting
from reroll.settings.table import SETTINGS

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a word for a number": ({"replicas": "many"}, "'/replicas': got string, want integer"),
    "a number below": ({"replicas": -1}, "'/replicas': minimum: got -1, want 0"),
    "a value that is none": ({"replica": 1}, "additional properties 'replica' not allowed"),
    "a feature that is none": ({"features": {"x": True}}, "'/features': additional properties 'x'"),
    "a setting that is none": (
        {"settings": {"debonce": "5s"}},
        "'/settings': additional properties 'debonce' not allowed",
    ),
    "a setting of the wrong type": (
        {"settings": {"auto-all": "yes"}},
        "'/settings/auto-all': got string, want boolean",
    ),
    "a duration that is none": ({"settings": {"debounce": "soon"}}, "'/settings/debounce': 'soon'"),
    "a choice that is none": (
        {"settings": {"mounts": "warm"}},
        "'/settings/mounts': value must be one of 'frozen', 'live'",
    ),
    "a kind that is none": ({"settings": {"exclude-kinds": ["Pod"]}}, "value must be one of"),
    "a pull policy that is none": ({"image": {"pullPolicy": "x"}}, "'Always', 'IfNotPresent'"),
    "the values of another chart": ({"reloader": {"autoReloadAll": True}}, "reroll migrate flags"),
    "a setting that another value decides": (
        {"settings": {"features": ["evict"]}},
        "additional properties 'features' not allowed",
    ),
    "a row without its resource": (
        {"settings": {"kinds": [{"kind": "Kafka"}]}},
        "missing property 'resource'",
    ),
    "a policy for some namespaces": (
        {
            "features": {"revisions": True},
            "pins": {"mode": "policy"},
            "settings": {"namespaces": ["a"]},
        },
        "use `template`",
    ),
    "several without a leader": (
        {"replicas": 2, "settings": {"leader-election": False}},
        "use one replica, or elect a leader",
    ),
    "namespaces by name and by label": (
        {"settings": {"namespaces": ["a"], "namespace-selector": "a=b"}},
        "needs to see all namespaces",
    ),
    "a monitor without metrics": (
        {"settings": {"listen": ""}, "podMonitor": {"enabled": True}},
        "there are no metrics to ask for",
    ),
    "one port for two": (
        {"settings": {"listen": ":8081"}},
        "`settings.listen` and `settings.probes` have the same port",
    ),
    "an authority that is none": (
        {"pins": {"webhookClientCA": "ca.crt"}},
        "`pins.webhookClientCA` holds no certificate in PEM",
    ),
    "a monitor without a Service": (
        {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}},
        "use `podMonitor`",
    ),
}


@pytest.mark.parametrize(("values", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_it_is_told_what_is_wrong_with(helm: Tool, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AssertionError) as told:
        template(helm, values)
    assert sentence in str(told.value)


@pytest.mark.parametrize("case", ["a word for a number", "several without a leader"])
def test_the_next_helm_tells_it_too(helm4: Tool, case: str) -> None:
    values, sentence = WRONG[case]
    with pytest.raises(AssertionError) as told:
        template(helm4, values)
    assert sentence in str(told.value)


def settings_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    text = named(objects, "ConfigMap", "reroll")["data"]["reroll.yaml"]
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def given(row: Setting) -> Any:
    """The setting's example, as YAML has it."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    type_ = schema["properties"]["settings"]["properties"][row.key].get("type")
    if type_ is None or "string" in type_:
        return row.about.example
    return row.about.example.split(",") if "array" in type_ else json.loads(row.about.example)


# These two are for looking at some namespaces in two ways.
@pytest.mark.parametrize("without", ["namespaces", "namespace-selector"])
def test_every_setting_can_be_given_and_arrives(helm: Tool, without: str) -> None:
    left = {without, *DECIDED}
    settings = {row.key: given(row) for row in SETTINGS if row.key not in left}

    arrived = settings_of(template(helm, {"replicas": 1, "settings": settings}))

    assert {key: arrived[key] for key in settings} == settings
    assert resolve({}, {}, arrived, "reroll.yaml")


# Kubernetes before the policy, features and the settings that they decide.
DECISIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {"features": ["reload"], "dialects": ["reroll"]}),
    "another tool": ({"dialects": {"wave": True}}, {"dialects": ["reroll", "wave"]}),
    "less": ({"features": {"reload": False}}, {"features": []}),
    "more": (
        {"features": {"evict": True, "recreate": True, "trigger": True}},
        {"features": ["evict", "recreate", "reload", "trigger"]},
    ),
    "injections": ({"features": {"injections": True}}, {"injections": True}),
    "revisions": (
        {"features": {"revisions": True}},
        {
            "features": ["reload", "revisions"],
            "webhook": ":9443",
            "webhook-names": ["reroll-webhook.reroll.svc"],
            "webhook-configuration": "reroll-reroll-pins",
        },
    ),
    "revisions by name": (
        {"features": {"revisions": True}, "pins": {"mode": "template"}},
        {"pins": "template"},
    ),
    "revisions in some namespaces": (
        {"features": {"revisions": True}, "settings": {"namespaces": ["shop"]}},
        {"pins": "template"},
    ),
}


@pytest.mark.parametrize(("values", "expected"), DECISIONS.values(), ids=DECISIONS.keys())
def test_the_controller_is_told_of_its_features(
    helm: Tool, values: dict[str, Any], expected: dict[str, Any]
) -> None:
    settings = settings_of(template(helm, values, "--kube-version", "1.30.0"))

    assert settings.items() >= expected.items()
    assert settings.keys() <= {
        "lease",
        "digest-key",
        "log-format",
        "probes",
        "dialects",
        "features",
        "namespaces",
        *expected,
    }
    assert resolve({}, {}, settings, "reroll.yaml")


@pytest.mark.parametrize(
    ("minor", "served", "made"),
    [
        (28, (), "MutatingWebhookConfiguration"),
        (34, ("v1beta1",), "MutatingWebhookConfiguration"),
        (35, (), "MutatingWebhookConfiguration"),
        # What is served may not be heeded: only its own word counts for a beta.
        (35, ("v1beta1",), "MutatingWebhookConfiguration"),
        (36, (), "v1"),
    ],
)
def test_pods_are_rewritten_by_the_best_that_a_cluster_has_for_sure(
    helm: Tool, minor: int, served: tuple[str, ...], made: str
) -> None:
    found = admission(helm, minor, served)
    policy = [f"{GROUP}/{made}"] * 2
    assert [each["apiVersion"] for each in found] == policy or [each["kind"] for each in found] == [
        made
    ]
    assert all(each["metadata"]["labels"]["reroll.dev/part"] == "pins" for each in found)


def test_a_policy_of_the_beta_can_be_chosen(helm: Tool) -> None:
    found = admission(helm, 35, ("v1beta1",), mode="policy")
    assert [each["apiVersion"] for each in found] == [f"{GROUP}/v1beta1"] * 2


def test_a_policy_whose_expressions_cannot_do_it_is_refused(helm: Tool) -> None:
    with pytest.raises(AssertionError, match="MutatingAdmissionPolicy that can do it"):
        admission(helm, 34, ("v1beta1",), mode="policy")


GROUP = "admissionregistration.k8s.io"


def admission(helm: Tool, minor: int, served: tuple[str, ...], **pins: str) -> list[dict[str, Any]]:
    """What is made for a cluster of this version with these policies."""
    flags = [f"--api-versions={GROUP}/{each}/MutatingAdmissionPolicy" for each in served]
    values = {"features": {"revisions": True}, "pins": pins}
    objects = template(helm, values, "--kube-version", f"1.{minor}.0", *flags)
    return [each for each in objects if each["apiVersion"].startswith(GROUP)]


def test_the_alerts_name_runbooks_where_they_are_and_the_dashboard_is_whole(helm: Tool) -> None:
    objects = template(helm, EVERYTHING)

    alerts = the(objects, "PrometheusRule")["spec"]["groups"][0]["rules"]
    urls = {alert["annotations"]["runbook_url"] for alert in alerts}
    assert all(url.startswith("https://wiki.example/docs/runbooks/") for url in urls)
    dashboard = named(objects, "ConfigMap", "reroll-grafana")
    assert json.loads(dashboard["data"]["reroll.json"])["panels"]


def test_values_of_another_chart_are_values_of_this_one_once_translated(helm: Tool) -> None:
    theirs = {
        "reloader": {
            "autoReloadAll": True,
            "namespaceSelector": "team=shop",
            "ignoreJobs": True,
            "deployment": {
                "replicas": 3,
                "priorityClassName": "system-cluster-critical",
                "pod": {"annotations": {"example.com/a": "b"}},
                "livenessProbe": {"timeoutSeconds": 9},
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
            "serviceMonitor": {"enabled": True, "interval": "1m", "labels": {"release": "p"}},
            "netpol": {"enabled": True, "from": [{"podSelector": {}}]},
            "podDisruptionBudget": {"enabled": True, "maxUnavailable": 2},
        },
        "global": {"imageRegistry": "registry.example", "imagePullSecrets": ["pull"]},
    }

    objects = template(helm, of_values(theirs).chart)

    settings = settings_of(objects)
    assert settings["auto-all"] is True
    assert settings["exclude-kinds"] == ["Job"]
    assert settings["features"] == ["reload", "trigger"]
    deployment = the(objects, "Deployment")
    assert deployment["spec"]["replicas"] == 3
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"].startswith("registry.example/reroll:")
    assert pod["containers"][0]["livenessProbe"]["timeoutSeconds"] == 9
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert the(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 2


def test_everything_at_once_is_made(helm: Tool) -> None:
    objects = template(helm, EVERYTHING)
    deployment = the(objects, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    kinds = {each["kind"] for each in objects}
    assert {"NetworkPolicy", "ServiceMonitor", "PodMonitor", "PodDisruptionBudget"} <= kinds
    assert container["args"][-1] == "--log-level=debug"
    assert {"name": "TZ", "value": "Europe/Oslo"} in container["env"]
    assert container["envFrom"]
    assert {"name": "more", "mountPath": "/more"} in container["volumeMounts"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert all(each["metadata"]["labels"]["example.com/team"] == "platform" for each in objects)


def test_every_pod_is_as_restricted_as_can_be(helm: Tool) -> None:
    specs = list(pod_specs(template(helm, EVERYTHING)))

    assert len(specs) == 2  # the controller, and the test
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]


def test_the_pod_of_the_test_is_no_pod_of_the_controller(helm: Tool) -> None:
    objects = template(helm, {})
    selector = the(objects, "Deployment")["spec"]["selector"]["matchLabels"]

    labels = the(objects, "Pod")["metadata"]["labels"]
    assert any(labels.get(key) != value for key, value in selector.items())
    assert the(objects, "Service")["spec"]["selector"] == selector
    assert the(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == selector


def test_a_changed_setting_changes_the_pods_and_another_value_does_not(helm: Tool) -> None:
    def pods(values: dict[str, Any]) -> Any:
        return the(template(helm, values), "Deployment")["spec"]["template"]

    assert pods({}) == pods({"service": {"port": 80}})
    assert pods({}) != pods({"settings": {"debounce": "5s"}})


def test_a_policy_that_a_cluster_does_not_serve_is_told(helm: Tool) -> None:
    values = {"features": {"revisions": True}, "pins": {"mode": "policy"}}
    with pytest.raises(AssertionError) as told:
        template(helm, values, "--kube-version", "1.30.0")
    assert "serves no MutatingAdmissionPolicy" in str(told.value)


def test_one_replica_has_no_disruption_budget(helm: Tool) -> None:
    assert of_kind(template(helm, {"replicas": 1}), "PodDisruptionBudget") == []


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({}, "reroll:"),
        ({"tag": "1.2"}, "reroll:1.2"),
        ({"registry": "a.example"}, "a.example/reroll:"),
        ({"digest": f"sha256:{'a' * 64}", "tag": "1"}, f"reroll@sha256:{'a' * 64}"),
    ],
)
def test_the_image_is(helm: Tool, values: dict[str, Any], image: str) -> None:
    (container,) = the(template(helm, {"image": values}), "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"].startswith(image)
