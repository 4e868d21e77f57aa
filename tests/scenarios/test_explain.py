"""`reroll explain` on a real cluster, with and without a controller."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll.core.decide.chains import GATES
from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

READ = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["list"]},
]


@pytest.fixture
def explain(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    def run(workload: str, *args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("explain", workload, *where, "--controller-namespace", namespace, *args)

    return run


def source(facts: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [one for one in facts["sources"] if one["name"] == name]
    return dict(found)


def flat(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_workload_that_rolled_says_why_and_who_changed_what(
    stage: Stage,
    explain: Callable[..., Finished],
    controller: Callable[..., Controller],
    cluster: DevCluster,
) -> None:
    stage.make(build.configmap("app", {"level": "info"}), build.secret("db"))
    web = build.deployment("web", uses=["configmap/app#level", "secret/db"], annotations=ENABLED)
    stage.make(web)
    running = controller()
    adopted = stage.adopted(web)
    path = path_to("ConfigMap", "app", stage.namespace)
    stage.api.patch(path, {"data": {"level": "debug"}}, fieldManager="night-shift")
    stage.rolled(web, adopted["n"])
    stage.settled(web)

    done, facts = explain("deployment/web"), explain("deploy/web", "-o", "json").json

    assert (done.code, done.err) == (0, "")
    lines = flat(done.out)
    where = f"Deployment {stage.namespace}/web"
    assert lines[0] == where
    assert lines[1:4] == [
        "UpToDate: its pods were made with the current configuration.",
        "Rollout: complete.",
        "Pods: 1 running; configuration: current.",
    ]
    assert lines[4] == (
        f"It is opted in by annotation reroll.dev/enabled on {where} (dialect reroll)."
    )
    assert "because of configmap/app (level)." in lines[5]
    assert "GATE" not in done.out
    assert "GATE" in explain("deployment/web", "--gates").out
    app = source(facts, "app")
    assert (app["content"], app["changedBy"]) == ("as recorded", "night-shift")
    assert app["uses"] == [
        {
            "how": "env APP_LEVEL of container main", "keys": ["level"],
            "optional": False, "live": False,
        }
    ]  # fmt: skip
    assert facts["record"]["by"] == ["configmap/app#level"]
    assert facts["decided"][1] == {
        "name": "strategy", "value": "stamp", "because": "what a Deployment does by default",
    }  # fmt: skip
    assert [one["gate"] for one in facts["gates"]] == list(GATES)
    assert [one["gate"] for one in facts["gates"] if one["holds"]] == ["unchanged"]
    assert "hunter2" not in done.out + str(facts)

    running.stop()
    stage.change("ConfigMap", "app", level="trace")
    late = explain("deployment/web")
    assert flat(late.out)[1] == "ConfigChanged: configmap/app#level changed."
    assert "changed since" in late.out

    seen = in_terminal(
        "explain", "deployment/web", "-n", stage.namespace, "--controller-namespace",
        stage.namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"), columns=72,
    )  # fmt: skip
    assert (seen.code, seen.widest <= 72) == (0, True)
    assert "ConfigChanged: configmap/app" in seen.text


@pytest.mark.usefixtures("rollouts")
def test_a_rollout_that_runs_another_template_says_whose(
    stage: Stage, explain: Callable[..., Finished]
) -> None:
    web = build.deployment("web", replicas=0, uses="configmap/app")
    runner = build.rollout("canary", uses="configmap/app")
    del runner["spec"]["template"], runner["spec"]["selector"]
    runner["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    stage.make(build.configmap("app"), web, runner)

    done = explain("rollout/canary")

    assert done.code == 1
    assert done.err == (
        f"reroll: Rollout canary runs the template of Deployment {stage.namespace}/web, which is "
        "the workload; write deployment/web\n"
    )


def test_a_workload_that_is_not_opted_in_says_what_would_be(
    stage: Stage,
    explain: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
) -> None:
    stage.make(build.configmap("app"), build.configmap("files"))
    web = build.deployment("web", uses=["configmap/app"], mounts=["configmap/files"])
    stage.make(web)
    reader = kubeconfig_for([*READ], None)

    done = explain("deployment/web", identity=reader)
    facts = explain("deployment/web", "-o", "json").json

    where = f"Deployment {stage.namespace}/web"
    lines = flat(done.out)
    assert lines[1] == "NotEnabled: the workload did not opt in."
    assert lines[2] == (
        f'It would roll if annotation reroll.dev/enabled: "true" on {where} were set '
        "and what it uses changed."
    )
    assert lines[3].startswith("When it is set: Adopted: ")
    assert lines[4].startswith("It did not opt in: no annotation on it or its Namespace")
    assert lines[5] == "It has no record: Reroll has not adopted it."
    assert source(facts, "files")["uses"][0]["live"] is True
    assert facts["ifOptedIn"]["reason"] == "Adopted"
    assert {call["verb"] for call in audit(reader)} <= {"get", "list"}


def test_annotations_of_a_tool_that_nothing_reads_are_named_with_what_to_set(
    stage: Stage, explain: Callable[..., Finished]
) -> None:
    template = {"reloader.stakater.com/search": "true"}
    auto = {"reloader.stakater.com/auto": "true"}
    web = build.deployment("web", uses="configmap/app", annotations=auto)
    web["spec"]["template"]["metadata"]["annotations"] = template
    stage.make(build.configmap("app"), web)

    facts = explain("deployment/web", "-o", "json").json

    assert facts["enabled"] is None
    [note] = facts["notes"]
    assert "(reloader.stakater.com/auto, reloader.stakater.com/search)" in note
    assert "set `dialects.reloader: true` in the chart, or --dialects reroll,reloader" in note


@pytest.mark.usefixtures("every_dialect")
def test_what_annotations_decide_is_told_with_where_they_stand(
    stage: Stage, explain: Callable[..., Finished]
) -> None:
    api = stage.api
    said = {"reroll.dev/debounce": "7s", "reroll.dev/mounts": "sometimes"}
    api.patch(path_to("Namespace", stage.namespace), {"metadata": {"annotations": said}})
    stage.make(build.configmap("app"), build.configmap("files"), build.configmap("more"))
    stage.make(build.configmap("deaf", annotations={"reroll.dev/ignore": "true"}))
    annotations = {
        **ENABLED,
        "reroll.dev/ignore": "configmap/app",
        "reroll.dev/sources": "configmap/mo*",
        "reroll.dev/strategy": "evict",
    }
    web = build.deployment(
        "web",
        uses=["configmap/app", "configmap/deaf", "secret/none", "secret/may?"],
        mounts=["configmap/files"],
        annotations=annotations,
    )
    wave = build.deployment(
        "wave",
        uses=["configmap/app"],
        annotations={"wave.pusher.com/update-on-config-change": "true"},
    )
    stage.make(web, wave)

    facts = explain("deployment/web", "-o", "json").json

    where = f"on Deployment {stage.namespace}/web"
    because = {one["name"]: (one["value"], one["because"]) for one in facts["decided"]}
    assert because["enabled"] == ("true", f"annotation reroll.dev/enabled {where}")
    assert because["strategy"] == ("evict", f"annotation reroll.dev/strategy {where}")
    home = f"on Namespace {stage.namespace}"
    assert because["debounce"] == ("7s", f"annotation reroll.dev/debounce {home}")
    assert because["mounts"] == ("frozen", "the default")
    assert any("'sometimes'" in sentence for sentence in facts["warnings"])
    states = {one["name"]: (one["content"], one["why"]) for one in facts["sources"]}
    assert states["app"] == ("does not count", "an annotation says to ignore it")
    assert states["deaf"] == ("does not count", "an annotation on it says so")
    assert states["none"] == ("missing", "")
    assert states["may"] == ("absent, allowed", "it is optional")
    assert states["files"] == ("not recorded yet", "")
    assert source(facts, "more")["named"] is True

    other = explain("deployment/wave", "-o", "json").json
    because = {one["name"]: (one["value"], one["because"]) for one in other["decided"]}
    assert because["enabled"] == ("true", "annotations of wave")
    key, place = "wave.pusher.com/update-on-config-change", f"Deployment {stage.namespace}/wave"
    assert because[key] == ("true", f"wave, on {place}")
    assert other["dialects"] == ["wave"]


def test_a_workload_that_does_not_exist_is_told_with_the_nearest_names(
    stage: Stage, explain: Callable[..., Finished]
) -> None:
    stage.make(build.configmap("app"), build.deployment("webshop"), build.statefulset("shop"))

    done = explain("deployment/webshp")
    wrong = explain("deployments/shop")
    pod, word = explain("pod/web"), explain("nothing")

    assert (done.code, done.out) == (1, "")
    assert f"there is no Deployment webshp in namespace {stage.namespace}; did" in done.err
    assert "did you mean deployment/webshop?" in done.err
    assert wrong.code == 1
    assert (pod.code, pod.out) == (1, "")
    assert f"there is no Pod web in namespace {stage.namespace}" in pod.err
    assert word.code == 2
    assert "'nothing' names no workload; write KIND/NAME, such as deployment/nothing" in word.err


def test_a_name_alone_and_a_pod_are_enough_where_they_mean_one_workload(
    stage: Stage, explain: Callable[..., Finished], kubeconfig_for: Callable[..., Path]
) -> None:
    web, twice = build.deployment("web", uses="configmap/app"), build.deployment("twice")
    stage.make(build.configmap("app"), web, twice, build.statefulset("twice"))
    stage.settled(web)
    by_hand = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
        "spec": {"containers": [{"name": "main", "image": "web"}]},
    }  # fmt: skip
    stage.make(by_hand)
    [pod] = [one["metadata"]["name"] for one in stage.pods(web)]

    plain = explain("deployment/web", "-o", "json").json
    for word in ("web", f"pod/{pod}", f"po/{pod}"):
        assert explain(word, "-o", "json").json["workload"] == plain["workload"], word
    several = explain("twice")
    assert several.code == 1
    assert "several workloads are called twice; write deployment/twice or statefulset/twice" in (
        several.err
    )
    assert "Pod alone was made by hand" in explain("pod/alone").err
    stranger = kubeconfig_for([], stage.namespace)
    assert f"Pod {pod} of namespace {stage.namespace} was not read: " in (
        explain(f"pod/{pod}", identity=stranger).err
    )


def test_every_kind_is_explained_and_what_may_not_be_read_is_told(
    stage: Stage, explain: Callable[..., Finished], kubeconfig_for: Callable[..., Path]
) -> None:
    stage.make(build.configmap("app"), build.secret("db"))
    kinds = [row for row in KINDS if row.name != "Rollout"]
    uses = ["configmap/app", "secret/db#password"]
    long = {"dev.reroll.dev/complete-after": "1h"}
    for row in kinds:
        stage.make(a(row, "web", uses=uses, annotations=ENABLED, template_annotations=long))
    for row in kinds:
        facts = explain(f"{row.name.lower()}/web", "-o", "json").json
        assert [one["name"] for one in facts["sources"]] == ["app", "db"], row.name
        assert facts["reason"] == "Adopted"
        assert facts["decided"][1]["value"] == row.default_strategy

    configs = {**READ[1], "resources": ["configmaps"]}
    blind = explain("deployment/web", identity=kubeconfig_for([READ[0], configs, READ[2]], None))
    assert blind.code == 1
    words = flat(blind.out)
    assert "Waiting: the content of its sources is being read" not in words
    assert any(line.startswith("Secret db") and "may not be read" in line for line in words)
    assert any(line.startswith("ConfigMap app") and "not recorded yet" in line for line in words)
    assert blind.err.count("secrets/db") == 1
    assert "grant `get` on secrets" in blind.err
