"""What counts as configuration of a workload, and what a change of it does."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.build import content, reference
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually, for_kinds
from tests.support import build

from reroll.core.model.digest import reference_digest
from reroll.core.model.key import Key
from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]


def asking(**more: str) -> dict[str, str]:
    return {**ENABLED, **{f"reroll.dev/{key.replace('_', '-')}": v for key, v in more.items()}}


def mounted(name: str, mount: dict[str, Any] | None = None, **source: Any) -> dict[str, Any]:
    """A volume of one ConfigMap, mounted."""
    return {
        "volumes": [{"name": "v", **(source or {"configMap": {"name": name}})}],
        "volume_mounts": [{"name": "v", "mountPath": "/v", **(mount or {})}],
    }


def in_pod(**containers: Any) -> dict[str, Any]:
    env = [{"configMapRef": {"name": "init"}}]
    one = {"name": "first", "image": "example.invalid/app:1", "envFrom": env, **containers}
    return {"pod": {"initContainers": [one]}}


# name of the ConfigMap and of the workload -> how its pod template refers to it
WAYS: dict[str, dict[str, Any]] = {
    "env": {"uses": "configmap/env#key"},
    "env-from": {"uses": "configmap/env-from"},
    "volume": mounted("volume"),
    "items": mounted(
        "items", configMap={"name": "items", "items": [{"key": "key", "path": "file"}]}
    ),
    "projected": mounted(
        "projected", projected={"sources": [{"configMap": {"name": "projected"}}]}
    ),
    "sub-path": mounted("sub-path", {"subPath": "key"}),
    "init": in_pod(),
    "sidecar": in_pod(envFrom=[{"configMapRef": {"name": "sidecar"}}], restartPolicy="Always"),
}


def test_every_way_to_refer_to_a_source_rolls_the_workload_once(
    stage: Stage, controller: Start
) -> None:
    workloads = [build.deployment(name, annotations=ENABLED, **way) for name, way in WAYS.items()]
    for name, web in zip(WAYS, workloads, strict=True):
        stage.make(build.configmap(name), web)
    controller()
    numbers = [stage.adopted(web)["n"] for web in workloads]
    for web in workloads:
        stage.settled(web)

    for name in WAYS:
        stage.change("ConfigMap", name, key="new")

    for web, number in zip(workloads, numbers, strict=True):
        stage.rolled(web, since=number)
        stage.settled(web)
    stage.quiet(workloads[-1])
    assert {len(stage.revisions(web)) for web in workloads} == {2}


@for_kinds(Strategy.STAMP)
def test_a_source_named_by_an_annotation_counts_and_only_the_key_it_names(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, annotations=asking(sources="configmap/app, secret/db#password"))
    stage.make(build.configmap("app"), build.secret("db", {"password": "a", "user": "b"}), web)
    controller()
    number = stage.adopted(web)["n"]

    stage.change("Secret", "db", user="c")
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    stage.change("Secret", "db", password="d")
    record = stage.rolled(web, since=number)
    assert record["by"] == ["secret/db#password"]
    stage.change("ConfigMap", "app", key="e")
    assert stage.rolled(web, since=record["n"])["by"] == ["configmap/app"]


def test_a_glob_counts_what_it_finds_now_and_later_and_nothing_else(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(annotations=asking(sources="configmap/ca-*, secret/ca-[ab]"))
    stage.make(*(build.configmap(name) for name in ("ca-1", "ca-2", "cb")))
    stage.make(build.secret("ca-a"), build.secret("ca-c"), web)
    controller()
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "cb", key="new")
    stage.change("Secret", "ca-c", password="new")
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    for change, entry in (
        (lambda: stage.change("ConfigMap", "ca-2", key="new"), "configmap/ca-2"),
        (lambda: stage.change("Secret", "ca-a", password="new"), "secret/ca-a"),
        (lambda: stage.make(build.configmap("ca-3")), "configmap/ca-3"),
        (lambda: stage.make(build.secret("ca-b")), "secret/ca-b"),
    ):
        change()
        record = stage.rolled(web, since=number)
        assert record["by"] == [entry]
        number = record["n"]


def test_a_workload_that_opts_in_with_a_glob_while_it_runs_is_adopted_and_not_rolled(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment()
    stage.make(web)
    stage.settled(web)
    controller()
    stage.make(*(build.configmap(f"ca-{i}") for i in range(3)), build.secret("ca-a"))
    time.sleep(1.1)  # Kubernetes tells whole seconds: the content is newer than the pods

    stage.annotate(web, enabled="true", sources="configmap/ca-*, secret/ca-*")

    stage.adopted(web)
    stage.quiet(web)
    assert stage.stamp(web) is None
    assert {entry for entry in stage.record(web)["s"] if "*" not in entry} == {
        *(f"configmap/ca-{i}" for i in range(3)),
        "secret/ca-a",
    }


def test_a_source_of_another_namespace_counts_only_with_its_consent(
    stage: Stage, controller: Start, another: Callable[[], Stage]
) -> None:
    there = another()
    elsewhere = there.namespace
    shared = build.configmap("shared")
    there.make(shared, build.secret("vault"))
    wanted = f"configmap/{elsewhere}/shared, secret/{elsewhere}/vault"
    web = build.deployment(annotations=asking(sources=wanted), uses="configmap/app")
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    told = eventually(lambda: stage.events(web, "InvalidAnnotation"), "Events tell of it")
    assert all("reroll.dev/allow-from" in event["message"] for event in told)

    there.change("ConfigMap", "shared", key="new")
    there.change("Secret", "vault", password="new")
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    there.annotate(shared, allow_from=f"other, {stage.namespace}")
    there.annotate(build.secret("vault"), allow_from="t-*")
    eventually(lambda: len(stage.record(web)["s"]) == 3, "both are recorded")
    stage.quiet(web)
    assert stage.stamp(web) is None
    held = content({"key": "new"})
    plain = reference_digest(reference(Key("ConfigMap", elsewhere, "shared")), held, "")
    assert stage.record(web)["s"][f"configmap/{elsewhere}/shared"] != plain

    for kind, name in (("ConfigMap", "shared"), ("Secret", "vault")):
        number = stage.record(web)["n"]
        key = "key" if kind == "ConfigMap" else "password"
        there.change(kind, name, **{key: "newer"})
        assert stage.rolled(web, since=number)["by"] == [f"{kind.lower()}/{elsewhere}/{name}"]

    there.annotate(shared, allow_from=None)
    eventually(lambda: len(stage.record(web)["s"]) == 2, "it is forgotten")
    there.change("ConfigMap", "shared", key="newest")
    stage.quiet(web)


@for_kinds(Strategy.STAMP)
def test_what_the_workload_ignores_does_not_roll_it(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    ignoring = asking(ignore="configmap/noise, configmap/app#comment")
    uses = ["configmap/app", "configmap/noise"]
    web = a(kind, annotations=ignoring, uses=uses)
    stage.make(build.configmap("app", {"key": "a", "comment": "b"}), build.configmap("noise"), web)
    controller()
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "noise", key="new")
    stage.change("ConfigMap", "app", comment="new")
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    stage.change("ConfigMap", "app", key="new")
    assert stage.rolled(web, since=number)["keys"] == ["key"]


def test_a_source_that_wants_to_be_ignored_rolls_nobody_until_it_no_longer_does(
    stage: Stage, controller: Start
) -> None:
    sources = [
        build.configmap("app", annotations={"reroll.dev/ignore": "true"}),
        build.secret("db", annotations={"reroll.dev/ignore": "true"}),
    ]
    web = build.deployment(uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(*sources, web)
    controller()
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "app", key="new")
    stage.change("Secret", "db", password="new")
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    for source in sources:
        stage.annotate(source, ignore=None)
    eventually(lambda: len(stage.record(web)["s"]) == 2, "they count again")
    number = stage.record(web)["n"]
    stage.change("Secret", "db", password="newer")
    assert stage.rolled(web, since=number)["by"] == ["secret/db"]


def test_live_mounts_do_not_roll_but_frozen_uses_of_the_same_source_do(
    stage: Stage, controller: Start
) -> None:
    live = asking(mounts="live")
    web = build.deployment("web", annotations=live, **mounted("app"))
    both = build.deployment("both", annotations=live, uses="configmap/app#env", **mounted("app"))
    part = build.deployment("part", annotations=live, **mounted("app", {"subPath": "file"}))
    stage.make(build.configmap("app", {"env": "a", "file": "b", "other": "c"}), web, both, part)
    controller()
    numbers = {w["metadata"]["name"]: stage.adopted(w)["n"] for w in (web, both, part)}

    stage.change("ConfigMap", "app", other="new")
    for one in (web, both, part):
        stage.quiet(one, 0.5)
        assert stage.record(one)["n"] == numbers[one["metadata"]["name"]]

    stage.change("ConfigMap", "app", env="new", file="new")
    assert stage.rolled(both, since=numbers["both"])["by"] == ["configmap/app#env"]
    assert stage.rolled(part, since=numbers["part"])["by"] == ["configmap/app#file"]
    stage.quiet(web, 0.5)


def test_binary_data_and_empty_content_count(stage: Stage, controller: Start) -> None:
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", binaryData={"blob": build.encode("\x00\x01")}), web)
    controller()
    number = stage.adopted(web)["n"]
    path = path_to("ConfigMap", "app", stage.namespace)

    stage.api.patch(path, {"binaryData": {"blob": build.encode("\x00\x02")}})
    record = stage.rolled(web, since=number)
    assert record["keys"] == ["blob"]

    stage.api.patch(path, {"data": None, "binaryData": None})
    assert stage.rolled(web, since=record["n"])["by"] == ["configmap/app"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_labels_and_annotations_of_a_source_roll_nothing(
    stage: Stage, controller: Start, kind: str
) -> None:
    source = build.configmap("app") if kind == "ConfigMap" else build.secret("app")
    web = build.deployment(uses=source, annotations=ENABLED)
    stage.make(source, web)
    controller()
    stage.adopted(web)

    meta = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    stage.api.patch(stage.path(source), {"metadata": meta})

    stage.quiet(web)
