"""What a roll for Reloader's annotations leaves behind: for each kind and strategy."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.reloads import AUTO, NEW, variables
from tests.scenarios.stage import Controller, Stage, a, eventually
from tests.support import build
from tests.support.settled import is_complete

from reroll.core.tables.kinds import KINDS, Strategy
from reroll_dev.api import path_to

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
LAST = "reloader.stakater.com/last-reloaded-from"
LONG = {"dev.reroll.dev/complete-after": "1h"}
TWO = {
    "containers": [
        {"name": "first", "image": "example.invalid/app:1"},
        {
            "name": "second",
            "image": "example.invalid/app:1",
            "envFrom": [{"configMapRef": {"name": "app"}}],
        },
    ]
}


def told(template: build.Object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(template["metadata"]["annotations"][LAST])
    return found


def jobs(stage: Stage) -> list[build.Object]:
    return stage.api.list(path_to("Job", "", stage.namespace))


ROLLS = [kind for kind in KINDS if Strategy.STAMP in kind.strategies]


def each_kind(stage: Stage) -> list[build.Object]:
    """One of each kind that rolls, with two containers, of which the second uses `app`."""
    made = [a(kind, kind.name.lower(), annotations=AUTO, pod=TWO) for kind in ROLLS]
    stage.make(build.configmap("app"), *made)
    return made


@pytest.mark.usefixtures("rollouts")
def test_a_variable_is_added_where_the_source_is_used_and_then_replaced_in_place(
    stage: Stage, controller: Start
) -> None:
    made = each_kind(stage)
    controller()
    numbers = [stage.adopted(one)["n"] for one in made]

    for value in ("new", "newer"):
        stage.change("ConfigMap", "app", key=value)
        numbers = [stage.rolled(one, n)["n"] for one, n in zip(made, numbers, strict=True)]

        digest = hashlib.sha1(f"key={value}".encode()).hexdigest()
        for one in made:
            expected = [{}, {"STAKATER_APP_CONFIGMAP": digest}]
            assert variables(stage.template(one)) == expected, one["kind"]
            assert stage.stamp(one) is None


@pytest.mark.usefixtures("rollouts")
def test_an_annotation_tells_of_the_source_that_changed_last(
    stage: Stage, controller: Start
) -> None:
    made = each_kind(stage)
    controller("--reloader-strategy", "annotations")
    numbers = [stage.adopted(one)["n"] for one in made]

    stage.change("ConfigMap", "app", key="new")

    for one, number in zip(made, numbers, strict=True):
        stage.rolled(one, since=number)
        template = stage.template(one)
        found = told(template)
        assert isinstance(found.pop("observedAt"), int)
        assert found == {
            "type": "CONFIGMAP",
            "name": "app",
            "namespace": stage.namespace,
            "hash": NEW,
            "containerRefs": ["second"],
        }
        assert variables(template) == [{}, {}]


def test_a_cronjob_starts_a_job_that_carries_the_mark_unless_it_is_suspended(
    stage: Stage, controller: Start
) -> None:
    runs = build.cronjob("runs", annotations=AUTO, uses="configmap/app", template_annotations=LONG)
    sleeps = build.cronjob("sleeps", annotations=AUTO, uses="configmap/app", spec={"suspend": True})
    stage.make(build.configmap("app"), runs, sleeps)
    controller()
    number = stage.adopted(runs)["n"]
    stage.adopted(sleeps)
    before = stage.get(runs)["spec"]

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(runs, since=number)
    eventually(lambda: stage.events(sleeps, "Paused"), "the other one is held")
    (job,) = jobs(stage)
    metadata = job["metadata"]
    assert metadata["name"].startswith("runs-")
    assert metadata["annotations"]["cronjob.kubernetes.io/instantiate"] == "manual"
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "runs", True)
    assert variables(job["spec"]["template"]) == [{"STAKATER_APP_CONFIGMAP": NEW}]
    assert stage.get(runs)["spec"] == before


def test_a_job_is_made_anew_with_the_mark_unless_it_has_finished_or_belongs_to_a_cronjob(
    stage: Stage, controller: Start
) -> None:
    task = build.job("task", annotations=AUTO, uses="configmap/app", template_annotations=LONG)
    done = build.job("done", annotations=AUTO, uses="configmap/app")
    cron = stage.make(build.configmap("app"), build.cronjob("cron", uses="configmap/app"))
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "cron", "controller": True}
    owned = build.job("owned", annotations=AUTO, uses="configmap/app", template_annotations=LONG)
    owned["metadata"]["ownerReferences"] = [{**owner, "uid": cron["metadata"]["uid"]}]
    stage.make(task, done, owned)
    stage.api.wait_for(stage.path(done), is_complete)
    controller()
    stage.adopted(task)
    others = {one["metadata"]["uid"] for one in (stage.get(done), stage.get(owned))}
    old = stage.get(task)["metadata"]["uid"]

    stage.change("ConfigMap", "app", key="new")

    def fresh() -> list[build.Object]:
        there = [job for job in jobs(stage) if job["metadata"]["name"] == "task"]
        return [job for job in there if job["metadata"]["uid"] != old]

    (anew,) = eventually(fresh, "it is made anew")
    assert variables(anew["spec"]["template"]) == [{"STAKATER_APP_CONFIGMAP": NEW}]
    stage.quiet(task)
    assert others < {job["metadata"]["uid"] for job in jobs(stage)}


@pytest.mark.usefixtures("rollouts")
def test_a_rollout_that_asks_for_a_restart_keeps_its_template(
    stage: Stage, controller: Start
) -> None:
    restart = {**AUTO, "reloader.stakater.com/rollout-strategy": "restart"}
    web = build.rollout("web", annotations=restart, uses="configmap/app")
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    before = stage.template(web)

    stage.change("ConfigMap", "app", key="new")

    stage.rolled(web, since=number)
    assert stage.get(web)["spec"]["restartAt"]
    assert stage.template(web) == before


# Sources that appear and go away


def test_sources_that_appear_and_go_away_roll_where_that_is_asked_for(
    stage: Stage, controller: Start
) -> None:
    named = {"configmap.reloader.stakater.com/reload": "extra"}
    web = build.deployment("web", annotations={**AUTO, **named}, uses="configmap/app")
    stage.make(build.configmap("app"), web)
    controller("--reload-on-create", "true", "--reload-on-delete", "true")
    number = stage.adopted(web)["n"]

    stage.make(build.configmap("extra", {"key": "new"}))
    record = stage.rolled(web, since=number)
    assert record["by"] == ["configmap/extra"]
    assert variables(stage.template(web)) == [{"STAKATER_EXTRA_CONFIGMAP": NEW}]

    stage.api.delete(path_to("ConfigMap", "extra", stage.namespace))
    number = stage.rolled(web, since=record["n"])["n"]
    assert variables(stage.template(web)) == [{}]

    # New pods could not start without this one, so nothing rolls until it is back.
    stage.api.delete(path_to("ConfigMap", "app", stage.namespace))
    eventually(lambda: stage.events(web, "SourceMissing"), "it is held")
    assert stage.record(web)["n"] == number


def test_a_deletion_is_told_by_an_annotation_too(stage: Stage, controller: Start) -> None:
    named = {"configmap.reloader.stakater.com/reload": "extra"}
    web = build.deployment("web", annotations=named)
    stage.make(build.configmap("extra"), web)
    controller("--reload-on-delete", "true", "--reloader-strategy", "annotations")
    number = stage.adopted(web)["n"]

    stage.api.delete(path_to("ConfigMap", "extra", stage.namespace))

    stage.rolled(web, since=number)
    marker = hashlib.sha1(b"__RELOADER_EMPTY_DELETE_MARKER__").hexdigest()
    assert told(stage.template(web))["hash"] == marker


@pytest.mark.parametrize("flags", [(), ("--foreign-hashes", "keyed")], ids=["default", "keyed"])
def test_hashes_of_secrets_are_keyed_so_that_they_give_no_password_away(
    stage: Stage, controller: Start, flags: tuple[str, ...]
) -> None:
    web = build.deployment("web", annotations=AUTO, uses="secret/db")
    stage.make(build.secret("db"), web)
    controller(*flags)
    number = stage.adopted(web)["n"]

    stage.change("Secret", "db", password="new")

    record = stage.rolled(web, since=number)
    assert variables(stage.template(web)) == [{"STAKATER_DB_SECRET": record["s"]["secret/db"]}]


def test_a_mark_that_somebody_removes_causes_no_second_roll(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", annotations=AUTO, uses="configmap/app")
    stage.make(build.configmap("app"), web)
    controller()
    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(web, since=number)["n"]

    path = "/spec/template/spec/containers/0/env"
    stage.api.patch(stage.path(web), [{"op": "remove", "path": path}], "json")

    stage.quiet(web)
    assert stage.record(web)["n"] == number
