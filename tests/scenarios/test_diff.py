"""`reroll diff` of a render with what is in the cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.stage import Stage
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll
from tests.support.tools import Tool, kubeconfig_of

from reroll_dev.cluster import DevCluster

RESOURCES = {
    "resources": {"limits": {"cpu": "1000m", "memory": "0.5Gi"}},
    "ports": [{"containerPort": 80}],
}


def shop(namespace: str, greeting: str = "hello", **web: Any) -> list[Object]:
    uses = {"uses": ["configmap/app", "secret/db", "configmap/elsewhere"], "container": RESOURCES}
    return [
        build.configmap("app", {"greeting": greeting}, namespace=namespace),
        build.secret("db", {"password": f"{greeting} sesame"}),
        build.deployment("web", **{**uses, **web}),
        build.cronjob("task", uses=["configmap/app"]),
        build.job("once", annotations={"reroll.dev/enabled": "true"}, uses=["configmap/app"]),
    ]


Diff = Callable[..., Finished]


@pytest.fixture
def diff(cluster: DevCluster, namespace: str) -> Diff:
    """`diff(objects, "--names")`: what their render would change in the cluster."""

    def run(
        objects: list[Object], *flags: str, identity: str | Path = "admin", output: str = "json"
    ) -> Finished:
        stream = reroll("render", "-n", namespace, *flags, input=yaml.safe_dump_all(objects)).out
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("diff", "-", *where, "-o", output, input=stream)

    return run


def apply(kubectl: Tool, namespace: str, objects: list[Object], *flags: str) -> None:
    stream = reroll("render", "-n", namespace, *flags, input=yaml.safe_dump_all(objects)).out
    kubectl("apply", "-n", namespace, "-f", "-", input=stream)


def effects(done: Finished) -> dict[str, str]:
    return {one["name"]: one["effect"] for one in done.json["workloads"]}


def test_a_render_is_compared_with_what_is_there(
    stage: Stage, namespace: str, kubectl: Tool, diff: Diff
) -> None:
    stage.make(build.configmap("elsewhere"))
    everything = diff(shop(namespace))
    assert (effects(everything), everything.code) == (
        {"once": "new", "task": "new", "web": "new"},
        0,
    )

    apply(kubectl, namespace, shop(namespace))
    same = diff(shop(namespace))
    assert (effects(same), same.code) == ({}, 0)

    changed = diff(shop(namespace, "bye"))
    assert changed.code == 3
    assert effects(changed) == {"web": "rolls", "task": "next run", "once": "recreate"}
    (web,) = (one for one in changed.json["workloads"] if one["name"] == "web")
    assert web["fields"] == []
    assert [(one["name"], one["changed"]) for one in web["because"]] == [
        ("app", ["greeting"]),
        ("db", ["password"]),
    ]
    assert "sesame" not in changed.out

    image = diff(shop(namespace, container={**RESOURCES, "image": "example.invalid/app:2"}))
    (web,) = image.json["workloads"]
    assert (web["effect"], web["fields"]) == ("rolls", ["spec.containers[main].image"])


def test_content_names_are_compared_by_content(
    stage: Stage, namespace: str, kubectl: Tool, diff: Diff
) -> None:
    stage.make(build.configmap("elsewhere"))
    apply(kubectl, namespace, shop(namespace)[:3], "--names")

    assert diff(shop(namespace)[:3], "--names").code == 0
    changed = diff(shop(namespace, "bye")[:3], "--names", output="table")
    assert changed.code == 3
    assert changed.out.endswith("ConfigMap app: greeting changed; Secret db: password changed\n")


def test_what_may_not_be_read_is_said(
    stage: Stage, namespace: str, kubectl: Tool, diff: Diff, kubeconfig_for: Callable[..., Path]
) -> None:
    stage.make(build.configmap("elsewhere"))
    plain = {**shop(namespace)[2]["spec"]["template"]["spec"]["containers"][0]}
    plain["resources"] = {"limits": {"cpu": "1", "memory": "512Mi"}}
    objects = shop(namespace, container=plain)[:3]
    apply(kubectl, namespace, objects)
    readers = kubeconfig_for(
        [
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        ],
        namespace,
    )

    done = diff(objects, identity=readers, output="table")

    assert done.code == 1
    assert "nothing changes" in done.out
    assert f"Deployment {namespace}/web: compared without the API server's defaults" in done.err
    assert "grant `get` on secrets" in done.err
