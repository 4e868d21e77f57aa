"""Shapes that real charts and manifests have, and that were once refused or rendered wrong."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.manifests.manifests import (
    checksum,
    configmap,
    deployment,
    env_from,
    pick,
    rendered,
    secret,
    stream,
)
from tests.support.command import reroll

from reroll.core.model.key import Key
from reroll.manifests.checksums import NO_DATA
from reroll.manifests.editing import apply_edits
from reroll.manifests.model import BadInputError, Edit, Input, shown
from reroll.manifests.options import ANNOTATION, Options
from reroll.manifests.read import read
from reroll.manifests.text.edits import Put, TextEdit, apply_text_edits
from reroll.manifests.text.errors import TextError

APP = env_from("ConfigMap", "app")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "render.md"


# Null is absent

NULLS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {null}, annotations: {{reroll.dev/names: {null}}}}}
spec:
  template:
    metadata: {{annotations: {{a: {null}}}}}
    spec:
      containers:
      - name: web
        env:
        - {{name: EMPTY, value: {null}}}
        - {null}
        envFrom: [{{configMapRef: {{name: {null}}}}}]
        volumeMounts:
        - {{name: v, mountPath: /etc/app, subPath: {null}, subPathExpr: {null}}}
      - {null}
      volumes:
      - {{name: v, configMap: {{name: app, items: [{{key: a, path: {null}}}]}}}}
      - {{name: s, secret: {{secretName: {null}}}}}
      - {{name: c, csi: {{driver: x, volumeAttributes: {{k: {null}}}}}}}
"""


@pytest.mark.parametrize("null", ["", "null", "~", "Null", "NULL"])
def test_null_is_read_as_absent(null: str) -> None:
    text = NULLS.format(null=null) + "---\n" + stream(configmap(namespace=None))
    plain = deployment(
        pod={
            "containers": [{"name": "web", "volumeMounts": [{"name": "v"}]}],
            "volumes": [{"name": "v", "configMap": {"name": "app", "items": [{"key": "a"}]}}],
        }
    )
    assert checksum(rendered(text)) == checksum(rendered(stream(configmap(), plain)))


def test_text_in_quotes_is_not_null() -> None:
    named = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "null"}\ndata: {a: "1"}\n---\n'
    text = named + stream(deployment("web", env_from("ConfigMap", "null")))
    assert checksum(rendered(text, strict=True))


def test_a_template_that_is_none_is_refused_at_its_field() -> None:
    pod: dict[str, Any] = {"containers": [{"name": "web", "env": [{"name": "A", "value": 1}]}]}
    with pytest.raises(BadInputError) as refused:
        rendered(stream(deployment(pod=pod)))
    (problem,) = refused.value.problems
    assert problem.startswith("1.yaml:12:18: `spec.template` of Deployment web is not")


# A rule that names several kinds

WISH = {"reroll.dev/names": "true"}
RULE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: app}
rules:
"""


def grants(*rules: str) -> list[list[str]]:
    """The names in each rule afterwards, with those of the two contents of `app` by their kinds."""
    sources = stream(configmap(annotations=WISH), secret("app", annotations=WISH))
    text = rendered(sources + "---\n" + RULE + "".join(rules))
    words = {pick(text, kind)["metadata"]["name"]: kind for kind in ("ConfigMap", "Secret")}
    assert rendered(text) == text
    found = pick(text, "Role")["rules"]
    return [[words.get(name, name) for name in rule["resourceNames"]] for rule in found]


def test_a_rule_gets_all_names_that_it_needs_and_loses_none() -> None:
    assert grants(
        "- {resources: [configmaps, secrets, deployments], resourceNames: [x, app, 'y']}\n",
        "- resources: [secrets, configmaps]\n  resourceNames:\n  - app # why\n  -   y\n",
        "- resources: ['*']\n  resourceNames:\n  - y\n  - 'app'\n",
        "- resources: [configmaps]\n  resourceNames: [app]\n",
    ) == [
        ["x", "ConfigMap", "Secret", "app", "y"],
        ["ConfigMap", "Secret", "y"],
        ["y", "ConfigMap", "Secret", "app"],
        ["ConfigMap"],
    ]


def test_a_rule_with_an_alias_gets_all_names_too() -> None:
    rule = "- &r {resources: &k [configmaps, secrets], resourceNames: [app]}\n"
    assert (
        grants(rule, "- {resources: *k, resourceNames: [app]}\n", "- *r\n")
        == [["ConfigMap", "Secret"]] * 3
    )


def test_two_edits_of_one_place_are_an_error() -> None:
    assert apply_text_edits("abcd", [TextEdit(1, 2, "x"), TextEdit(2, 2, "y")]) == "axycd"
    for second in (TextEdit(1, 3, "y"), TextEdit(2, 2, "y"), TextEdit(2, 4, "")):
        with pytest.raises(TextError, match="edited in two ways at once"):
            apply_text_edits("abcd", [TextEdit(1, 3, "x"), second])


def test_two_values_for_one_field_are_refused() -> None:
    manifests = read([Input("in", stream(configmap()).encode())], Options())
    (made,) = manifests.objects
    edits = [Edit(made, Put(("metadata", "labels"), {"a": value})) for value in ("1", "2")]
    with pytest.raises(BadInputError, match=r"in:1:1: .* edited in two ways at once"):
        apply_edits(manifests, edits)
    assert b"labels:\n    a:" in apply_edits(manifests, [edits[0]] * 2)


# A namespace on one side only

SIDES = {"the source": ("prod", None), "the workload": (None, "prod")}


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
def test_a_namespace_on_one_side_only_is_matched(sides: tuple[str | None, str | None]) -> None:
    def parts(value: str) -> str:
        source, workload = ({"namespace": each} if each else {} for each in sides)
        return stream(configmap(data={"a": value}, **source), deployment("web", APP, **workload))

    sums = [checksum(rendered(parts(value), strict=True)) for value in ("1", "1", "2")]
    assert sums[0] == sums[1] != sums[2]
    assert None not in sums
    named = rendered(parts("1"), names=True)
    (container,) = pick(named, "Deployment")["spec"]["template"]["spec"]["containers"]
    name = pick(named, "ConfigMap")["metadata"]["name"]
    assert container["envFrom"][0]["configMapRef"]["name"] == name != "app"
    assert checksum(named) is None
    assert rendered(named, names=True) == named


def test_a_source_that_only_an_annotation_names_is_matched_too() -> None:
    asking = deployment("web", annotations={"reroll.dev/sources": "configmap/app"})
    assert checksum(rendered(stream(configmap(namespace="prod"), asking)))


@pytest.mark.parametrize("names", [False, True], ids=["checksums", "names"])
def test_a_namespace_that_could_be_several_is_refused(names: bool) -> None:
    two = configmap(namespace="a"), configmap(namespace="b", data={"a": "2"})
    with pytest.raises(BadInputError) as refused:
        rendered(stream(*two, deployment("web", APP)), names=names)
    (problem,) = refused.value.problems
    assert problem == (
        "1.yaml:17:1: Deployment web refers to ConfigMap app, which is here in several namespaces "
        "(a, b); give --namespace, or write the namespaces into the manifests"
    )
    users = deployment("one", APP, namespace="a"), deployment("two", APP, namespace="b")
    with pytest.raises(BadInputError, match="has no namespace here and is used in a and b; give"):
        rendered(stream(configmap(), *users), names=names)


def test_a_namespace_that_is_given_or_written_settles_it() -> None:
    two = configmap(namespace="a"), configmap(namespace="b", data={"a": "2"})
    text = stream(*two, deployment("web", APP))
    assert checksum(rendered(text, namespace="a")) != checksum(rendered(text, namespace="b"))
    own = stream(configmap(), configmap(namespace="a"), deployment("web", APP))
    assert checksum(rendered(own)) == checksum(
        rendered(stream(configmap(), deployment("web", APP)))
    )


def test_every_line_for_helm_in_the_guide_passes_the_namespace() -> None:
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    helm = [line for line in lines if "--post-renderer " in line]
    assert len(helm) == 3
    assert all("--post-renderer-args --namespace=" in line for line in helm)


# Names of before, in the middle of kustomize's build


def in_kustomize(text: str, previous: str, prefix: str) -> dict[str, Any]:
    notes = {
        "internal.config.kubernetes.io/previousNames": previous,
        "internal.config.kubernetes.io/previousNamespaces": ",".join(
            "default" for _ in previous.split(",")
        ),
        "internal.config.kubernetes.io/prefixes": prefix,
    }
    return configmap(text, annotations=notes)


@pytest.mark.parametrize("previous", ["app,base-app", "app,app,base-app"])
def test_a_source_is_found_by_the_name_that_it_had_before(previous: str) -> None:
    """A step that gives it a namespace leaves the name, and kustomize writes it down again."""
    inside = stream(in_kustomize("prod-base-app", previous, "base-,prod-"), deployment("web", APP))
    outside = stream(
        configmap("prod-base-app"), deployment("web", env_from("ConfigMap", "prod-base-app"))
    )
    assert checksum(rendered(inside, strict=True)) == checksum(rendered(outside, strict=True))


def test_the_prefix_tells_two_of_the_same_old_name_apart() -> None:
    def web(prefix: str) -> dict[str, Any]:
        notes = {"internal.config.kubernetes.io/prefixes": prefix}
        return deployment(f"{prefix}web", APP, annotations=notes)

    sources = in_kustomize("a-app", "app", "a-"), in_kustomize("b-app", "app", "b-")
    text = rendered(stream(*sources, web("a-"), web("b-")), strict=True)
    wanted = env_from("ConfigMap", "b-app")
    plain = rendered(stream(configmap("b-app"), deployment("b-web", wanted)))
    assert checksum(text, "b-web") == checksum(plain, "b-web") != checksum(text, "a-web")
    with pytest.raises(BadInputError, match="which nothing here defines"):
        rendered(stream(*sources, web("")), strict=True)


# A checksum that the chart has made


def test_a_checksum_of_the_chart_stays_as_it_is() -> None:
    web = deployment("web", APP)
    theirs = {"checksum/config": "51ceb29936ad25bb", "checksum/secret": "x"}
    web["spec"]["template"]["metadata"] = {"annotations": theirs}
    text = rendered(stream(configmap(), web))
    found = pick(text, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    ours = found.pop(ANNOTATION)
    assert found == theirs
    asked = rendered(stream(configmap(), web), annotation="checksum/config")
    found = pick(asked, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert found == {**theirs, "checksum/config": ours}
    each = rendered(
        stream(configmap("config"), deployment("web", env_from("ConfigMap", "config"))),
        per_source=True,
    )
    assert "checksum.reroll.dev/configmap-config:" in each


# Workloads without configuration, and Jobs


def job(name: str = "migrate", *uses: dict[str, Any]) -> dict[str, Any]:
    return {**deployment(name, *uses), "apiVersion": "batch/v1", "kind": "Job"}


@pytest.mark.parametrize("per_source", [False, True])
def test_a_workload_that_uses_no_configuration_is_left_alone(per_source: bool) -> None:
    text = stream(configmap(), deployment("web"), job())
    assert rendered(text, per_source=per_source) == text


def test_a_workload_whose_source_is_empty_says_so() -> None:
    assert checksum(rendered(stream(configmap(data={}), deployment("web", APP)))) == NO_DATA


def test_a_job_that_may_be_in_the_cluster_stays_as_it_is() -> None:
    text = stream(configmap(), job("migrate", APP))
    end = reroll("render", input=text)
    assert end.out == text
    assert end.err.startswith("reroll: note: <stdin>:8:1: Job migrate gets no checksum: its ")
    assert reroll("render", input=stream(configmap(), job())).err == ""
    assert reroll("render", input=stream(job("migrate", APP))).err == ""


RENEWED = {
    "a hook of Helm": {"helm.sh/hook": "post-install,post-upgrade"},
    "a hook of Argo CD": {"argocd.argoproj.io/hook": "PreSync"},
    "replaced by Argo CD": {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"},
    "replaced by Flux": {"kustomize.toolkit.fluxcd.io/force": "enabled"},
    "asked for": {"reroll.dev/enabled": "true"},
}


@pytest.mark.parametrize("notes", RENEWED.values(), ids=RENEWED)
def test_a_job_that_is_made_again_gets_a_checksum(notes: dict[str, str]) -> None:
    made = job("migrate", APP)
    made["metadata"]["annotations"] = notes
    assert ANNOTATION in rendered(stream(configmap(), made))


def test_a_job_with_a_generated_name_gets_a_checksum() -> None:
    made = {**job("migrate", APP), "metadata": {"generateName": "migrate-"}}
    assert ANNOTATION in rendered(stream(configmap(), made))


# A key that is there twice

TWICE = {
    "of a kind that does not matter": "kind: Service\nmetadata: {labels: {app: a, app: a}}\n",
    "as JSON": '{"kind": "Service", "spec": {"a": 1, "a": 2}}\n',
    "of the labels of a source": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {b: a, b: a}}\ndata: {a: b}\n"
    ),
    "of the annotations of a workload": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, annotations: {b: a, b: a}}\n"
    ),
}


@pytest.mark.parametrize("text", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("names", [(), ("--names",)], ids=["checksums", "names"])
def test_a_key_that_is_there_twice_is_noted_where_it_is_neither_read_nor_edited(
    text: str, names: tuple[str, ...]
) -> None:
    end = reroll("render", *names, input=text)
    assert end.code == 0
    assert names or end.out == text
    assert "is there twice; the last one counts\n" in end.err
    assert end.err.startswith("reroll: note: <stdin>:")


def test_the_last_of_two_labels_counts() -> None:
    text = 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: a, labels: {x: "1", x: "2"}}\n'
    (made,) = read([Input("in", text.encode())], Options()).objects
    assert made.labels == {"x": "2"}


def test_a_key_that_is_there_twice_is_refused_where_it_is_edited() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nimmutable: true\nimmutable: false\n"
        "metadata: {name: a, annotations: {reroll.dev/names: 'true'}}\ndata: {a: b}\n"
    )
    with pytest.raises(
        BadInputError, match=r"1.yaml:4:1: the key 'immutable' is there twice; take"
    ):
        rendered(text)


# What is said


def test_a_workload_of_an_old_group_is_noted() -> None:
    old = {**deployment("web", APP), "apiVersion": "extensions/v1beta1"}
    end = reroll("render", input=stream(configmap(), old))
    assert end.out == stream(configmap(), old)
    assert end.err == (
        "reroll: note: <stdin>:8:1: Deployment web is of extensions/v1beta1, which no API server "
        "of today has, and stays as it is; write apps/v1\n"
    )


HINTS = {
    "a: [1.2.3.4, 001:db8::]\n": "put the word in quotes",
    'a: "it\\\'s"\n': "write it without the backslash",
}


@pytest.mark.parametrize("text", HINTS)
def test_what_only_other_readers_take_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadInputError, match=f"broken YAML: .*; {HINTS[text]}"):
        rendered(text)


def test_an_object_without_a_name_is_shown_by_its_kind() -> None:
    assert shown(Key("PipelineRun", "", "")) == "PipelineRun"
    assert shown(Key("PipelineRun", "a", "")) == "PipelineRun"
    assert shown(Key("Pod", "a", "b")) == "Pod a/b"
