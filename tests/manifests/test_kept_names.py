"""Which sources `--names` renames by default, what keeps a name as it is, and how that is said."""

import copy
from typing import Any

import pytest
from tests.manifests.manifests import (
    checksum,
    configmap,
    deployment,
    env_from,
    objects,
    pick,
    rendered,
    secret,
    stream,
)
from tests.support.command import reroll

APP = env_from("ConfigMap", "app")
WEB = deployment("web", APP)
RBAC = "rbac.authorization.k8s.io/v1"


def made(version: str, kind: str, name: str = "x", **body: Any) -> dict[str, Any]:
    metadata = {"name": name, **body.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def kept(*parts: dict[str, Any]) -> str:
    """What is said when `app` keeps its name; empty if it gets a new one."""
    end = reroll("render", "--names", input=stream(*parts))
    assert end.code == 0, end.err
    config = next(each for each in objects(end.out) if each["kind"] in {"ConfigMap", "Secret"})
    name = config["metadata"]["name"]
    used = [each for each in objects(end.out) if each["kind"] == "Deployment"]
    assert not used or name in str(used[0]), "no reference is left behind"
    if name != "app":
        assert end.err == ""
        return ""
    assert "immutable" not in config
    again = reroll("render", "--names", input=end.out)
    assert again.out == end.out
    return end.err


def test_a_source_that_pods_use_and_nothing_else_gets_a_new_name() -> None:
    account = made("v1", "ServiceAccount", "web")
    service = made("v1", "Service", "app", spec={"selector": {"app": "app"}})
    assert kept(configmap(), WEB, account, service) == ""


def test_a_source_that_no_pod_template_refers_to_keeps_its_name() -> None:
    text = stream(configmap("b"), secret("c"), configmap(), WEB)
    end = reroll("render", "--names", "--summary", input=text)
    assert pick(end.out, "Secret")["metadata"] == {"name": "c"}
    assert end.err.startswith(
        "reroll: note: name kept, because no pod template here refers to it: ConfigMap b, "
        "Secret c\n"
    )
    assert "Secret c: keeps its name: no pod template here refers to it\n" in end.err


@pytest.mark.parametrize("data", [{}, {"tls.crt": "", "tls.key": ""}], ids=["no keys", "no values"])
def test_an_empty_source_keeps_its_name_because_something_may_fill_it(data: dict[str, str]) -> None:
    said = kept(configmap(data=data), WEB)
    assert said.startswith("reroll: note: name kept, because it has no data, so that something may")


def pod(**container: Any) -> dict[str, Any]:
    return deployment(pod={"containers": [{"name": "c", "envFrom": [APP], **container}]})


MENTIONED: dict[str, dict[str, Any]] = {
    "an argument": {"args": ["--configmap=app"]},
    "an argument with a namespace": {"args": ["--configmap=$(POD_NAMESPACE)/app"]},
    "the argument after a flag": {"args": ["--configmap", "app"]},
    "a command": {"command": ["sh", "-c", "kubectl get configmap app -o yaml"]},
    "an argument with a prefix": {"args": ["--source=config-map:prod/app"]},
    "a kind and a name": {"args": ["get", "configmap/app"]},
    "a variable": {"env": [{"name": "CONFIG_MAP_NAME", "value": "app"}]},
    "a list in a variable": {"env": [{"name": "ALL", "value": "other, app"}]},
}


@pytest.mark.parametrize("container", MENTIONED.values(), ids=MENTIONED)
def test_an_argument_or_a_variable_that_holds_the_name_keeps_it(container: dict[str, Any]) -> None:
    said = kept(configmap(), pod(**container))
    assert said.startswith("reroll: note: <stdin>:")
    assert "Deployment web has it in " in said
    assert said.endswith("; ConfigMap app keeps its name, unless it has reroll.dev/names: always\n")


SOMETHING_ELSE: dict[str, dict[str, Any]] = {
    "a program": {"command": ["app", "--verbose"]},
    "a path": {"args": ["--config=/etc/app/app.yaml", "/usr/bin/app"]},
    "a host": {"env": [{"name": "URL", "value": "http://app:8080/app"}]},
    "a host and a port": {"args": ["app:8080"]},
    "a longer name": {"args": ["--configmap=app-other", "--secret=my-app"]},
    "a service": {"args": ["--publish-service=app"], "env": [{"name": "DB_HOST", "value": "app"}]},
    "a user": {"env": [{"name": "POSTGRES_USER", "value": "app"}]},
}


@pytest.mark.parametrize("container", SOMETHING_ELSE.values(), ids=SOMETHING_ELSE)
def test_what_means_something_else_of_that_name_does_not_count(container: dict[str, Any]) -> None:
    assert kept(configmap(), pod(**container)) == ""


def test_a_label_by_which_programs_look_for_sources_keeps_the_name() -> None:
    labelled = configmap(labels={"grafana_dashboard": "1", "app": "x"})
    sidecar = pod(env=[{"name": "LABEL", "value": "grafana_dashboard"}])
    assert "looks for sources with the label grafana_dashboard" in kept(labelled, sidecar)
    common = {**pod(args=["app"]), "metadata": {"name": "web", "labels": {"app": "x"}}}
    assert kept(configmap("app", labels={"other": "1"}), {**common, "spec": WEB["spec"]}) == ""


def role(kind: str = "Role", **rule: Any) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], **rule}]
    return made(RBAC, kind, "reader", rules=rules)


def binding(kind: str = "RoleBinding", role_: str = "Role", **of: Any) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": "web", **of}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_, "name": "reader"}
    return made(RBAC, kind, "reader", roleRef=ref, subjects=[subject])


def test_a_role_that_names_it_keeps_the_name() -> None:
    said = kept(configmap(), WEB, role(resourceNames=["app"]))
    assert "Role reader gives access to it by name; ConfigMap app keeps its name" in said
    assert kept(configmap(), WEB, role(resourceNames=["other"]), binding()) == ""
    assert kept(configmap(), WEB, role(resources=["pods"]), binding()) == ""


def test_a_service_account_that_may_read_all_sources_keeps_the_names() -> None:
    """Argo CD: it has the names in its code, and finds its sources with a label of its own."""
    said = kept(configmap(), WEB, role(verbs=["list", "watch"]), binding())
    assert "RoleBinding reader lets ServiceAccount web read every ConfigMap there" in said
    assert kept(configmap(), WEB, role()) == "", "a role that nobody has"
    group = {"kind": "Group", "name": "system:serviceaccounts:prod"}
    said = kept(configmap(), WEB, role(), {**binding(), "subjects": [group]})
    assert "lets Group system:serviceaccounts:prod read every ConfigMap there" in said
    people = {**binding(), "subjects": [{"kind": "User", "name": "jo"}]}
    assert kept(configmap(), WEB, role(), people) == ""
    assert kept(configmap(), WEB, role(resources=["secrets"]), binding()) == ""
    everything = role("ClusterRole", apiGroups=["*"], resources=["*"], verbs=["*"])
    cluster = binding("ClusterRoleBinding", "ClusterRole", namespace="a")
    here = {"namespace": "a"}
    assert kept(configmap(**here), deployment("web", APP, **here), everything, cluster)
    other = {"namespace": "b"}
    assert kept(configmap(**other), deployment("web", APP, **other), everything, cluster) == ""


def custom(spec: Any, **metadata: Any) -> dict[str, Any]:
    return made("example.com/v1", "Machine", spec=spec, metadata=metadata)


OLD = deployment("old", env_from("Secret", "app"))
CUSTOM: dict[str, dict[str, Any]] = {
    "a name": custom({"credentialName": "app"}),
    "a reference": custom({"refs": [{"kind": "Secret", "name": "app"}]}),
    "a reference in another namespace": custom(
        {"ref": {"name": "app", "namespace": "prod"}}, namespace="other"
    ),
    "a field that says nothing": custom({"values": ["x", "app"]}),
    "an annotation": custom({}, annotations={"example.com/secret": "prod/app"}),
    "a gateway of Istio": made(
        "networking.istio.io/v1", "Gateway", spec={"servers": [{"tls": {"credentialName": "app"}}]}
    ),
    "a policy of the Gateway API": made(
        "gateway.networking.k8s.io/v1",
        "BackendTLSPolicy",
        spec={"validation": {"caCertificateRefs": [{"kind": "Secret", "name": "app"}]}},
    ),
    "a gateway": made(
        "gateway.networking.k8s.io/v1",
        "Gateway",
        spec={"listeners": [{"tls": {"certificateRefs": [{"name": "app"}]}}]},
    ),
    "an Ingress": made("networking.k8s.io/v1", "Ingress", spec={"tls": [{"secretName": "app"}]}),
    "a StorageClass": made(
        "storage.k8s.io/v1",
        "StorageClass",
        parameters={"csi.storage.k8s.io/node-stage-secret-name": "app"},
    ),
    "a PersistentVolume": made(
        "v1", "PersistentVolume", spec={"csi": {"nodeStageSecretRef": {"name": "app"}}}
    ),
    "arguments of a custom resource": custom({"container": {"args": ["--secret=app"]}}),
    "a Deployment of an old group": made(
        "extensions/v1beta1",
        "Deployment",
        "old",
        spec=deployment("o", env_from("Secret", "app"))["spec"],
    ),
}


@pytest.mark.parametrize("other", CUSTOM.values(), ids=CUSTOM)
def test_what_something_else_names_keeps_its_name(other: dict[str, Any]) -> None:
    web = deployment("web", env_from("Secret", "app"), namespace="prod")
    other["metadata"].setdefault("namespace", "prod")
    said = kept(secret("app", namespace="prod"), web, other)
    assert said.startswith("reroll: note: <stdin>:")
    assert "; Secret prod/app keeps its name, unless it has reroll.dev/names: always\n" in said


NOT_NAMED: dict[str, dict[str, Any]] = {
    "labels": custom({"selector": {"matchLabels": {"app": "app"}}}),
    "another kind": custom({"scaleTargetRef": {"kind": "Deployment", "name": "app"}}),
    "a source of the other kind": custom({"configMapName": "app"}),
    "a service": custom({"service": {"name": "app"}}),
    "its own name": made("example.com/v1", "Machine", "app"),
    "another namespace": custom({"secretName": "app"}, namespace="other"),
    "a schema": made("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"secret": "app"}),
}


@pytest.mark.parametrize("other", NOT_NAMED.values(), ids=NOT_NAMED)
def test_what_cannot_mean_it_does_not_count(other: dict[str, Any]) -> None:
    web = deployment("web", env_from("Secret", "app"), namespace="prod")
    other["metadata"].setdefault("namespace", "prod")
    assert kept(secret("app", namespace="prod"), web, other) == ""


JOB = {**deployment("migrate", APP), "apiVersion": "batch/v1", "kind": "Job"}
FROZEN = {
    "Job": JOB,
    "Pod": made("v1", "Pod", "shell", spec=WEB["spec"]["template"]["spec"]),
}


@pytest.mark.parametrize("kind", FROZEN)
def test_what_cannot_be_changed_in_the_cluster_keeps_the_name(kind: str) -> None:
    frozen = copy.deepcopy(FROZEN[kind])
    said = kept(configmap(), WEB, frozen)
    assert f"a {kind} cannot be changed once it is in the cluster; ConfigMap app keeps" in said
    frozen["metadata"]["annotations"] = {"helm.sh/hook": "pre-upgrade"}
    assert kept(configmap(), WEB, frozen) == ""
    frozen["metadata"] = {"generateName": "one-"}
    assert kept(configmap(), WEB, frozen) == ""


@pytest.mark.parametrize("kind", FROZEN)
def test_what_cannot_be_changed_and_has_to_follow_is_noted(kind: str) -> None:
    end = reroll("render", "--all-names", input=stream(configmap(), FROZEN[kind]))
    name = pick(end.out, "ConfigMap")["metadata"]["name"]
    assert name in str(pick(end.out, kind)), "no reference is left behind"
    assert end.err.startswith("reroll: note: <stdin>:")
    assert f"ConfigMap app is now {name}; delete the {kind} before each deploy that" in end.err


def test_what_keeps_its_name_still_has_a_checksum() -> None:
    text = rendered(stream(configmap(), pod(args=["--configmap=app"])), names=True)
    assert checksum(text)


@pytest.mark.parametrize("word", ["always", "true"])
def test_an_annotation_gives_a_new_name_whatever_uses_it(word: str) -> None:
    wish = configmap(annotations={"reroll.dev/names": word})
    end = reroll("render", input=stream(wish, pod(args=["--configmap=app"])))
    name = pick(end.out, "ConfigMap")["metadata"]["name"]
    assert name != "app"
    assert "Deployment web has it in an argument; ConfigMap app is now " + name in end.err


@pytest.mark.parametrize("word", ["never", "false"])
def test_an_annotation_keeps_the_name_whatever_is_asked_for(word: str) -> None:
    wish = configmap(annotations={"reroll.dev/names": word})
    for flag in ("--names", "--all-names"):
        end = reroll("render", flag, input=stream(wish, WEB))
        assert pick(end.out, "ConfigMap")["metadata"]["name"] == "app"


def test_a_flag_gives_everything_a_new_name() -> None:
    role_ = role(resourceNames=["app"])
    end = reroll("render", "--all-names", input=stream(configmap(), secret(), role_))
    assert end.err == "", "a role follows"
    name = pick(end.out, "ConfigMap")["metadata"]["name"]
    assert name != "app"
    assert pick(end.out, "Role")["rules"][0]["resourceNames"] == [name]
    assert pick(end.out, "Secret")["metadata"]["name"] != "db"


# The shapes of programs that many people install


def unchanged(*parts: dict[str, Any]) -> bool:
    """Whether every source keeps its name and stays writable."""
    before = [(each["kind"], each["metadata"]["name"]) for each in parts]
    after = objects(rendered(stream(*parts), names=True))
    now = [(each["kind"], each["metadata"]["name"]) for each in after]
    return now == before and not any(each.get("immutable") for each in after)


def mounting(name: str, *sources: dict[str, Any], **container: Any) -> dict[str, Any]:
    """A Deployment with these volumes and an account of its own."""
    volumes = [{"name": f"v{n}", **each} for n, each in enumerate(sources)]
    mounts = [{"name": each["name"], "mountPath": each["name"]} for each in volumes]
    pod = {"containers": [{"name": "c", "volumeMounts": mounts, **container}], "volumes": volumes}
    return deployment(name, pod={**pod, "serviceAccountName": "web"})


def test_the_shape_of_argo_cd_keeps_its_names() -> None:
    """Names in its code, a Secret that it fills, ConfigMaps that it mounts and edits itself."""
    part = {"labels": {"app.kubernetes.io/part-of": "argocd"}}
    assert unchanged(
        configmap("argocd-cm", data={}, **part),
        {**secret("argocd-secret", **part), "data": None},
        configmap("argocd-known-hosts", data={"ssh_known_hosts": "x"}, **part),
        mounting("argocd-server", {"configMap": {"name": "argocd-known-hosts"}}),
        role(resources=["secrets", "configmaps"]),
        binding(),
    )


def test_the_shape_of_ingress_nginx_keeps_its_names() -> None:
    """A ConfigMap that an argument names, a Secret that a Job makes, Jobs that stay as they are."""
    job = {**mounting("admission-create", args=["create", "--secret-name=admission"])}
    parts = (
        configmap("controller", data={"allow-snippets": "false"}),
        mounting(
            "controller",
            {"secret": {"secretName": "admission"}},
            args=["/controller", "--configmap=$(POD_NAMESPACE)/controller"],
        ),
        {**job, "apiVersion": "batch/v1", "kind": "Job"},
    )
    assert unchanged(*parts)
    assert rendered(stream(*parts), names=True) == rendered(stream(*parts)) == stream(*parts)


def test_the_shape_of_metallb_keeps_its_names() -> None:
    """A Secret for a certificate that its controller fills, a ConfigMap that it may read."""
    assert unchanged(
        {**secret("webhook-cert"), "data": None},
        configmap("exclude", data={"exclude.yaml": "announced: []"}),
        mounting(
            "controller",
            {"secret": {"secretName": "webhook-cert"}},
            {"configMap": {"name": "exclude"}},
        ),
        role(resources=["configmaps"], verbs=["get", "list", "watch"]),
        binding(),
    )


def test_the_shape_of_knative_keeps_its_names() -> None:
    """ConfigMaps whose names are in variables or in code, and a Secret that its webhook fills."""
    variables = [{"name": "CONFIG_LOGGING_NAME", "value": "config-logging"}]
    assert unchanged(
        configmap("config-logging", data={"_example": "loglevel: info"}),
        configmap("config-gc", data={"_example": "min: 1"}),
        {**secret("webhook-certs"), "data": None},
        mounting("webhook", {"configMap": {"name": "config-logging"}}, env=variables),
    )
