"""`reroll history` on a real cluster, after a controller did its work."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.terminal import in_terminal
from tests.support.tools import kubeconfig_of

from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

READ = [
    *({"apiGroups": [row.group], "resources": [row.plural], "verbs": ["list"]} for row in KINDS),
    {"apiGroups": ["apps"], "resources": ["replicasets", "controllerrevisions"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]},
]


@pytest.fixture
def history(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    def run(*args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("history", *args, *where)

    return run


def told(done: Finished, kind: str) -> list[tuple[str, list[str], list[str]]]:
    return [
        (one["reason"], [each["entry"] for each in one["sources"]], one["keys"])
        for one in done.json["history"]
        if one["workload"]["kind"] == kind
    ]


def test_rolls_are_told_with_keys_and_managers_the_newest_first(
    stage: Stage,
    history: Callable[..., Finished],
    controller: Callable[..., Controller],
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
    cluster: DevCluster,
) -> None:
    stage.make(build.configmap("app", {"level": "info", "size": "1"}), build.secret("db"))
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=ENABLED)
    db = build.statefulset("db", uses=["configmap/app#level"], annotations=ENABLED)
    stage.make(web, db, build.deployment("other"))
    controller()
    adopted = {one["kind"]: stage.adopted(one)["n"] for one in (web, db)}
    path = path_to("ConfigMap", "app", stage.namespace)
    stage.api.patch(path, {"data": {"level": "debug"}}, fieldManager="day-shift")
    first = stage.rolled(web, adopted["Deployment"])
    stage.rolled(db, adopted["StatefulSet"])
    # Two rolls at once may be one revision: Kubernetes makes one of the template that it sees.
    eventually(lambda: len(stage.revisions(web)) == 2, "the first roll has its revision")
    secret = path_to("Secret", "db", stage.namespace)
    body = {"data": {"password": build.encode("correct horse")}}
    stage.api.patch(secret, body, fieldManager="night-shift")
    stage.rolled(web, first["n"])
    eventually(lambda: len(stage.events(web, "ConfigChanged")) == 2, "both Events are written")
    eventually(lambda: len(stage.revisions(web)) == 3, "each roll has its revision")
    reader = kubeconfig_for(READ, stage.namespace)
    stage.settled(web)

    done = history("-o", "json", identity=reader)
    plain = history("deployment/web")

    assert (done.code, done.err) == (0, "")
    assert told(done, "Deployment") == [
        ("ConfigChanged", ["secret/db"], ["password"]),
        ("ConfigChanged", ["configmap/app"], ["level"]),
        ("Adopted", [], []),
    ]
    assert told(done, "StatefulSet")[0] == (
        "ConfigChanged", ["configmap/app#level"], ["level"],
    )  # fmt: skip
    [newest, older, _] = [
        one for one in done.json["history"] if one["workload"]["kind"] == "Deployment"
    ]
    assert newest["sources"][0]["changedBy"] == "night-shift"
    assert older["sources"][0]["changedBy"] == "day-shift"
    assert newest["revision"] != older["revision"]
    assert {call["verb"] for call in audit(reader)} == {"list", "get"}
    head, row, *_ = plain.out.splitlines()
    columns = "WHEN WORKLOAD REASON RESULT BECAUSE OF KEYS CHANGED BY"
    assert head.split() == columns.split()
    assert row.split()[2:] == [
        "deployment/web", "ConfigChanged", "complete", "secret/db", "password", "night-shift",
    ]  # fmt: skip
    assert len(history("--limit", "1").out.splitlines()) == 2

    # ConfigMaps come in another stream than Secrets: it knows of one when it knows of the other.
    last = build.deployment("last", uses="secret/last", annotations=ENABLED)
    stage.make(build.secret("last"), last)
    number = stage.adopted(last)["n"]
    stage.api.delete(secret)
    stage.change("Secret", "last", password="new")
    stage.rolled(last, since=number)
    stage.change("ConfigMap", "app", size="2")
    eventually(lambda: stage.events(web, "SourceMissing"), "the roll is held, with an Event")
    all_ = history("deployment/web", "-o", "json").json["history"]
    [held] = [one for one in all_ if one["toldBy"] == "event"]
    assert held["reason"] == "SourceMissing"
    assert f"Secret {stage.namespace}/db" in held["message"]
    assert "hunter2" not in done.out + plain.out
    home = ("-n", stage.namespace, "--controller-namespace", stage.namespace)
    where = (*home, "--kubeconfig", kubeconfig_of(cluster, "admin"))
    assert in_terminal("history", *where, columns=70).widest <= 70


def test_without_records_nothing_is_known_and_a_wrong_name_is_told(
    stage: Stage, history: Callable[..., Finished], kubeconfig_for: Callable[..., Path]
) -> None:
    stage.make(build.deployment("web"))

    assert history().out.startswith("No history: ")
    wrong = history("deployment/wbe")
    assert (wrong.code, wrong.out) == (1, "")
    assert f"there is no Deployment wbe in namespace {stage.namespace}; did" in wrong.err
    assert "did you mean deployment/web?" in wrong.err
    assert history("--limit", "0").code == 2
    blind = history(identity=kubeconfig_for(READ[: len(KINDS)], stage.namespace))
    assert blind.code == 0
    assert "events in namespace" in blind.err
    assert "replicasets.apps in namespace" in blind.err
