"""`reroll gc` on a real cluster: what nothing names goes, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.stage import Stage, eventually
from tests.scenarios.test_attach import content
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll
from tests.support.tools import Tool, kubeconfig_of

from reroll.pipeline.usage import USERS
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

NOW = ("--min-age", "0", "--keep", "0")
KAPP = {"kapp.k14s.io/versioned": ""}
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": build.pod_template("alone", mounts=["configmap/pod-8888888888"])["spec"],
}
INGRESS: Object = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "door"},
    "spec": {
        "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}},
        "tls": [{"secretName": "tls-8888888888"}],
    },
}


@pytest.fixture
def gc(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    def run(*args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("gc", *where, *args)

    return run


def names(stage: Stage) -> set[str]:
    """Every ConfigMap and Secret of the namespace that a test made."""
    found = [
        one["metadata"]["name"]
        for kind in ("ConfigMap", "Secret")
        for one in stage.api.list(path_to(kind, "", stage.namespace))
    ]
    return {name for name in found if name != "kube-root-ca.crt"}


def generated(kustomize: Tool, folder: Path, greeting: str) -> list[Object]:
    """A Deployment with what kustomize's generators make for it."""
    web = build.deployment("web", uses=["configmap/greeting"], mounts=["secret/login"])
    (folder / "web.yaml").write_text(yaml.safe_dump(web))
    kustomization = {
        "resources": ["web.yaml"],
        "configMapGenerator": [{"name": "greeting", "literals": [f"text={greeting}"]}],
        "secretGenerator": [{"name": "login", "literals": [f"password={greeting * 20}"]}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return list(yaml.safe_load_all(kustomize("build", folder, identity=None)))


def test_old_configs_of_kustomize_go_when_no_revision_names_them(
    stage: Stage,
    gc: Callable[..., Finished],
    kustomize: Tool,
    kubectl: Tool,
    tmp_path: Path,
) -> None:
    made = set[str]()
    for greeting in ("hello", "bye"):
        documents = generated(kustomize, tmp_path, greeting)
        stream = yaml.safe_dump_all(documents)
        kubectl("apply", "-n", stage.namespace, "-f", "-", input=stream)
        stage.settled(build.deployment("web"))
        current = {d["metadata"]["name"] for d in documents if d["kind"] != "Deployment"}
        made |= current
    stage.make(build.configmap("backup-2456789bcd"))

    # The old ReplicaSet is where `kubectl rollout undo` goes back to.
    assert gc(*NOW).code == 0
    assert names(stage) == {*made, "backup-2456789bcd"}

    stage.api.patch(stage.path(build.deployment("web")), {"spec": {"revisionHistoryLimit": 0}})
    eventually(lambda: len(stage.revisions(build.deployment("web"))) == 1, "the old one goes")
    pods = path_to("Pod", "", stage.namespace)
    eventually(lambda: len(stage.api.list(pods)) == 1, "so do its pods, which name it till then")
    shown = gc(*NOW, "--dry-run")
    assert names(stage) == {*made, "backup-2456789bcd"}
    assert shown.out.count("would be deleted") == 2
    done = gc(*NOW, "-o", "json")

    assert done.code == 0
    assert names(stage) == {*current, "backup-2456789bcd"}
    deleted = {one["name"] for one in done.json["configs"] if one["result"] == "deleted"}
    assert deleted == made - current
    assert "hello" not in done.out + shown.out


def test_whatever_names_a_config_keeps_it(stage: Stage, gc: Callable[..., Finished]) -> None:
    used = ("deployment", "statefulset", "daemonset", "cronjob", "job", "pod")
    for name in used:
        stage.make(content(f"{name}-8888888888", name))
    stage.make(content("tls-8888888888", "tls", build.secret), INGRESS, POD)
    for name in used[:-1]:
        stage.make(getattr(build, name)(name, mounts=[f"configmap/{name}-8888888888"]))
    stage.make(
        content("gone-8888888888", "gone"),
        content("gone-9999999999", "gone", build.secret),
        build.configmap("app-ver-1", annotations=KAPP),
        build.configmap("app", annotations=KAPP),
        build.configmap("plain"),
        build.configmap("copied-8888888888", labels={"reroll.dev/content-of": "copied"}),
    )
    before = names(stage)

    assert gc().code == 0
    assert gc(*NOW, "--keep", "1").code == 0
    assert names(stage) == before

    done = gc(*NOW)
    assert (done.code, done.err) == (0, "")
    assert names(stage) == before - {"gone-8888888888", "gone-9999999999", "app-ver-1"}
    assert "7 content-named configs are in use" in done.out


def test_nothing_is_deleted_where_something_cannot_be_seen(
    stage: Stage,
    namespace: str,
    gc: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
) -> None:
    stage.make(content("gone-8888888888", "gone"))
    configs = {
        "apiGroups": [""],
        "resources": ["configmaps", "secrets"],
        "verbs": ["list", "get", "delete"],
    }
    users = [
        {"apiGroups": [one.group], "resources": [one.plural], "verbs": ["list"]} for one in USERS
    ]
    blind = kubeconfig_for(
        [configs, *(one for one in users if one["resources"] != ["pods"])], namespace
    )

    done = gc(*NOW, identity=blind)

    assert done.code == 1
    assert f"pods in namespace {namespace} may not be listed" in done.err
    assert "nothing is deleted" in done.err
    assert "gone-8888888888" in names(stage)

    no_delete = {**configs, "verbs": ["list", "get"]}
    refused = gc(*NOW, identity=kubeconfig_for([no_delete, *users], namespace))
    assert refused.code == 1
    assert "cannot delete" in refused.err

    assert gc(*NOW, identity=kubeconfig_for([configs, *users], namespace)).code == 0
    assert names(stage) == set()


CUSTOM = {
    "kinds": [
        {
            "group": "argoproj.io",
            "kind": "AnalysisTemplate",
            "references": [{"source": "Secret", "path": "spec.args[].valueFrom.secretKeyRef.name"}],
        },
        {"group": "example.com", "kind": "NotServed", "template": "spec.template"},
    ]
}


def test_a_custom_resource_that_was_named_keeps_its_configs(
    stage: Stage, rollouts: DevCluster, gc: Callable[..., Finished], tmp_path: Path
) -> None:
    reference = {"name": "login-8888888888", "key": "password"}
    template: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AnalysisTemplate",
        "metadata": {"name": "check"},
        "spec": {"args": [{"name": "p", "valueFrom": {"secretKeyRef": reference}}], "metrics": []},
    }
    stage.make(content("login-8888888888", "login", build.secret), template)
    file = tmp_path / "reroll.yaml"
    file.write_text(yaml.safe_dump(CUSTOM))

    assert gc(*NOW, "--config", str(file)).code == 0
    assert gc(*NOW, "--also", "analysistemplates.v1alpha1.argoproj.io").code == 0
    assert names(stage) == {"login-8888888888"}
    assert gc(*NOW).code == 0
    assert names(stage) == set()


BAD = {
    "an age that is none": ("is not a duration", ("--min-age", "old")),
    "fewer than none to keep": ("less than none", ("--keep", "-1")),
    "a resource that is none": ("PLURAL.VERSION.GROUP", ("--also", "gateways")),
    "a resource that is not served": ("has no gateways", ("--also", "gateways.v1.example.com")),
}


@pytest.mark.parametrize(("sentence", "args"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_a_sentence(
    gc: Callable[..., Finished], sentence: str, args: tuple[str, ...]
) -> None:
    done = gc(*args)

    assert done.code == 2
    assert sentence in done.err


def test_no_cluster_is_a_sentence(tmp_path: Path) -> None:
    nobody: dict[str, Any] = yaml.safe_load(
        "{apiVersion: v1, kind: Config, current-context: c, "
        "contexts: [{name: c, context: {cluster: c}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]}"
    )
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(nobody))

    for command in ("gc", "attach"):
        done = reroll(command, "--kubeconfig", file)
        assert done.code == 1
        assert "cannot connect to 127.0.0.1:9" in done.err
        assert reroll(command, "--kubeconfig", tmp_path / "none").code == 2
