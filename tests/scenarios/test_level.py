"""What counts is what is there, not what was heard: restarts, bursts, and other people's writes."""

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.scenarios.stage import ENABLED, STAMP, Controller, Stage, a, eventually, for_kinds
from tests.support import build
from tests.support.tools import Tool

from reroll.core.kinds import Kind, Strategy
from reroll.devcluster.api import path_to

Start = Callable[..., Controller]
Object = build.Object
USES = ["configmap/app", "secret/db"]
ALONE = ("--leader-election", "false")
"""Nobody's Lease to wait for after a kill."""

for_rolling_kinds = for_kinds(Strategy.STAMP)


def alone(controller: Start, *flags: str) -> Controller:
    return controller(*ALONE, *flags, wait="watching")


def again(one: Controller) -> None:
    """Kill it and start it anew."""
    one.kill()
    one.start(wait="watching")


def edit_template(stage: Stage, web: Object, label: str) -> None:
    """As somebody does who applies a manifest: with all of it, and without what others added."""
    template = copy.deepcopy(web["spec"]["template"])
    template["metadata"]["labels"]["edition"] = label
    stage.api.patch(stage.path(web), {"spec": {"template": template}})


def next_second() -> None:
    """Objects tell whole seconds: what happens after this is later by them."""
    time.sleep(1.1)


# Adopting never rolls


@for_rolling_kinds
def test_neither_the_first_look_nor_a_restart_nor_opting_in_later_rolls(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web, late = a(kind, "web", uses=USES, annotations=ENABLED), a(kind, "late", uses=USES)
    stage.make(build.configmap("app"), build.secret("db"), web, late)
    one = alone(controller)
    stage.adopted(web)

    stage.annotate(late, enabled="true")
    stage.adopted(late)
    again(one)
    assert one.stop() == 0
    one.start(wait="watching")

    stage.quiet(web)
    for workload in (web, late):
        assert stage.record(workload)["why"] == "Adopted"
        assert len(stage.revisions(workload)) == 1
    assert len(one.said("Adopted")) == 2


def test_many_workloads_at_once_are_adopted_and_none_rolls(stage: Stage, controller: Start) -> None:
    webs = [build.deployment(f"web-{n}", replicas=0, uses=USES) for n in range(80)]
    stage.make(build.configmap("app"), build.secret("db"), *webs)
    one = alone(controller)
    everything = path_to("Deployment", "", stage.namespace)

    stage.api.patch(path_to("Namespace", stage.namespace), {"metadata": {"annotations": ENABLED}})

    eventually(lambda: all(map(_record_of, stage.api.list(everything))), "all are adopted")
    again(one)
    stage.quiet(webs[0])
    assert len(stage.api.list(path_to("ReplicaSet", "", stage.namespace))) == 80
    assert not one.said("ConfigChanged")


def _record_of(workload: Object) -> str | None:
    return workload["metadata"].get("annotations", {}).get("reroll.dev/state")


# Changes that nobody heard, and changes that everybody heard ten times


@for_rolling_kinds
def test_changes_while_it_was_down_roll_once_when_it_is_back(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses=USES, annotations=ENABLED)
    idle = a(kind, "idle", uses="configmap/idle", annotations=ENABLED)
    stage.make(build.configmap("app"), build.configmap("idle"), build.secret("db"), web, idle)
    one = alone(controller)
    first = stage.adopted(web)
    stage.adopted(idle)
    one.kill()

    for value in ("one", "two"):
        stage.change("ConfigMap", "app", key=value)
        stage.change("Secret", "db", password=value)
    one.start(wait="watching")

    record = stage.rolled(web, since=first["n"])
    again(one)
    stage.quiet(web)
    assert record["by"] == ["configmap/app", "secret/db"]
    assert len(stage.revisions(web)) == 2
    assert len(stage.revisions(idle)) == 1


def test_ten_changes_in_a_second_are_one_roll(stage: Stage, controller: Start) -> None:
    web = build.deployment("web", uses=USES, annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    alone(controller, "--debounce", "2s")
    first = stage.adopted(web)

    for number in range(5):
        stage.change("ConfigMap", "app", key=f"value {number}")
        stage.change("Secret", "db", password=f"value {number}")

    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app", "secret/db"]
    stage.quiet(web, 3)
    assert len(stage.revisions(web)) == 2


def test_a_source_that_never_rests_rolls_all_the_same(stage: Stage, controller: Start) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    alone(controller, "--debounce", "1s", "--debounce-limit", "2s")
    first = stage.adopted(web)
    changes = iter(range(1000))

    def rolled_while_it_changes() -> bool:
        stage.change("ConfigMap", "app", key=f"value {next(changes)}")
        return stage.record(web)["n"] > first["n"]

    eventually(rolled_while_it_changes)


def test_a_change_that_is_taken_back_before_the_quiet_time_is_over_rolls_nothing(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "old"}), web)
    alone(controller, "--debounce", "2s")
    stage.adopted(web)

    stage.change("ConfigMap", "app", key="new")
    stage.change("ConfigMap", "app", key="old")

    stage.quiet(web, 3)
    assert len(stage.revisions(web)) == 1


@for_rolling_kinds
def test_a_content_that_comes_back_returns_to_its_old_revision(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "first"}), web)
    alone(controller, "--debounce", "0")
    number = stage.adopted(web)["n"]
    stamps = []

    for value in ("a", "b", "a", "b"):
        stage.change("ConfigMap", "app", key=value)
        number = stage.rolled(web, since=number)["n"]
        stage.settled(web)
        stamps.append(stage.stamp(web))

    assert stamps == [*stamps[:2], *stamps[:2]]
    assert len(set(stamps)) == 2
    assert len(stage.revisions(web)) == 3


# Other people write too


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


@for_kinds(Strategy.STAMP, Strategy.RESTART)
def test_a_workload_replaced_as_it_was_made_is_adopted_anew_and_rolls_with_the_next_change(
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

    kubectl("replace", "--namespace", stage.namespace, "-f", "-", input=json.dumps(web))

    eventually(lambda: stage.record(web).get("why") == "Adopted")
    stage.settled(web)
    stage.quiet(web)
    assert stage.stamp(web) is None
    assert len(stage.revisions(web)) == 2
    stage.change("ConfigMap", "app", key="newer")
    assert stage.rolled(web, since=record["n"])["by"] == ["configmap/app"]


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

    assert stage.rolled(web, since=first["n"])["why"] == "ConfigChanged"
    stage.quiet(web)
    assert len(stage.revisions(web)) == 3


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
