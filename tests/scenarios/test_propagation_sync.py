"""Commands that know of a change that propagates: `sync`, `status` and `plan`."""

from pathlib import Path

import pytest
import yaml
from tests.scenarios.propagating import sick, web
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Stage
from tests.support import build

from reroll.cli.errors import Exit


@pytest.fixture
def adopted(stage: Stage, sync: Command) -> list[build.Object]:
    """Three workloads of two waves, and a run that knows them."""
    webs = [web(0), web(1, wave="1"), web(2, wave="1", max_parallel="one")]
    stage.make(build.configmap(), *webs)
    for one in webs:
        stage.settled(one)
    sync()
    return webs


def test_sync_takes_a_change_through_its_waves(
    stage: Stage, sync: Command, adopted: list[build.Object]
) -> None:
    stage.change("ConfigMap", "app", key="second")

    done = sync("--wait", "-o", "json")

    assert done.code == Exit.OK, done.out + done.err
    assert {one["result"] for one in done.json["workloads"]} == {"rolled"}
    records = [stage.record(one) for one in adopted]
    assert [record["trial"]["v"] for record in records] == ["healthy"] * 3
    assert records[0]["trial"]["at"] <= min(record["rolled"] for record in records[1:])


def test_sync_without_waiting_begins_what_may_begin(
    stage: Stage, sync: Command, adopted: list[build.Object]
) -> None:
    stage.change("ConfigMap", "app", key="second")

    done = sync("-o", "json")

    results = {one["name"]: one["result"] for one in done.json["workloads"]}
    assert results == {"web-0": "rolled", "web-1": "held", "web-2": "held"}
    assert "rolled" not in stage.record(adopted[1])


def test_a_wave_that_fails_stops_the_run(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    first = sick(stage, web(0))
    second = web(1, wave="1")
    stage.make(second)
    stage.settled(second)
    sync()
    stage.change("ConfigMap", "app", key="broken")

    done = sync("--wait", "-o", "json")

    assert done.code == Exit.FAILED, done.out + done.err
    assert "rolled" in stage.record(first)
    assert "rolled" not in stage.record(second)


def test_the_order_is_shown_before_and_the_state_meanwhile(
    stage: Stage,
    sync: Command,
    plan: Command,
    status: Command,
    adopted: list[build.Object],
    tmp_path: Path,
) -> None:
    manifest = build.configmap("app", {"key": "second"})
    manifest["metadata"]["namespace"] = stage.namespace
    file = tmp_path / "app.yaml"
    file.write_text(yaml.safe_dump(manifest))

    planned = plan("--with", str(file), "-o", "json")

    turns = {one["name"]: one["turn"] for one in planned.json["workloads"]}
    assert turns["web-0"] == 1
    assert min(turns["web-1"], turns["web-2"]) == 2

    stage.change("ConfigMap", "app", key="second")
    sync()
    stage.settled(adopted[0])
    shown = status("-o", "json").json["changes"]

    assert [one["source"]["name"] for one in shown] == ["app"]
    stages = {one["name"]: one["stage"] for one in shown[0]["workloads"]}
    assert stages["web-1"] == stages["web-2"] == "held"
    waits = {one["name"]: one["reason"] for one in shown[0]["workloads"]}
    assert waits["web-1"] == "AfterOthers"


def test_explain_says_where_it_stands_with_a_change(
    stage: Stage, sync: Command, explain: Command, adopted: list[build.Object]
) -> None:
    stage.change("ConfigMap", "app", key="second")
    sync()

    held = explain("deployment/web-1", "-o", "json").json
    text = explain("deployment/web-1").out

    (change,) = held["changes"]
    assert (change["stage"], change["wave"], change["concerned"]) == ("behind", 1, 3)
    assert held["reason"] == "AfterOthers"
    assert "Change of configmap/app: behind" in text
    begun = explain("deployment/web-0", "-o", "json").json["changes"][0]
    assert begun["stage"] in {"under way", "healthy"}
    assert begun["since"]
