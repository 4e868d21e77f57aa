"""`reroll graph` on a real cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.scenarios.stage import ENABLED, Stage
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll.core.tables.kinds import KINDS
from reroll_dev.cluster import DevCluster

READ = [
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
    {"apiGroups": ["reroll.dev"], "resources": ["injections"], "verbs": ["list"]},
    *({"apiGroups": [row.group], "resources": [row.plural], "verbs": ["list"]} for row in KINDS),
]


@pytest.fixture
def graph(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    def run(*args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("graph", *args, *where)

    return run


@pytest.fixture
def shop(stage: Stage) -> Stage:
    stage.make(build.configmap("app"), build.configmap("extra"), build.configmap("old"))
    stage.make(build.secret("pull"), build.secret("web-tls"))
    more = {"reroll.dev/sources": "configmap/ex*"}
    pull = {"imagePullSecrets": [{"name": "pull"}]}
    stage.make(
        build.deployment("web", uses=["configmap/app"], annotations={**ENABLED, **more}, pod=pull),
        build.cronjob("nightly", uses=["configmap/app", "secret/db#password"]),
        build.statefulset("idle"),
    )
    rules = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    tls = {**rules, "tls": [{"secretName": "web-tls"}]}
    stage.make({**ingress, "metadata": {"name": "door"}, "spec": tls})
    return stage


def test_a_namespace_a_source_and_a_workload_are_drawn_as_trees(
    shop: Stage,
    graph: Callable[..., Finished],
    cluster: DevCluster,
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
) -> None:
    reader = kubeconfig_for(READ, None)

    whole = graph(identity=reader)
    source = graph("secret/db")
    workload = graph("deploy/web")

    assert (whole.code, whole.err) == (0, "")
    assert whole.out.splitlines() == [
        shop.namespace,
        "├─ ConfigMap app",
        "│  ├─ CronJob nightly: envFrom of container main (does not roll)",
        "│  └─ Deployment web: envFrom of container main",
        "├─ ConfigMap extra",
        "│  └─ Deployment web: annotation",
        "└─ Secret db (missing)",
        "   └─ CronJob nightly: env DB_PASSWORD of container main (does not roll)",
    ]
    assert source.out.splitlines() == [shop.namespace, *source.out.splitlines()[1:]]
    assert len(source.out.splitlines()) == 3
    assert workload.out.splitlines() == [
        f"Deployment {shop.namespace}/web",
        "├─ ConfigMap app: envFrom of container main",
        "└─ ConfigMap extra: annotation",
    ]
    everywhere = reroll("graph", "-A", "--kubeconfig", kubeconfig_of(cluster, "admin"))
    for line in whole.out.splitlines():
        assert line in everywhere.out.splitlines()
    calls = audit(reader)
    assert {call["verb"] for call in calls} == {"list", "get"}
    home = ("-n", shop.namespace, "--controller-namespace", shop.namespace)
    config = ("--kubeconfig", kubeconfig_of(cluster, "admin"))
    seen = in_terminal("graph", *home, *config, columns=50)
    assert (seen.code, seen.widest <= 50) == (0, True)


def test_what_nobody_uses_is_found_and_what_something_else_uses_is_not(
    shop: Stage, graph: Callable[..., Finished], kubeconfig_for: Callable[..., Path]
) -> None:
    done = graph("--orphans", "-o", "json")

    assert done.code == 0
    unused = [one["name"] for one in done.json["sources"] if not one["users"]]
    assert unused == ["old"]
    assert "ConfigMap old (nobody uses it)" in graph("--orphans").out
    assert "ConfigMap old (nobody uses it)" in graph("cm/old").out

    blind = graph("--orphans", identity=kubeconfig_for(READ, None))
    assert "nobody uses it" not in blind.out
    assert "what nothing uses is not known" in blind.err


def test_pictures_and_texts_for_other_programs(shop: Stage, graph: Callable[..., Finished]) -> None:
    assert ET.fromstring(graph("-o", "svg").out).tag.endswith("svg")
    assert graph("-o", "dot").out.startswith("digraph reroll {\n")
    assert graph("-o", "mermaid").out.startswith("graph LR\n")
    facts = graph("-o", "json").json
    rolls = {
        (one["source"]["name"], one["workload"]["name"]): one["rolls"] for one in facts["uses"]
    }
    assert rolls == {
        ("app", "web"): True,
        ("extra", "web"): True,
        ("app", "nightly"): False,
        ("db", "nightly"): False,
    }


def test_what_is_not_there_is_told_with_the_nearest_names(
    shop: Stage, graph: Callable[..., Finished]
) -> None:
    wrong, bad = graph("configmap/ap"), graph("volume/x")
    assert (wrong.code, wrong.out) == (1, "")
    assert f"there is no ConfigMap ap in namespace {shop.namespace}; did" in wrong.err
    assert "did you mean configmap/app?" in wrong.err
    assert bad.code == 2
    assert "names no workload" in bad.err
