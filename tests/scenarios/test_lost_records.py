"""Another writer removes a record, or sets it back: the change that comes with it is not lost.

`kubectl replace`, `helm upgrade --force`, Argo CD with `Replace=true` and Terraform all write a
workload without what others added to it: one PUT. What they remove here is the record alone, so no
template changes with it, which is the case in which nothing else replaces the pods.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, RECORD, Controller, Stage, a, again, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.tools import Tool

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll_dev.api import ApiError, path_to

Start = Callable[..., Controller]
while_it = pytest.mark.parametrize("down", [False, True], ids=["runs", "is down"])
RUNS_LONG = {"dev.reroll.dev/complete-after": "1h"}
STRATEGIES = {"CronJob": "trigger", "Job": "recreate"}
"""Of kinds that leave their pods alone by default."""
AT_ONCE = ("--debounce", "100ms")


def one_of_each() -> list[Object]:
    """An opted-in workload of every kind, each by a strategy that replaces or starts pods."""
    return [
        a(
            kind,
            kind.plural,
            uses="configmap/app",
            annotations={
                **ENABLED,
                **({"reroll.dev/strategy": how} if (how := STRATEGIES.get(kind.name)) else {}),
            },
            **({"template_annotations": RUNS_LONG} if kind.name == "Job" else {}),
        )
        for kind in KINDS
    ]


def replace(stage: Stage, web: Object) -> None:
    """Write it without its record, and else as it is."""

    def put() -> bool:
        try:
            found = stage.get(web)
            found["metadata"]["annotations"].pop(RECORD, None)
            stage.api.replace(stage.path(web), found)
        except ApiError as error:
            if error.status not in {404, 409}:  # A Job that is recreated is gone in between.
                raise
            return False
        return True

    eventually(put, "it is replaced")


def replace_all(stage: Stage, webs: list[Object], value: str) -> None:
    """What `kubectl replace -f` does with a folder: the ConfigMap, then what uses it."""
    path = path_to("ConfigMap", "app", stage.namespace)
    stage.api.replace(path, build.configmap("app", {"key": value}))
    for web in webs:
        replace(stage, web)


def rolled(stage: Stage, web: Object, since: int) -> dict[str, Any]:
    """As `Stage.rolled`; a Job that is recreated is gone in between."""

    def new() -> dict[str, Any] | None:
        try:
            record = stage.record(web)
        except ApiError as error:
            if error.status != 404:
                raise
            return None
        return record if record.get("n", 0) > since and record.get("rolled") else None

    return eventually(new, f"{web['kind']} rolls")


def backup(stage: Stage) -> dict[str, str]:
    """What is written down of all records, by uid."""
    path = path_to("ConfigMap", "", stage.namespace)
    found = stage.api.list(path, labelSelector="reroll.dev/records")
    return {uid: text for one in found for uid, text in one.get("data", {}).items()}


@while_it
@pytest.mark.usefixtures("rollouts")
def test_a_change_that_comes_with_a_replacement_rolls_every_kind_every_time(
    stage: Stage, controller: Start, down: bool
) -> None:
    webs = one_of_each()
    stage.make(build.configmap("app"), *webs)
    one = alone(controller, "--debounce", "1s")
    numbers = {web["kind"]: stage.adopted(web)["n"] for web in webs}

    for value in ("two", "three"):
        if down:
            one.stop()
        replace_all(stage, webs, value)
        if down:
            one.start(wait="watching")
        for web in webs:
            record = rolled(stage, web, since=numbers[web["kind"]])
            assert (record["why"], record["by"]) == ("ConfigChanged", ["configmap/app"])
            numbers[web["kind"]] = record["n"]

    job_names = [
        one["metadata"]["name"] for one in stage.api.list(path_to("Job", "", stage.namespace))
    ]
    assert len([name for name in job_names if name.startswith("cronjobs-")]) == 2


@pytest.mark.usefixtures("rollouts")
def test_a_replacement_without_a_change_rolls_nothing_and_the_record_comes_back(
    stage: Stage, controller: Start
) -> None:
    webs = one_of_each()
    stage.make(build.configmap("app"), *webs)
    one = alone(controller, *AT_ONCE)
    records = {web["kind"]: stage.adopted(web) for web in webs}
    templates = {web["kind"]: stage.template(web) for web in webs}

    for is_down in (False, True):
        if is_down:
            one.stop()
        for web in webs:
            replace(stage, web)
        if is_down:
            one.start(wait="watching")
        for web in webs:
            assert stage.adopted(web) == records[web["kind"]]
            assert stage.template(web) == templates[web["kind"]]

    assert len({line["workload"] for line in one.said("RecordRestored")}) == len(webs)
    assert len(one.said("Adopted")) == len(webs)


@while_it
def test_a_held_change_is_held_through_a_replacement(
    stage: Stage, controller: Start, hold: Command, release: Command, down: bool
) -> None:
    webs = [a(kind, uses="configmap/app", annotations=ENABLED) for kind in KINDS[:2]]
    stage.make(build.configmap("app"), *webs)
    one = alone(controller, *AT_ONCE)
    numbers = [stage.adopted(web)["n"] for web in webs]
    for web in webs:
        hold(f"{web['kind'].lower()}/web")
    stage.change("ConfigMap", "app", key="new")
    for web in webs:
        eventually(lambda web=web: stage.events(web, "Held"), "it is held")

    if down:
        one.stop()
    for web in webs:
        replace(stage, web)
    if down:
        one.start(wait="watching")
    for web in webs:
        stage.quiet(web, 0.5)
        release(f"{web['kind'].lower()}/web")

    for web, number in zip(webs, numbers, strict=True):
        assert stage.rolled(web, since=number)["why"] in {"ConfigChanged", "Released"}


def test_a_strategic_merge_that_prunes_annotations_loses_no_change(
    stage: Stage, controller: Start
) -> None:
    webs = [a(kind, uses="configmap/app", annotations=ENABLED) for kind in KINDS[:3]]
    stage.make(build.configmap("app"), *webs)
    alone(controller, *AT_ONCE)
    numbers = [stage.adopted(web)["n"] for web in webs]

    stage.change("ConfigMap", "app", key="new")
    for web in webs:
        pruned = {"metadata": {"annotations": {"$patch": "replace", **ENABLED}}}
        stage.api.patch(stage.path(web), pruned, kind="strategic")

    for web, number in zip(webs, numbers, strict=True):
        assert stage.rolled(web, since=number)["by"] == ["configmap/app"]


@while_it
def test_an_old_record_in_a_manifest_declines_nothing(
    stage: Stage, controller: Start, down: bool
) -> None:
    """`kubectl get -o yaml > repo`, and that is applied with every deploy."""
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller, *AT_ONCE)
    first = stage.adopted(web)
    old = {"metadata": {"annotations": {RECORD: json.dumps(first)}}}
    stage.change("ConfigMap", "app", key="two")
    number = stage.rolled(web, since=first["n"])["n"]

    for value in ("three", "value"):  # The second is what the old record was of.
        if down:
            one.stop()
        stage.change("ConfigMap", "app", key=value)
        stage.api.patch(stage.path(web), old)
        if down:
            one.start(wait="watching")
        record = stage.rolled(web, since=number)
        assert record["why"] == "ConfigChanged"
        number = record["n"]

    assert one.said("Undone") == []


def test_what_was_written_down_survives_a_crash_and_goes_with_its_workload(
    stage: Stage, controller: Start
) -> None:
    web = build.statefulset("web", uses="configmap/app", annotations=ENABLED)
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, other)
    one = alone(controller, *AT_ONCE)
    first = stage.adopted(web)
    uids = [stage.get(each)["metadata"]["uid"] for each in (web, other)]
    eventually(lambda: sorted(backup(stage)) == sorted(uids), "the backup is written")
    one.kill()
    replace_all(stage, [web], "two")
    stage.api.delete(stage.path(other))

    one.start(wait="watching")
    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app"]
    one.stop()
    assert list(backup(stage)) == uids[:1]


def test_without_the_right_to_a_backup_it_says_so_and_revisions_tell(
    stage: Stage, controller: Start, kubeconfig_for: Callable[..., Path], chart_rules: list[Any]
) -> None:
    lacking = [_without_writing_configmaps(rule) for rule in chart_rules]
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    flags = ("--leader-election", "false", *AT_ONCE)
    one = controller(*flags, wait="watching", kubeconfig=kubeconfig_for(lacking, None))
    number = stage.adopted(web)["n"]
    [said] = [line for line in one.lines() if line["msg"] == "no backup of records"]
    assert f"on configmaps in namespace {stage.namespace}" in said["problem"]
    copied_to_revisions(stage, web)

    one.stop()
    replace_all(stage, [web], "two")
    one.start(wait="watching")

    assert stage.rolled(web, since=number)["by"] == ["configmap/app"]


def copied_to_revisions(stage: Stage, web: build.Object) -> None:
    """Kubernetes copies the record of a Deployment a moment after it was written."""

    def copied() -> bool:
        found = stage.revisions(web)
        return bool(found) and all(RECORD in one["metadata"]["annotations"] for one in found)

    eventually(copied, "Kubernetes copied the record")


def _without_writing_configmaps(rule: rights.Rule) -> rights.Rule:
    if "configmaps" not in rule["resources"]:
        return rule
    return {**rule, "verbs": [verb for verb in rule["verbs"] if verb in {"get", "list", "watch"}]}


def test_a_pipeline_without_a_controller_reads_the_revisions_before_it_adopts(
    stage: Stage, sync: Command
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    sync()
    number = stage.record(web)["n"]
    copied_to_revisions(stage, web)

    replace_all(stage, [web], "two")
    finished = sync()

    assert "ConfigChanged" in finished.out
    assert stage.rolled(web, since=number)["by"] == ["configmap/app"]


def test_an_undo_after_a_restart_is_told_from_an_old_record(
    stage: Stage, controller: Start, kubectl: Tool
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller, *AT_ONCE)
    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="two")
    stage.rolled(web, since=number)
    stage.settled(web)
    again(one)
    one.stop()
    kubectl("rollout", "undo", "deployment/web", "--namespace", stage.namespace)
    stage.settled(web)

    one.start(wait="watching")

    eventually(lambda: stage.record(web)["why"] == "Undone", "it is declined")
    stage.quiet(web)
