"""Sources that are missing, go away, or come back."""

from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually, for_kinds
from tests.support import build

from reroll.core.tables.kinds import Kind, Strategy
from reroll_dev.api import path_to

Start = Callable[..., Controller]


@pytest.mark.thorough
@for_kinds(Strategy.STAMP)
def test_a_missing_required_source_holds_the_roll_and_its_return_lets_it_go_on(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    web = a(kind, uses=["configmap/app", "secret/db"], annotations=ENABLED)
    probe = build.deployment("probe", replicas=0, uses="secret/probe", annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web, build.secret("probe"), probe)
    controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)
    before = stage.adopted(probe)["n"]

    stage.api.delete(path_to("Secret", "db", stage.namespace))
    # Secrets and ConfigMaps come by two watches: the next Secret tells that it knows of this one.
    stage.change("Secret", "probe", password="new")
    stage.rolled(probe, since=before)
    stage.change("ConfigMap", "app", key="new")
    event = eventually(lambda: stage.events(web, "SourceMissing"), "an Event says why")[0]
    assert event["type"] == "Warning"
    assert f"Secret {stage.namespace}/db" in event["message"]
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    stage.make(build.secret("db"))
    assert stage.rolled(web, since=number)["by"] == ["configmap/app"]
    stage.settled(web)
    stage.quiet(web)
    assert len(stage.revisions(web)) == 2


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_deleted_source_is_told_and_rolls_nothing_until_it_comes_back_different(
    stage: Stage, controller: Start, kind: str
) -> None:
    def source(value: str) -> build.Object:
        return (build.configmap if kind == "ConfigMap" else build.secret)("app", {"key": value})

    web = build.deployment(uses=f"{kind.lower()}/app", annotations=ENABLED)
    stage.make(source("a"), web)
    controller()
    number = stage.adopted(web)["n"]
    stage.settled(web)

    stage.api.delete(stage.path(source("a")))
    [event] = eventually(lambda: stage.events(web, "SourceMissing"), "an Event tells of it")
    assert event["type"] == "Warning"
    assert event["message"].endswith(f"{kind} {stage.namespace}/app; create it")
    stage.quiet(web)
    assert len(stage.events(web, "SourceMissing")) == 1
    stage.make(source("a"))
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    stage.api.delete(stage.path(source("a")))
    stage.make(source("b"))
    stage.rolled(web, since=number)
    stage.settled(web)
    assert len(stage.revisions(web)) == 2


@pytest.mark.parametrize("kind", ["configmap", "secret"])
def test_an_optional_source_that_appears_rolls_and_a_required_one_does_not(
    stage: Stage, controller: Start, kind: str
) -> None:
    optional = build.deployment("optional", uses=f"{kind}/app?", annotations=ENABLED)
    required = build.deployment("required", uses=f"{kind}/app", annotations=ENABLED)
    stage.make(optional, required)
    controller()
    number = stage.adopted(optional)["n"]
    stage.adopted(required)

    stage.make(build.configmap("app") if kind == "configmap" else build.secret("app"))

    assert stage.rolled(optional, since=number)["by"] == [f"{kind}/app"]
    eventually(lambda: stage.record(required)["s"][f"{kind}/app"] != "awaited", "it is recorded")
    stage.quiet(required)
    assert stage.stamp(required) is None
