"""`reroll revisions`: what each revision has and runs, and going back to one of them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.scenarios.pins import Installation, content
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll
from tests.support.tools import kubeconfig_of

from reroll.core.revisions.pins import PINS
from reroll.core.tables.catalog import TABLES
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
Command = Callable[..., Finished]
REVISIONS = {**ENABLED, "reroll.dev/revisions": "true"}


@pytest.fixture
def revisions(cluster: DevCluster, namespace: str) -> Command:
    def run(*args: str, identity: object = "admin") -> Finished:
        return reroll(
            "revisions", *args, "-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity)
        )  # type: ignore[arg-type]

    return run


def pins_of(stage: Stage, workload: Object) -> str:
    metadata = stage.template(workload).get("metadata", {})
    return str(metadata.get("annotations", {}).get(PINS, ""))


def changed(stage: Stage, web: Object, **data: str) -> None:
    before = pins_of(stage, web)
    stage.change("ConfigMap", "app", **data)
    eventually(lambda: pins_of(stage, web) != before, "it is pinned anew")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "mode"),
    [("Deployment", "admission"), ("StatefulSet", "template"), ("DaemonSet", "admission")],
)
def test_going_back_to_a_revision_brings_its_content_back_and_holds_until_released(
    stage: Stage,
    controller: Start,
    installation: Installation,
    cluster: DevCluster,
    revisions: Command,
    release: Command,
    name: str,
    mode: str,
) -> None:
    kind = TABLES.by_name[name]
    how = {**REVISIONS, "reroll.dev/pin": mode}
    web = a(kind, uses=["configmap/app", "secret/db"], annotations=how)
    target = f"{name.lower()}/web"
    stage.make(build.configmap("app", {"level": "one", "same": "x"}), build.secret("db"), web)
    if mode == "admission":
        assert installation.install().code == 0
    control = controller()
    eventually(lambda: pins_of(stage, web), "it is pinned")
    stage.settled(web)
    pinned = datetime.now(UTC)
    eventually(lambda: datetime.now(UTC) > pinned + timedelta(seconds=1), "revisions have an order")
    changed(stage, web, level="two")
    stage.settled(web)

    found = revisions(target, "-o", "json").json
    newest, older = found["revisions"][:2]
    assert (newest["current"], older["current"]) == (True, False)
    assert {one["source"]: one["changedKeys"] for one in newest["pins"]} == {
        "configmap/app": ["level"],
        "secret/db": [],
    }
    assert set(newest["pods"]) == {pod["metadata"]["name"] for pod in stage.pods(web)}
    assert older["pods"] == []
    shown = revisions(target).out
    assert "configmap/app#level" in shown
    assert "(current)" in shown
    assert "hunter2" not in shown

    done = revisions("use", target, str(older["revision"]))
    assert done.code == 0, done.err
    assert f"pinned to revision {older['revision']}" in done.out
    control.wait_for(lambda line: line.get("reason") == "HeldAt")
    stage.settled(web)
    eventually(lambda: {content(stage, pod)["level"] for pod in stage.pods(web)} == {"one"})
    stage.quiet(web)
    assert "(held, " in revisions(target).out
    back = revisions(target, "-o", "json").json["revisions"][0]
    assert (back["name"], back["pins"]) == (older["name"], older["pins"]), "it changed what it did"
    assert revisions(target, "-o", "json").json["heldSince"]
    where = ("-n", stage.namespace, "--controller-namespace", stage.namespace)
    told = reroll("explain", target, *where, "--kubeconfig", cluster.kubeconfig()).out
    assert f"It is pinned: its pods use ConfigMap app as {older['pins'][0]['copy']}, " in told
    assert re.search(r"It was put back to this revision \d+s ago, and stays there", told)

    before = pins_of(stage, web)
    assert release(target).code == 0
    eventually(lambda: pins_of(stage, web) != before, "it goes forward again")
    stage.settled(web)
    eventually(lambda: {content(stage, pod)["level"] for pod in stage.pods(web)} == {"two"})


def test_what_cannot_be_used_is_said(stage: Stage, controller: Start, revisions: Command) -> None:
    web = build.deployment(
        uses="configmap/app", annotations={**REVISIONS, "reroll.dev/pin": "template"}
    )
    stage.make(
        build.configmap("app", {"level": "one"}), web, build.cronjob(), build.deployment("plain")
    )
    stage.settled(web)  # Each template becomes a revision only if it is seen before the next.
    controller()
    eventually(lambda: pins_of(stage, web), "it is pinned")
    stage.settled(web)
    changed(stage, web, level="two")
    stage.settled(web)

    for args, code, said in (
        (("use", "deployment/web", "7"), 1, "has no revision '7'; it has 1 (web-"),
        (("use", "deployment/web", "1"), 1, "from before it was pinned"),
        (("use", "deployment/plain", "1"), 1, "is not pinned"),
        (("cronjob/task",), 1, "keeps no earlier templates of a CronJob"),
        (("deployment/wbe",), 1, "did you mean deployment/web?"),
        (("deployment/web", "1"), 2, "name one workload"),
        (("use", "deployment/web"), 2, "name one workload"),
    ):
        done = revisions(*args)
        assert (done.code, said in done.err) == (code, True), (args, done)

    dry = revisions("use", "deployment/web", "2", "--dry-run")
    assert "would be pinned to revision 2" in dry.out
    copy = revisions("deployment/web", "-o", "json").json["revisions"][1]["pins"][0]["copy"]
    stage.api.delete(path_to("ConfigMap", copy, stage.namespace))
    done = revisions("use", "deployment/web", "2")
    assert f"ConfigMap {copy} is gone" in done.err
    assert f"configmap/app ({copy} is gone)" in revisions("deployment/web").out


@pytest.mark.usefixtures("rollouts")
def test_a_rollout_that_runs_the_template_of_a_deployment_is_known_by_both_names(
    stage: Stage, controller: Start, revisions: Command
) -> None:
    deployment = build.deployment(uses="configmap/app", replicas=0)
    web = build.rollout(annotations={**REVISIONS, "reroll.dev/pin": "template"}, replicas=1)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {key: web["spec"][key] for key in ("replicas", "strategy")}
    stage.make(
        build.configmap("app", {"level": "one"}),
        deployment,
        {**web, "spec": {**spec, "workloadRef": reference}},
    )
    controller()
    eventually(lambda: pins_of(stage, deployment), "it is pinned")

    def through() -> bool:
        pins = [pod["metadata"].get("annotations", {}).get(PINS) for pod in stage.pods(web)]
        return pins == [pins_of(stage, deployment)]

    eventually(through, "it has a pod of the first revision")
    changed(stage, deployment, level="two")
    eventually(through, "its pod is new")
    by_both = [
        revisions(f"{word}/web", "-o", "json").json["revisions"] for word in ("rollout", "deploy")
    ]
    assert by_both[0] == by_both[1]
    assert by_both[0][0]["pods"] == [stage.pods(web)[0]["metadata"]["name"]]
    assert by_both[0][0]["pins"][0]["changedKeys"] == ["level"]

    before = pins_of(stage, deployment)
    assert revisions("use", "rollout/web", "previous").code == 0
    assert pins_of(stage, deployment) != before
    eventually(lambda: [content(stage, pod) for pod in stage.pods(web)] == [{"level": "one"}])


def test_who_may_not_read_secrets_sees_that_one_changed_and_not_which_keys(
    stage: Stage, controller: Start, revisions: Command, kubeconfig_for: Callable[..., object]
) -> None:
    web = build.deployment(
        uses="secret/db", annotations={**REVISIONS, "reroll.dev/pin": "template"}
    )
    stage.make(build.secret("db"), web)
    controller()
    eventually(lambda: pins_of(stage, web), "it is pinned")
    stage.settled(web)
    before = pins_of(stage, web)
    stage.change("Secret", "db", password="other")
    eventually(lambda: pins_of(stage, web) != before, "it is pinned anew")
    stage.settled(web)
    rules = [
        {"apiGroups": ["apps", "", "argoproj.io"], "resources": [word], "verbs": ["get", "list"]}
        for word in ("deployments", "replicasets", "pods", "rollouts")
    ]
    done = revisions("deployment/web", identity=kubeconfig_for(rules, stage.namespace))
    assert done.code == 0, done.err
    assert "secret/db" in done.out
    assert "password" not in done.out
    assert "Secret copies may not be read" in done.err
