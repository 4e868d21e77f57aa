"""Reloader's annotations on a real control plane: what rolls, row by row of its precedence."""

import hashlib
import time
import uuid
from collections.abc import Callable

import pytest
from tests.core.dialects.test_reloader import PRECEDENCE, Case, policy
from tests.scenarios.reloads import AUTO
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build

from reroll.core.dialects.reloader_marks import variable
from reroll.core.model.key import Key

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
WEB = build.deployment("web")
SOURCES = {"ConfigMap": build.configmap, "Secret": build.secret}


def furnish(stage: Stage, case: Case) -> None:
    """A workload that uses the ConfigMap and the Secret `app`, and the source of the case."""
    metadata = {"annotations": case.on_source}
    for kind, build_one in SOURCES.items():
        for name in sorted({"app", case.source} if kind == case.kind else {"app"}):
            marked = metadata if (kind, name) == (case.kind, case.source) else {}
            stage.make(build_one(name, {"key": "old"}, **marked))
    stage.make(
        build.deployment(
            "web",
            replicas=0,
            annotations=case.own,
            template_annotations=case.below,
            uses=["configmap/app", "secret/app"],
        )
    )


@pytest.mark.parametrize("everybody", [False, True], ids=["who opted in", "everybody"])
def test_what_rolls_a_workload(
    everybody: bool, another: Callable[..., Stage], controller: Start
) -> None:
    label = uuid.uuid4().hex[:8]
    cases = {
        name: case
        for name, case in PRECEDENCE.items()
        if case.everybody is everybody and case.kind in SOURCES
    }
    stages = {name: another(labels={"run": label}) for name in cases}
    for name, stage in stages.items():
        furnish(stage, cases[name])
    flags = ("--namespace-selector", f"run={label}", "--foreign-hashes", "same")
    controller(*flags, *(("--auto-all",) if everybody else ()))
    for name, stage in stages.items():
        if policy(cases[name].own, cases[name].below, everybody=everybody).enabled:
            stage.adopted(WEB)
    before = {name: stage.template(WEB) for name, stage in stages.items()}

    for name, stage in stages.items():
        stage.change(cases[name].kind, cases[name].source, key="new")

    for name, stage in stages.items():
        if cases[name].rolls:
            eventually(lambda s=stage: s.record(WEB).get("rolled"), f"{name}: it rolls")
    time.sleep(1.5)  # For those that must not roll: a settling time, not a measurement.
    rolled = {name for name, stage in stages.items() if stage.template(WEB) != before[name]}
    assert rolled == {name for name, case in cases.items() if case.rolls}
    for name in rolled:
        assert_marked(stages[name], cases[name])


def assert_marked(stage: Stage, case: Case) -> None:
    """The variable that a tool written for Reloader looks at, unless nobody asked for it."""
    (container,) = stage.template(WEB)["spec"]["containers"]
    found = {var["name"]: var.get("value") for var in container.get("env", ())}
    name = variable(Key(case.kind, stage.namespace, case.source))
    said = case.own.keys() | case.below.keys()
    if said and not (case.everybody and policy(case.own, everybody=True).by == ("reroll",)):
        assert found == {name: hashlib.sha1(b"key=new").hexdigest()}
    else:
        assert stage.stamp(WEB)
        assert found == {}


def test_an_expression_finds_what_is_made_later_and_rolls_only_if_that_is_asked_for(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", annotations={"configmap.reloader.stakater.com/reload": "new-.*"})
    stage.make(build.configmap("new-1"), web)
    controller()
    first = stage.adopted(web)

    stage.make(build.configmap("new-2"), build.configmap("other"))

    eventually(lambda: "configmap/new-2" in stage.record(web)["s"], "it is found")
    assert "rolled" not in stage.record(web)
    assert "configmap/other" not in stage.record(web)["s"]
    stage.change("ConfigMap", "new-2", key="x")
    assert stage.rolled(web, since=first["n"] + 1)["by"] == ["configmap/new-2"]


def test_a_workload_that_opted_in_twice_rolls_once_with_both_marks(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(
        "web", annotations={**AUTO, "reroll.dev/enabled": "true"}, uses="configmap/app"
    )
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=number)
    stage.settled(web)
    stage.quiet(web)
    assert len(stage.revisions(web)) == 2
    assert stage.stamp(web)
    assert [v["name"] for v in stage.template(web)["spec"]["containers"][0]["env"]] == [
        "STAKATER_APP_CONFIGMAP"
    ]


def test_annotations_go_by_other_names_and_dialects_can_be_left_out(
    another: Callable[..., Stage], controller: Start
) -> None:
    label = uuid.uuid4().hex[:8]
    renamed, plain, waved = (another(labels={"run": label}) for _ in range(3))
    for stage, annotations in (
        (
            renamed,
            {"example.com/auto": "true", "deployment.reloader.stakater.com/pause-period": "x"},
        ),
        (plain, AUTO),
        (waved, {"wave.pusher.com/update-on-config-change": "true"}),
    ):
        workload = build.deployment("web", annotations=annotations, uses="configmap/app")
        stage.make(build.configmap("app"), workload)
    names = "reloader.stakater.com/auto=example.com/auto"
    flags = ("--annotation-names", names, "--dialects", "reroll,reloader")
    controller("--namespace-selector", f"run={label}", *flags)
    number = renamed.adopted(WEB)["n"]

    for stage in (renamed, plain, waved):
        stage.change("ConfigMap", "app", key="new")

    renamed.rolled(WEB, since=number)
    plain.quiet(WEB)
    assert (plain.record(WEB), waved.record(WEB)) == ({}, {})


def test_a_kind_of_source_can_be_left_out(stage: Stage, controller: Start) -> None:
    web = build.deployment("web", annotations=AUTO, uses=["configmap/app", "secret/db"])
    stage.make(build.configmap("app"), build.secret("db"), web)
    controller("--exclude-sources", "secrets")
    first = stage.adopted(web)
    assert list(first["s"]) == ["configmap/app"]

    stage.change("Secret", "db", password="new")
    stage.quiet(web)
    stage.change("ConfigMap", "app", key="new")

    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/app"]
