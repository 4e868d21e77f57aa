"""Other people write too: what they roll counts, and what they remove is no change."""

import copy
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.stage import (
    ENABLED,
    STAMP,
    Controller,
    Stage,
    a,
    again,
    alone,
    eventually,
    for_kinds,
)
from tests.support import build
from tests.support.tools import Tool, replace

from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]
Object = build.Object
USES = ["configmap/app", "secret/db"]

for_rolling_kinds = for_kinds(Strategy.STAMP)


def edit_template(stage: Stage, web: Object, label: str) -> None:
    """As somebody does who applies a manifest: with all of it, and without what others added."""
    template = copy.deepcopy(web["spec"]["template"])
    template["metadata"]["labels"]["edition"] = label
    stage.api.patch(stage.path(web), {"spec": {"template": template}})


def next_second() -> None:
    """Objects tell whole seconds: what happens after this is later by them."""
    time.sleep(1.1)


@pytest.mark.thorough
@for_rolling_kinds
def test_a_stamp_that_somebody_removes_causes_no_second_roll(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller)
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    record = stage.rolled(web, since=first["n"])
    stage.settled(web)

    template = {"metadata": {"annotations": {STAMP: None}}}
    stage.api.patch(stage.path(web), {"spec": {"template": template}})

    stage.settled(web)
    stage.quiet(web)
    again(one)
    stage.quiet(web)
    assert stage.stamp(web) is None
    assert stage.record(web) == record
    assert len(stage.revisions(web)) == 2


def test_a_replacement_in_the_middle_of_our_rollout_rolls_again(
    stage: Stage, controller: Start
) -> None:
    """It puts the template back whose pods have the content before, and were not replaced yet."""
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    web["spec"]["minReadySeconds"] = 500  # So that the rollout does not end.
    stage.make(build.configmap("app"), web)
    controller()
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    record = stage.rolled(web, since=first["n"])
    stamp = stage.stamp(web)

    stage.api.replace(stage.path(web), {**web, "status": {}})

    after = stage.rolled(web, since=record["n"])
    assert (after["why"], after["s"]) == ("ConfigChanged", record["s"])
    assert stage.stamp(web) == stamp
    stage.quiet(web)
    assert len(stage.revisions(web)) == 2


@pytest.mark.thorough
@for_kinds(Strategy.STAMP, Strategy.RESTART)
def test_a_workload_replaced_as_it_was_made_gets_its_record_back_and_rolls_with_the_next_change(
    stage: Stage, controller: Start, kubectl: Tool, kind: Kind
) -> None:
    """`kubectl replace` takes stamp and record away."""
    web = a(kind, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    alone(controller)
    first = stage.adopted(web)
    stage.change("ConfigMap", "app", key="new")
    record = stage.rolled(web, since=first["n"])
    stage.settled(web)

    replace(kubectl, stage.namespace, web)

    eventually(lambda: stage.record(web) == record, "it has its record again")
    stage.settled(web)
    stage.quiet(web)
    assert stage.stamp(web) is None
    assert len(stage.revisions(web)) == 2
    stage.change("ConfigMap", "app", key="newer")
    assert stage.rolled(web, since=record["n"])["by"] == ["configmap/app"]


@pytest.mark.thorough
@pytest.mark.parametrize("down", [False, True], ids=["while it runs", "while it is down"])
@for_rolling_kinds
def test_a_template_changed_after_its_source_is_the_only_roll(
    stage: Stage, controller: Start, kind: Kind, down: bool
) -> None:
    web = a(kind, uses=USES, annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    one = alone(controller, "--debounce", "2s")
    first = stage.adopted(web)
    stage.settled(web)
    if down:
        one.kill()

    stage.change("ConfigMap", "app", key="new")
    stage.change("Secret", "db", password="new")
    if down:
        next_second()
    edit_template(stage, web, "new")
    stage.settled(web)
    if down:
        one.start(wait="watching")

    eventually(lambda: stage.record(web)["n"] > first["n"], "it is recorded")
    assert stage.record(web)["why"] == "RolledElsewhere"
    stage.quiet(web, 3)
    assert len(stage.revisions(web)) == 2
    stage.change("ConfigMap", "app", key="newer")
    stage.rolled(web, since=stage.record(web)["n"] - 1)


@pytest.mark.thorough
@pytest.mark.parametrize("down", [False, True], ids=["while it runs", "while it is down"])
@for_rolling_kinds
def test_a_source_changed_after_the_template_still_rolls(
    stage: Stage, controller: Start, kind: Kind, down: bool
) -> None:
    web = a(kind, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller)
    first = stage.adopted(web)
    if down:
        one.kill()

    edit_template(stage, web, "new")
    if down:
        stage.settled(web)
        next_second()
    stage.change("ConfigMap", "app", key="new")
    if down:
        one.start(wait="watching")

    record = stage.rolled(web, since=first["n"])
    assert record["why"] == "ConfigChanged"
    stage.settled(web)
    stage.quiet(web)
    assert stage.record(web) == record
    # While it runs, the roll may come before there is a revision of the template that was changed.
    assert len(stage.revisions(web)) in ({3} if down else {2, 3})


def test_changes_of_the_same_second_while_it_was_down_roll_in_doubt(
    stage: Stage, controller: Start
) -> None:
    """Better one roll too many than old configuration: nothing tells which came first."""
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    one = alone(controller)
    first = stage.adopted(web)
    one.kill()

    edit_template(stage, web, "new")
    stage.change("ConfigMap", "app", key="new")
    one.start(wait="watching")

    record = eventually(lambda: (r := stage.record(web))["n"] > first["n"] and r)
    stage.quiet(web)
    assert record["why"] == "ConfigChanged" or _newest(stage, web) > _second(stage, "app")


def _newest(stage: Stage, web: Object) -> str:
    return max(one["metadata"]["creationTimestamp"] for one in stage.revisions(web))


def _second(stage: Stage, name: str) -> str:
    source = stage.api.get(path_to("ConfigMap", name, stage.namespace))
    return max(field["time"] for field in source["metadata"]["managedFields"])


# One `kubectl apply` of a folder


def folder(path: Path, *manifests: Object) -> Path:
    """With files that are applied in this order."""
    for number, manifest in enumerate(manifests):
        (path / f"{number}.yaml").write_text(yaml.safe_dump(manifest))
    return path


@pytest.fixture
def apply(stage: Stage, kubectl: Tool) -> Callable[..., None]:
    def run(path: Path, *flags: str) -> None:
        kubectl("apply", "--namespace", stage.namespace, "-f", path, *flags)

    return run


def sources(value: str) -> list[Object]:
    return [
        build.configmap("app", {"key": value}),
        build.configmap("files", {"key": value}),
        build.secret("db", {"password": value}),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["by the client", "by the server"])
@pytest.mark.parametrize(
    ("edition", "workload_first", "rollouts"),
    [
        pytest.param("old", False, 1, id="that changes sources alone is one rollout"),
        pytest.param("new", False, 1, id="that changes sources and then the template is one"),
        pytest.param("new", True, 2, id="in the reverse order still ends with current config"),
    ],
)
def test_applying_a_folder(
    stage: Stage,
    controller: Start,
    apply: Callable[..., None],
    tmp_path: Path,
    edition: str,
    workload_first: bool,
    rollouts: int,
    flags: tuple[str, ...],
) -> None:
    def manifests(value: str, label: str) -> list[Object]:
        web = build.deployment(
            "web",
            uses=["configmap/app", "secret/db"],
            mounts="configmap/files",
            template_labels={"edition": label},
            annotations=ENABLED,
        )
        return [web, *sources(value)] if workload_first else [*sources(value), web]

    web = build.deployment("web")
    apply(folder(tmp_path, *manifests("old", "old")), *flags)
    alone(controller, "--debounce", "4s", "--debounce-limit", "20s")
    first = stage.adopted(web)
    stage.settled(web)

    apply(folder(tmp_path, *manifests("new", edition)), *flags)

    eventually(lambda: stage.record(web)["n"] > first["n"], "it is decided")
    stage.settled(web)
    stage.quiet(web)
    assert len(stage.revisions(web)) == 1 + rollouts
    assert stage.record(web)["why"] == (
        "RolledElsewhere" if edition == "new" and not workload_first else "ConfigChanged"
    )
