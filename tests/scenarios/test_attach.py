"""`reroll attach`: Kubernetes itself deletes a config with the last revision that names it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import Stage, a, eventually
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.tools import kubeconfig_of

from reroll.core.model.key import Key
from reroll.core.revisions.content_names import marks
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import attaching
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.objects import OwnerRef
from reroll.kube.owners import change
from reroll.kube.resources import CONFIG_MAPS
from reroll_dev.cluster import DevCluster

OLD, NEW, LOGIN = "app-5f9c2d1a7b", "app-88aa88aa88", "db-77ff00aa11"
ROWS = {kind.name: kind for kind in KINDS}
WEB = build.deployment("web")


def content(name: str, plain: str = "app", build_: Callable[..., Any] = build.configmap) -> Any:
    """What `reroll render --names` makes."""
    return build_(name, labels=marks(plain)[0], immutable=True)


@pytest.fixture
def attach(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    """`attach("deployment/web")` in the test's namespace, with all rights or those of one."""

    def run(*args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("attach", *where, *args)

    return run


def owners(stage: Stage, manifest: dict[str, Any]) -> list[str]:
    found = stage.get(manifest)["metadata"].get("ownerReferences", [])
    assert not any(one.get("controller") or one.get("blockOwnerDeletion") for one in found)
    return sorted(one["uid"] for one in found)


def test_every_kind_owns_what_it_uses(
    stage: Stage, rollouts: DevCluster, attach: Callable[..., Finished]
) -> None:
    app, login = content(OLD), content(LOGIN, "db", build.secret)
    stage.make(app, login, content(NEW), build.configmap("plain"))
    workloads = [
        a(kind, kind.name.lower(), uses=[f"configmap/{OLD}", "configmap/plain"]) for kind in KINDS
    ]
    workloads[0] = a(KINDS[0], "deployment", uses=[f"configmap/{OLD}"], mounts=[f"secret/{LOGIN}"])
    for one in workloads:
        stage.make(one)

    dry = attach("--dry-run", "-o", "json")
    assert {one["result"] for one in dry.json["attached"]} == {"would be attached"}
    assert owners(stage, app) == []

    done = attach("-o", "json")

    assert (done.code, done.err) == (0, "")
    itself = [stage.get(one)["metadata"]["uid"] for one in workloads if not stage.revisions(one)]
    revisions = [one["metadata"]["uid"] for each in workloads for one in stage.revisions(each)]
    assert len(itself) == 2
    assert owners(stage, app) == sorted([*itself, *revisions])
    assert owners(stage, login) == [stage.revisions(workloads[0])[0]["metadata"]["uid"]]
    assert owners(stage, build.configmap("plain")) == owners(stage, content(NEW)) == []
    assert {one["result"] for one in done.json["attached"]} == {"attached"}

    before = stage.get(app)["metadata"]["resourceVersion"]
    again = attach()
    assert again.code == 0
    assert again.out.count("was attached") == len(KINDS) + 1
    assert stage.get(app)["metadata"]["resourceVersion"] == before


def test_kubernetes_deletes_a_config_with_the_last_revision_that_names_it(
    stage: Stage, attach: Callable[..., Finished]
) -> None:
    stage.make(content(OLD), content(NEW))
    web = build.deployment("web", uses=[f"configmap/{OLD}"], spec={"revisionHistoryLimit": 1})
    stage.make(web)
    assert attach("deploy/web").code == 0

    def change(name: str, **template: str) -> None:
        container = {"name": "main", "envFrom": [{"configMapRef": {"name": name}}]}
        meta = {"annotations": template}
        spec = {"template": {"metadata": meta, "spec": {"containers": [container]}}}
        stage.api.patch(stage.path(web), {"spec": spec}, kind="strategic")
        assert attach("deployment/web").code == 0
        stage.settled(web)

    change(OLD, image="2")
    assert len(owners(stage, content(OLD))) == 2
    change(NEW, image="3")
    eventually(lambda: len(stage.revisions(web)) == 2, "the first revision is cleaned up")
    change(NEW, image="4")

    stage.api.wait_gone(stage.path(content(OLD)))
    assert owners(stage, content(NEW)) == sorted(
        one["metadata"]["uid"] for one in stage.revisions(web)
    )

    stage.api.delete(stage.path(web))
    stage.api.wait_gone(stage.path(content(NEW)))


def test_a_paused_template_is_said_to_be_left_out(
    stage: Stage, attach: Callable[..., Finished]
) -> None:
    stage.make(content(OLD))
    stage.make(build.deployment("web", uses=[f"configmap/{OLD}"], spec={"paused": True}))
    stage.make(build.deployment("other", uses=[f"configmap/{OLD}"]))

    done = attach()

    assert done.code == 1
    assert f"Deployment {stage.namespace}/web: no revision of its template" in done.err
    assert len(owners(stage, content(OLD))) == 1


def test_the_least_rights_are_enough(
    stage: Stage,
    namespace: str,
    attach: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
) -> None:
    stage.make(content(OLD), content(LOGIN, "db", build.secret))
    stage.make(build.deployment("web", uses=[f"configmap/{OLD}", f"secret/{LOGIN}"]))
    configmap, secret, _ = SOURCE_KINDS
    rules = attaching([(ROWS["Deployment"], "web")], [(configmap, OLD), (secret, LOGIN)])
    identity = kubeconfig_for(rules, namespace)
    named = ("deployment/web", "--config", f"configmap/{OLD}", "--config", f"secret/{LOGIN}")

    done = attach(*named, identity=identity)

    assert (done.code, done.err) == (0, "")
    revision = [one["metadata"]["uid"] for one in stage.revisions(WEB)]
    assert owners(stage, content(OLD)) == revision
    assert owners(stage, content(LOGIN, "db", build.secret)) == revision


async def test_an_owner_that_somebody_else_adds_meanwhile_stays(
    stage: Stage, cluster: DevCluster, namespace: str
) -> None:
    stage.make(content(OLD))
    pods = [stage.make(build.configmap(name)) for name in ("one", "two")]
    first, second = (
        OwnerRef("v1", "ConfigMap", pod["metadata"]["name"], pod["metadata"]["uid"]) for pod in pods
    )
    key = Key("ConfigMap", namespace, OLD)
    connection = load({}, kubeconfig=str(kubeconfig_of(cluster, "admin")))
    async with Client(connection) as client:
        await change(client, CONFIG_MAPS, key, [first])
        await change(client, CONFIG_MAPS, key, [second])

    assert owners(stage, content(OLD)) == sorted([first.uid, second.uid])


BAD = {
    "a kind that is none": (2, "names no workload", ("pod/web",)),
    "a workload that is not there": (1, "does not exist", ("deployment/none",)),
    "a timeout that is none": (2, "is not a duration", ("--timeout", "soon")),
    "a config that is not content-named": (1, "no label", ("--config", "configmap/plain")),
    "a config that is not there": (1, "not found", ("--config", "secret/none")),
    "a config of another kind": (2, "names no config", ("--config", "pod/none")),
    "names and a selector": (2, "not both", ("deployment/web", "-l", "a=b")),
}


@pytest.mark.parametrize(("code", "sentence", "args"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_a_sentence(
    stage: Stage,
    attach: Callable[..., Finished],
    code: int,
    sentence: str,
    args: tuple[str, ...],
) -> None:
    if "configmap/plain" in args:
        stage.make(build.configmap("plain"))

    done = attach(*args)

    assert (done.code, "Traceback" in done.err) == (code, False)
    assert sentence in done.err


def test_what_may_not_be_read_or_written_is_said(
    stage: Stage,
    namespace: str,
    attach: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
) -> None:
    stage.make(content(OLD))
    stage.make(build.deployment("web", uses=[f"configmap/{OLD}"]))
    rules = [
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]},
    ]

    done = attach(identity=kubeconfig_for(rules, namespace))

    assert done.code == 1
    assert "secrets in namespace" in done.err
    assert "statefulsets.apps in namespace" in done.err
    assert f"ConfigMap {namespace}/{OLD}: PATCH" in done.err
    assert "failed" in done.out
    assert owners(stage, content(OLD)) == []
