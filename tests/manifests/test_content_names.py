"""Content names: who gets one, what it looks like, and that every reference follows."""

import re

import pytest
import yaml
from tests.manifests.manifests import (
    as_json,
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

from reroll.core.model.podspec import PodTemplate
from reroll.core.revisions.content_names import CONTENT_OF, KEPT_BY_TOOLS
from reroll.core.tables.fields import FIELDS, POD_FIELDS, PODS, WITHOUT_NAMESPACE
from reroll.core.tables.kinds import EACH, KINDS
from reroll.manifests.model import BadInputError
from reroll.manifests.options import Hash

APP = env_from("ConfigMap", "app")


def named(*objects, **options) -> str:
    """With a new name for everything, so that no test has to have a pod that uses it."""
    return rendered(stream(*objects), names=True, all_names=True, **options)


def name_of(text: str, kind: str = "ConfigMap") -> str:
    return pick(text, kind)["metadata"]["name"]


def test_a_source_becomes_an_immutable_content_of_its_name() -> None:
    found = pick(named(configmap(labels={"x": "y"})), "ConfigMap")
    assert re.fullmatch(r"app-[0-9a-f]{10}", found["metadata"]["name"])
    assert found["immutable"] is True
    assert found["metadata"]["labels"] == {"x": "y", CONTENT_OF: "app"}
    assert found["metadata"]["annotations"] == KEPT_BY_TOOLS


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ("ServerSideApply=true", "ServerSideApply=true,Prune=false"),
        ("Validate=false, Force=true", "Validate=false,Force=true,Prune=false"),
        ("Prune=true", "Prune=true"),
        ("", "Prune=false"),
    ],
)
def test_options_for_argo_cd_that_a_source_has_stay_beside_ours(options: str, written: str) -> None:
    own = {"argocd.argoproj.io/sync-options": options, "helm.sh/resource-policy": "delete"}
    found = pick(named(configmap(annotations=own)), "ConfigMap")
    assert found["metadata"]["annotations"] == {
        **KEPT_BY_TOOLS,
        "argocd.argoproj.io/sync-options": written,
        "helm.sh/resource-policy": "delete",
    }


def test_argo_cd_is_not_out_of_sync_for_a_content_that_the_deploy_has_no_more() -> None:
    """What it may not prune, it else tells as a difference for ever."""
    found = pick(named(configmap()), "ConfigMap")["metadata"]["annotations"]
    assert found["argocd.argoproj.io/sync-options"] == "Prune=false"
    assert found["argocd.argoproj.io/compare-options"] == "IgnoreExtraneous"


def test_the_name_changes_with_the_content_only_and_comes_back() -> None:
    first = name_of(named(configmap()))
    assert name_of(named(configmap(data={"a": "2"}))) != first
    assert name_of(named(configmap(labels={"x": "y"}))) == first


def test_a_template_that_names_contents_needs_no_checksum() -> None:
    text = named(configmap(), deployment("web", APP))
    assert checksum(text) is None
    (found,) = pick(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert found["envFrom"] == [env_from("ConfigMap", name_of(text))]


def test_a_source_decides_for_itself() -> None:
    out = {"reroll.dev/names": "never"}
    text = named(configmap(annotations=out), secret(), deployment("web", APP))
    assert name_of(text) == "app"
    assert name_of(text, "Secret") != "db"
    assert checksum(text), "what keeps its name still counts"
    wish = {"reroll.dev/names": "always"}
    text = rendered(stream(configmap(annotations=wish), secret(), deployment("web", APP)))
    assert name_of(text) != "app"
    assert name_of(text, "Secret") == "db"


def test_a_wish_in_escaped_json_is_heard_too() -> None:
    text = as_json(configmap(annotations={"reroll.dev/names": "true"}), deployment("web", APP))
    end = reroll("render", input=text.replace("reroll.dev/", "reroll.dev\\/"))
    assert name_of(end.out) != "app"
    (container,) = pick(end.out, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [env_from("ConfigMap", name_of(end.out))]


def test_a_field_that_nobody_described_is_noted() -> None:
    def note(**spec) -> str:
        machine = {"apiVersion": "example.com/v1", "kind": "Machine", "metadata": {"name": "m"}}
        text = stream(configmap(), {**machine, "spec": spec}, deployment("web", APP))
        end = reroll("render", "--all-names", input=text)
        assert end.code == 0
        return end.err

    assert note(files=[{"configMapRef": {"name": "app"}}]).startswith(
        "reroll: note: <stdin>:15:13: Machine m names it in spec.files.configMapRef.name, which is "
        "not known; ConfigMap app is now app-"
    )
    assert note(configMapName="app").count("note:") == 1
    assert note(configMapName="other", serviceName="app", secretName="app") == ""


def test_a_bad_wish_is_told() -> None:
    with pytest.raises(BadInputError, match='neither "always" nor "never"'):
        named(configmap(annotations={"reroll.dev/names": "yes"}))


@pytest.mark.parametrize("hash_", Hash)
def test_a_second_run_changes_nothing(hash_: Hash) -> None:
    once = named(configmap(), secret(), deployment("web", APP), hash=hash_)
    assert rendered(once, names=True, hash=hash_) == once
    assert rendered(once) == once or checksum(rendered(once))


def test_content_that_was_changed_by_hand_gets_another_hash_and_no_second_one() -> None:
    once = named(configmap(), deployment("web", APP))
    twice = rendered(once.replace("a: '1'", "a: '2'"), names=True)
    assert len(twice) == len(once)
    assert name_of(twice) == name_of(named(configmap(data={"a": "2"})))


def test_a_name_that_is_too_long_is_shortened_and_like_no_other() -> None:
    first, second = "a" * 252 + "1", "a" * 252 + "2"
    text = named(configmap(first), configmap(second))
    found = [each["metadata"]["name"] for each in objects(text)]
    assert len(set(found)) == 2
    assert all(len(name) <= 253 for name in found)
    assert all(len(each["metadata"]["labels"][CONTENT_OF]) <= 63 for each in objects(text))
    assert rendered(text, names=True) == text


def test_a_secret_that_is_looked_for_by_its_name_keeps_it() -> None:
    token = secret(type="kubernetes.io/service-account-token")
    assert name_of(named(token), "Secret") == "db"


def test_the_same_name_in_two_namespaces_is_followed_apart() -> None:
    text = named(
        configmap(namespace="a"),
        configmap(namespace="b"),
        deployment("one", APP, namespace="a"),
        deployment("two", APP, namespace="b"),
    )
    found = {o["metadata"]["namespace"]: o["metadata"]["name"] for o in objects(text)[:2]}
    for each in objects(text)[2:]:
        (container,) = each["spec"]["template"]["spec"]["containers"]
        name = container["envFrom"][0]["configMapRef"]["name"]
        assert name == found[each["metadata"]["namespace"]]


def _holding(path: tuple[str, ...], value: str) -> object:
    """An object with a value at a path, and with what else it needs on the way."""
    made: object = value
    for step in reversed(path):
        if step == EACH:
            made = [{"name": "it", **made} if isinstance(made, dict) else made]
        else:
            made = {step: {**made, "key": "k"} if step.endswith("KeyRef") else made}
    return made


def _at(found: object, path: tuple[str, ...]) -> object:
    for step in path:
        found = found[0] if step == EACH else found[step]
    return found


POD_PLACES = [
    *((kind.group, kind.name, (*kind.template, "spec")) for kind in KINDS),
    *PODS,
]


@pytest.mark.parametrize("place", POD_PLACES, ids=lambda place: place[1])
def test_every_field_of_every_pod_follows(place) -> None:
    group, kind, path = place
    for field in POD_FIELDS:
        full = (*path, *field.path)
        holder = {"apiVersion": f"{group}/v1".strip("/"), "kind": kind, "metadata": {"name": "w"}}
        holder |= _holding(full, "x")
        made = configmap("x") if field.source == "ConfigMap" else secret("x")
        for text in (named(made, holder), named(holder, made)):
            new = name_of(text, field.source)
            assert new != "x"
            assert _at(pick(text, kind), full) == new


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind[1])
def test_every_field_of_other_kinds_follows(kind) -> None:
    for field in FIELDS[kind]:
        holder = {"apiVersion": f"{kind[0]}/v1".strip("/"), "kind": kind[1], "metadata": {}}
        made = _holding(field.path, "x")
        holder = {**holder, **made}
        holder["metadata"] = {**made.get("metadata", {}), "name": "w"}
        if field.among[0]:
            holder["rules"][0]["resources"] = [field.among[1]]
        source = configmap("x") if field.source == "ConfigMap" else secret("x")
        text = named(source, holder)
        assert _at(pick(text, kind[1]), field.path) == name_of(text, field.source)


def test_the_fields_of_a_pod_are_at_least_those_that_the_engine_knows() -> None:
    """Whatever `references` can find a name in, a rename reaches too."""
    found = set()

    def walk(type_, path: tuple[str, ...]) -> None:
        import typing

        import msgspec

        if origin := typing.get_origin(type_):
            args = [a for a in typing.get_args(type_) if a is not type(None)]
            for arg in args:
                walk(arg, (*path, EACH) if origin is list else path)
        elif isinstance(type_, type) and issubclass(type_, msgspec.Struct):
            for field in msgspec.structs.fields(type_):
                walk(field.type, (*path, field.encode_name))
        elif path[-1] in {"name", "secretName"} and len(path) > 4:
            found.add(path[1:])

    walk(PodTemplate, ())
    names = {
        path for path in found if any(s.lower().startswith(("configmap", "secret")) for s in path)
    }
    assert len(names) > 8
    assert names <= {field.path for field in POD_FIELDS}


def test_a_role_for_something_else_of_that_name_is_left_alone() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    role["rules"] = [{"resources": ["pods"], "resourceNames": ["app"]}]
    assert pick(named(configmap(), role), "Role")["rules"] == role["rules"]


def test_an_annotation_of_an_ingress_may_name_the_namespace_too() -> None:
    key = "nginx.ingress.kubernetes.io/auth-tls-secret"
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    ingress["metadata"] = {"name": "i", "namespace": "web", "annotations": {key: "ca/tls"}}
    text = named(secret("tls", namespace="ca"), ingress)
    found = pick(text, "Ingress")["metadata"]["annotations"][key]
    assert found == f"ca/{name_of(text, 'Secret')}"


def test_a_cluster_wide_object_may_mean_any_namespace() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    role |= {"metadata": {"name": "r"}}
    role["rules"] = [{"resources": ["configmaps"], "resourceNames": ["app", "other"]}]
    text = named(configmap(namespace="b"), role, namespace="a")
    assert pick(text, "ClusterRole")["rules"][0]["resourceNames"] == [name_of(text), "other"]


def test_a_namespace_beside_a_name_counts() -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    volume["spec"] = {"csi": {"nodePublishSecretRef": {"name": "db", "namespace": "b"}}}
    text = named(secret(namespace="a"), secret(namespace="b"), volume)
    new = {o["metadata"]["namespace"]: o["metadata"]["name"] for o in objects(text)[:2]}
    found = pick(text, "PersistentVolume")["spec"]["csi"]["nodePublishSecretRef"]
    assert found == {"name": new["b"], "namespace": "b"}


def test_a_cluster_wide_object_that_may_mean_several_is_refused() -> None:
    assert "ClusterRole" in WITHOUT_NAMESPACE
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    role |= {"metadata": {"name": "r"}}
    role["rules"] = [{"resources": ["configmaps"], "resourceNames": ["app"]}]
    with pytest.raises(BadInputError, match="which several namespaces have"):
        named(configmap(namespace="a"), configmap(namespace="b", data={"a": "2"}), role)


def test_references_in_json_and_in_lists_follow_too() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [deployment("web", APP), configmap()]}
    text = rendered(as_json(listed, indent=2), names=True)
    (container,) = pick(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [env_from("ConfigMap", name_of(text))]


def test_what_is_shared_by_an_anchor_follows_in_each_place() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      initContainers:
      - name: a
        envFrom: &from
        - configMapRef: {name: app}
      containers:
      - name: b
        envFrom: *from
---
"""
    after = rendered(text + stream(configmap()), names=True)
    spec = pick(after, "Deployment")["spec"]["template"]["spec"]
    assert spec["containers"][0]["envFrom"] == [env_from("ConfigMap", name_of(after))]
    assert spec["initContainers"][0]["envFrom"] == spec["containers"][0]["envFrom"]
    assert "envFrom: *from" in after


def test_a_name_that_is_an_alias_is_written_out() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {labels: {app: &app app}, name: *app}
  data: {a: b}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: *app}
  spec: {template: {spec: {containers: [{name: *app, envFrom: [{configMapRef: {name: *app}}]}]}}}
"""
    after = rendered(text, names=True)
    found = pick(after, "Deployment")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "app", "envFrom": [env_from("ConfigMap", name_of(after))]}
    assert found["metadata"] == {"name": "app"}
    assert yaml.safe_load(after)["items"][0]["metadata"]["labels"]["app"] == "app"


def test_a_document_that_is_indented_as_a_whole_can_have_aliases() -> None:
    text = (
        "  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: &n web}\n  spec:\n"
        "    template: {spec: {containers: [{name: *n, envFrom: [{configMapRef: {name: *n}}]}]}}\n"
    )
    assert checksum(rendered(text, stream(configmap("web"))))


def test_a_source_that_only_an_annotation_names_still_needs_a_checksum() -> None:
    asked = {"reroll.dev/sources": "configmap/app"}
    assert checksum(named(configmap(), deployment("web", annotations=asked)))
    assert checksum(named(configmap(), deployment("web", APP, annotations=asked))) is None


def test_a_name_with_an_anchor_that_others_share_is_refused() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"
        "metadata:\n  name: &n app\n  labels: {app: *n}\n"
    )
    with pytest.raises(BadInputError, match="another place that shares it by a YAML anchor"):
        rendered(text, names=True, all_names=True)
